// swift-tools-version:6.1
import PackageDescription

let package = Package(
  name: "roundtrips",
  dependencies: [.package(path: "../gqlrun")],
  targets: [
    .executableTarget(
      name: "roundtrips",
      dependencies: [
        "Snapshots", "GitHubSnapshots", .product(name: "GQLRunCore", package: "gqlrun"),
        .product(name: "GQLRunTyped", package: "gqlrun"),
      ]),
    .target(name: "Snapshots", dependencies: [.product(name: "GQLRunTyped", package: "gqlrun")]),
    .target(
      name: "GitHubSnapshots", dependencies: [.product(name: "GQLRunTyped", package: "gqlrun")]),
  ],
  swiftLanguageModes: [.v6]
)

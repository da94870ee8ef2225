// swift-tools-version:6.1
import PackageDescription

// A package of a user, outside of gqlrun's: see Tests/Outside/run.sh.
let package = Package(
  name: "users",
  dependencies: [.package(path: "../gqlrun"), .package(path: "../neighbour")],
  targets: [
    .executableTarget(name: "issue", dependencies: [.product(name: "GQLRun", package: "gqlrun")]),
    // Modules named GraphQL, Cache and Pipeline, beside gqlrun's.
    .executableTarget(
      name: "beside",
      dependencies: [
        .product(name: "GQLRun", package: "gqlrun"),
        .product(name: "Neighbour", package: "neighbour"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)

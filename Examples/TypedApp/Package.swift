// swift-tools-version:6.1
import PackageDescription

// A program with generated types: README.md explains it. Outside of gqlrun's repository, write
// `.package(url: "…/gqlrun.git", from: "0.1.0")` instead of the path.
let package = Package(
  name: "TypedApp",
  dependencies: [.package(name: "gqlrun", path: "../..")],
  targets: [
    .target(name: "Feed", dependencies: [.product(name: "GQLRun", package: "gqlrun")]),
    .executableTarget(name: "typed-app", dependencies: ["Feed"]),
    .testTarget(
      name: "FeedTests",
      dependencies: ["Feed", .product(name: "GQLRunTesting", package: "gqlrun")],
      exclude: ["Fixtures"]),
  ],
  swiftLanguageModes: [.v6]
)

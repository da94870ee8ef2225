// swift-tools-version:6.1
import PackageDescription

// A runner of one's own: the plugins of gqlrun, and one more. Outside of gqlrun's repository, write
// `.package(url: "…/gqlrun.git", from: "0.1.0")` in the place of the path.
let package = Package(
  name: "OwnPlugin",
  dependencies: [
    .package(name: "gqlrun", path: "../.."),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
  ],
  targets: [
    .executableTarget(
      name: "my-gqlrun",
      dependencies: [
        .product(name: "GQLRun", package: "gqlrun"),
        .product(name: "GQLRunCore", package: "gqlrun"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ])
  ],
  swiftLanguageModes: [.v6]
)

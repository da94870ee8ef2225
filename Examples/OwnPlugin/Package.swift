// swift-tools-version:6.1
import PackageDescription

// A runner of your own: the plugins of gqlrun, and one more. Outside of gqlrun's repository, write
// `.package(url: "…/gqlrun.git", from: "0.1.0")` instead of the path.
let package = Package(
  name: "OwnPlugin",
  dependencies: [.package(name: "gqlrun", path: "../..")],
  targets: [
    .executableTarget(
      name: "my-gqlrun", dependencies: [.product(name: "GQLRun", package: "gqlrun")])
  ],
  swiftLanguageModes: [.v6]
)

// swift-tools-version:6.1
import PackageDescription

let package = Package(
  name: "plugins",
  dependencies: [.package(path: "../gqlrun")],
  targets: [
    .executableTarget(
      name: "plugins", dependencies: [.product(name: "GQLRunTyped", package: "gqlrun")],
      plugins: [.plugin(name: "GraphQLTypes", package: "gqlrun")])
  ],
  swiftLanguageModes: [.v6]
)

// swift-tools-version:6.1
import PackageDescription

// A package of its own, so that nobody who uses gqlrun builds it. `make bench` runs it with
// GQLRUN_ROOMS=core: the engine without networking.
let package = Package(
  name: "gqlrun-benchmarks",
  dependencies: [.package(name: "gqlrun", path: "..")],
  targets: [
    .executableTarget(
      name: "gqlrun-bench", dependencies: [.product(name: "GQLRunCore", package: "gqlrun")])
  ],
  swiftLanguageModes: [.v6]
)

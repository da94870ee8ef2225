// swift-tools-version:6.1
import PackageDescription

// A package of its own, so that nobody who uses gqlrun builds it. `make bench` runs it with
// GQLRUN_ROOMS=core: the engine without networking.
let package = Package(
  name: "gqlrun-benchmarks",
  dependencies: [
    .package(name: "gqlrun", path: ".."),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
  ],
  targets: [
    .target(name: "CAllocations"),
    .target(
      name: "CBaselines",
      linkerSettings: [.linkedLibrary("yajl"), .linkedLibrary("sqlite3")]),
    .executableTarget(
      name: "gqlrun-bench",
      dependencies: [
        "CAllocations", "CBaselines",
        .product(name: "GQLRunCore", package: "gqlrun"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)

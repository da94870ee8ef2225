// swift-tools-version:6.1
import PackageDescription

// A package of its own, so that nobody who uses gqlrun builds it. `make bench` runs it with
// GQLRUN_MODULES=core: the engine without networking.
//
// What measures the chain needs the network's packages, and minutes to build them: `make bench-chain`.
let coreOnly = Context.environment["GQLRUN_MODULES"] == "core"

// Responses in parts have no public interface without the chain. The name is that of SwiftPM for the folder of the engine.
let engine = Context.packageDirectory.split(separator: "/").dropLast().last ?? ""
let packageName = String(
  engine.lowercased().enumerated().map { $1.isLetter || $1.isNumber && $0 > 0 ? $1 : "_" })

let package = Package(
  name: "gqlrun-benchmarks",
  dependencies: [
    .package(name: "gqlrun", path: ".."),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
  ]
    + (coreOnly
      ? []
      : [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
      ]),
  targets: [
    // A link to the sources that the program uses, too: it counts from the first call on request.
    .target(name: "CBenchAllocations", path: "Sources/CAllocations"),
    .target(
      name: "CBaselines",
      linkerSettings: [.linkedLibrary("yajl"), .linkedLibrary("sqlite3")]),
    .executableTarget(
      name: "gqlrun-bench",
      dependencies: [
        "CBenchAllocations", "CBaselines",
        .product(name: "GQLRunCore", package: "gqlrun"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ],
      packageAccess: false, swiftSettings: [.unsafeFlags(["-package-name", packageName])]),
  ]
    + (coreOnly
      ? []
      : [
        .executableTarget(
          name: "gqlrun-bench-chain",
          dependencies: [
            .product(name: "GQLRun", package: "gqlrun"),
            .product(name: "GQLRunCore", package: "gqlrun"),
            .product(name: "AsyncHTTPClient", package: "async-http-client"),
            .product(name: "NIOCore", package: "swift-nio"),
          ])
      ]),
  swiftLanguageModes: [.v6]
)

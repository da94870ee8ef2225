// swift-tools-version:6.1
import PackageDescription

// Fuzz targets in a package of its own, which compiles the modules of the link `Sources` a second time: with counters of
// coverage for libFuzzer, optimized, and with assertions. What is not ours has none of it. `make fuzz` runs it; see
// docs/decisions/0068-fuzzing.md.
//
// The modules are targets of this package, so that fuzz targets see their package declarations.
let instrumented: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .unsafeFlags([
    "-sanitize=fuzzer", "-parse-as-library", "-enable-testing", "-assert-config", "Debug",
  ]),
]
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let requestPath = instrumented + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

/// A module of the program.
func module(
  _ name: String, _ folder: String, _ dependencies: [Target.Dependency],
  sources: [String]? = nil, exclude: [String] = [], settings: [SwiftSetting] = instrumented
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/\(folder)", exclude: exclude,
    sources: sources, swiftSettings: settings)
}

let package = Package(
  name: "gqlrun-fuzz",
  dependencies: [
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
  ],
  targets: [
    .systemLibrary(name: "CYajl", path: "Sources/CYajl", pkgConfig: "yajl"),
    .systemLibrary(name: "CPQ", path: "Sources/CPQ"),
    .systemLibrary(name: "CGQLRunCrypto", path: "Sources/CCrypto", pkgConfig: "libcrypto"),
    .systemLibrary(name: "CGQLRunZlib", path: "Sources/CZlib", pkgConfig: "zlib"),
    module("GQLRunSupport", "Support", [], settings: requestPath),
    module("GQLRunJSON", "JSONStream", ["CYajl"]),
    module("GQLRunLanguage", "GraphQL", ["GQLRunSupport"]),
    module("GQLRunPostgres", "Postgres", ["CPQ"]),
    module("GQLRunLive", "Live", ["GQLRunJSON"], settings: requestPath),
    module("GQLRunTyped", "Typed", ["GQLRunJSON"]),
    module("GQLRunGenerator", "Generator", ["GQLRunLanguage", "GQLRunSupport"]),
    module(
      "GQLRunCache", "Cache",
      [
        "GQLRunJSON", "GQLRunLanguage", "GQLRunLive", "GQLRunPostgres", "GQLRunSupport",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ], settings: requestPath),
    module("GQLRunCrypto", "Crypto", ["CGQLRunCrypto"]),
    module("GQLRunReport", "Report", ["GQLRunSupport"]),
    module(
      "GQLRunConfiguration", "Configuration",
      ["GQLRunJSON", "GQLRunLanguage", "GQLRunSupport", httpTypes, "Yams"], settings: requestPath),
    module(
      "GQLRunPipeline", "Pipeline",
      [
        "GQLRunConfiguration", "GQLRunCache", "GQLRunJSON", "GQLRunLanguage", "GQLRunLive",
        "GQLRunSupport", "GQLRunTyped", httpTypes, logging,
      ], settings: requestPath),
    // Without what needs SwiftNIO, and without the client.
    module(
      "GQLRunPlugins", "Plugins",
      [
        "CGQLRunZlib", "GQLRunPipeline", "GQLRunLive", "GQLRunCache", "GQLRunCrypto", "GQLRunJSON",
        "GQLRunLanguage", "GQLRunSupport", httpTypes, logging,
      ],
      sources: [
        "Batching", "BuiltIn", "Cookies", "Exec", "PersistedQueries", "ReadyMade", "Recording",
        "Support", "Tokens", "Transport/RedirectPolicy.swift",
        "Transport/ReusedConnectionClosed.swift",
      ], settings: requestPath),
    module(
      "GQLRunBatch", "Batch",
      [
        "GQLRunPlugins", "GQLRunPipeline", "GQLRunCache", "GQLRunCrypto", "GQLRunJSON",
        "GQLRunLanguage", "GQLRunPostgres", "GQLRunReport", "GQLRunSupport", "CGQLRunZlib",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
        .product(name: "Histogram", package: "hdrhistogram-swift"), httpTypes, logging,
      ], exclude: ["Tables/ExtractedRows.swift", "Tables/PipelineClient+Extract.swift"],
      settings: requestPath),
    // The random schemas of the tests, with the decisions of the input.
    .target(name: "GQLRunTestSupport", path: "TestSupport"),
    .executableTarget(
      name: "gqlrun-fuzz",
      dependencies: [
        "GQLRunBatch", "GQLRunCache", "GQLRunConfiguration", "GQLRunGenerator", "GQLRunJSON",
        "GQLRunLanguage", "GQLRunLive", "GQLRunPipeline", "GQLRunPlugins", "GQLRunSupport",
        "GQLRunTestSupport", "GQLRunTyped",
        .product(name: "GRDB", package: "GRDB.swift"), httpTypes,
      ],
      path: "Targets",
      // Optimized, the compiler crashes where it splits a coroutine of the tests' helpers.
      swiftSettings: [.enableUpcomingFeature("ExistentialAny"), .unsafeFlags(["-Onone"])]),
  ],
  swiftLanguageModes: [.v6]
)

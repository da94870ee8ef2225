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
let requestPath = instrumented + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

/// A module of the program.
func module(
  _ name: String, _ folder: String, _ dependencies: [Target.Dependency],
  sources: [String]? = nil, settings: [SwiftSetting] = instrumented
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/\(folder)", sources: sources,
    swiftSettings: settings)
}

let package = Package(
  name: "gqlrun-fuzz",
  dependencies: [
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0")
  ],
  targets: [
    .systemLibrary(name: "CYajl", path: "Sources/CYajl", pkgConfig: "yajl"),
    .systemLibrary(name: "CPQ", path: "Sources/CPQ"),
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
    // Parts of modules that need packages of the network.
    module(
      "GQLRunConfigurationParts", "Configuration", ["GQLRunSupport"],
      sources: ["Project/Glob.swift"]),
    module("GQLRunPluginsParts", "Plugins", [], sources: ["Support/HTTPDate.swift"]),
    // The random schemas of the tests, with the decisions of the input.
    .target(name: "GQLRunTestSupport", path: "TestSupport"),
    .executableTarget(
      name: "gqlrun-fuzz",
      dependencies: [
        "GQLRunCache", "GQLRunConfigurationParts", "GQLRunGenerator", "GQLRunJSON",
        "GQLRunLanguage", "GQLRunLive",
        "GQLRunPluginsParts", "GQLRunSupport", "GQLRunTestSupport", "GQLRunTyped",
      ],
      path: "Targets",
      // Optimized, the compiler crashes where it splits a coroutine of the tests' helpers.
      swiftSettings: [.enableUpcomingFeature("ExistentialAny"), .unsafeFlags(["-Onone"])]),
  ],
  swiftLanguageModes: [.v6]
)

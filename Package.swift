// swift-tools-version:6.1
import PackageDescription

// `GQLRUN_MODULES=core` leaves only the modules without networking (Support, CYajl, JSONStream, GraphQL, Cache),
// so that their tests build and run in seconds. `make test-core` sets it. `GQLRUN_MODULES=program` leaves out the plugins,
// for which SwiftPM compiles their tool, with all modules that it imports, a second time. `make test` sets it; `make
// test-outside` builds and runs the plugins.
let modules = Context.environment["GQLRUN_MODULES"] ?? "all"
let coreOnly = modules == "core"
let hasPlugins = modules == "all"

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// In modules of the request path, an asynchronous function runs on its caller's executor, without a hop after
// each step. Tests and the example are compiled without this feature, like code of users.
let requestPathSettings = settings + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

let core: [Target] = [
  .target(name: "GQLRunSupport", path: "Sources/Support", swiftSettings: requestPathSettings),
  .systemLibrary(name: "CYajl", pkgConfig: "yajl", providers: [.apt(["libyajl-dev"])]),
  .systemLibrary(
    name: "CGQLRunCrypto", path: "Sources/CCrypto", pkgConfig: "libcrypto",
    providers: [.apt(["libssl-dev"])]),
  .target(
    name: "GQLRunCrypto", dependencies: ["CGQLRunCrypto"], path: "Sources/Crypto",
    swiftSettings: settings),
  .systemLibrary(name: "CPQ", providers: [.apt(["libpq-dev"])]),
  .target(
    name: "GQLRunJSON", dependencies: ["CYajl"], path: "Sources/JSONStream", swiftSettings: settings
  ),
  .target(
    name: "GQLRunLanguage", dependencies: ["GQLRunSupport"], path: "Sources/GraphQL",
    swiftSettings: settings),
  .target(
    name: "GQLRunPostgres", dependencies: ["CPQ"], path: "Sources/Postgres",
    swiftSettings: settings),
  .target(
    name: "GQLRunCache",
    dependencies: [
      "GQLRunJSON", "GQLRunLanguage", "GQLRunLive", "GQLRunPostgres", "GQLRunSupport",
      .product(name: "GRDB", package: "GRDB.swift"),
      .product(name: "GRDBSQLite", package: "GRDB.swift"),
    ],
    path: "Sources/Cache",
    swiftSettings: requestPathSettings),
  // What generated code needs at run time.
  .target(
    name: "GQLRunTyped", dependencies: ["GQLRunJSON"], path: "Sources/Typed",
    swiftSettings: settings
  ),
  .target(
    name: "GQLRunGenerator", dependencies: ["GQLRunLanguage", "GQLRunSupport"],
    path: "Sources/Generator", swiftSettings: settings),
  .target(
    name: "GQLRunLive", dependencies: ["GQLRunJSON"], path: "Sources/Live",
    swiftSettings: requestPathSettings),
  .target(
    name: "GQLRunReport", dependencies: ["GQLRunSupport"], path: "Sources/Report",
    swiftSettings: settings),
  // What tests of several modules use; in no product.
  .target(
    name: "GQLRunTestSupport", dependencies: ["GQLRunTestConcurrency", "GQLRunSupport"],
    path: "Tests/TestSupport",
    swiftSettings: settings),
  // Limits how many tests run at a time, also those of a plain `swift test`.
  .target(name: "GQLRunTestConcurrency", path: "Tests/TestConcurrency"),
  .testTarget(
    name: "CryptoTests", dependencies: ["GQLRunCrypto", "GQLRunSupport"], swiftSettings: settings),
  .testTarget(name: "SupportTests", dependencies: ["GQLRunSupport"], swiftSettings: settings),
  .testTarget(
    name: "JSONStreamTests", dependencies: ["GQLRunJSON", "GQLRunTestSupport"],
    swiftSettings: settings),
  .testTarget(
    name: "TypedTests",
    dependencies: ["GQLRunGeneratedTypes", "GQLRunTyped", "GQLRunJSON", "GQLRunTestSupport"],
    swiftSettings: settings),
  // The snapshots of GeneratorTests that TypedTests uses; in no product. `make test-outside` generates and compiles all.
  .target(
    name: "GQLRunGeneratedTypes", dependencies: ["GQLRunTyped"], path: "Tests/GeneratedTypes",
    swiftSettings: settings),
  .testTarget(
    name: "GeneratorTests",
    dependencies: [
      "GQLRunCrypto", "GQLRunGenerator", "GQLRunLanguage", "GQLRunSupport", "GQLRunTestSupport",
    ],
    exclude: ["Fixtures"], swiftSettings: settings),
  .testTarget(name: "LiveTests", dependencies: ["GQLRunLive"], swiftSettings: settings),
  .testTarget(
    name: "GraphQLTests", dependencies: ["GQLRunLanguage", "GQLRunSupport", "GQLRunTestSupport"],
    swiftSettings: settings),
  .testTarget(
    name: "CacheTests",
    dependencies: [
      "GQLRunCache", "GQLRunJSON", "GQLRunLanguage", "GQLRunPostgres", "GQLRunSupport",
      "GQLRunTestSupport",
    ],
    swiftSettings: settings),
]

let networked: [Target] = [
  .target(
    name: "GQLRunConfiguration",
    dependencies: [
      "GQLRunJSON", "GQLRunLanguage", "GQLRunSupport",
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Yams", package: "Yams"),
    ],
    path: "Sources/Configuration",
    swiftSettings: requestPathSettings),
  .target(
    name: "GQLRunPipeline",
    dependencies: [
      "GQLRunConfiguration", "GQLRunCache", "GQLRunJSON", "GQLRunLanguage", "GQLRunLive",
      "GQLRunSupport", "GQLRunTyped",
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Logging", package: "swift-log"),
    ],
    path: "Sources/Pipeline",
    swiftSettings: requestPathSettings),
  .target(
    name: "GQLRunPlugins",
    dependencies: [
      "CGQLRunZlib",
      "GQLRunPipeline", "GQLRunLive", "GQLRunCache", "GQLRunCrypto", "GQLRunJSON", "GQLRunLanguage",
      "GQLRunSupport",
      .product(name: "AsyncHTTPClient", package: "async-http-client"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Logging", package: "swift-log"),
      .product(name: "NIOCore", package: "swift-nio"),
      .product(name: "NIOExtras", package: "swift-nio-extras"),
      .product(name: "NIOHTTP1", package: "swift-nio"),
      .product(name: "NIOHTTP2", package: "swift-nio-http2"),
      .product(name: "NIOSOCKS", package: "swift-nio-extras"),
      .product(name: "NIOPosix", package: "swift-nio"),
      .product(name: "NIOSSL", package: "swift-nio-ssl"),
      .product(name: "NIOWebSocket", package: "swift-nio"),
      .product(name: "NIOTLS", package: "swift-nio"),
    ],
    path: "Sources/Plugins",
    swiftSettings: requestPathSettings),
  // What tests use: scripted responses, the demo server, and checks for authors of plugins.
  .target(
    name: "GQLRunTesting",
    dependencies: [
      "GQLRunPlugins", "GQLRunPipeline", "GQLRunCache", "GQLRunDemoServer", "GQLRunJSON",
      "GQLRunLanguage", "GQLRunSupport", "GQLRunTyped",
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Logging", package: "swift-log"),
    ],
    path: "Sources/Testing",
    swiftSettings: settings),
  .systemLibrary(
    name: "CGQLRunZlib", path: "Sources/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]
  ),
  .target(
    name: "GQLRunBatch",
    dependencies: [
      "GQLRun", "GQLRunPlugins", "GQLRunPipeline", "GQLRunCache", "GQLRunCrypto", "GQLRunJSON",
      "GQLRunLanguage",
      "GQLRunPostgres", "GQLRunReport", "GQLRunSupport", "CGQLRunZlib",
      .product(name: "GRDB", package: "GRDB.swift"),
      .product(name: "GRDBSQLite", package: "GRDB.swift"),
      .product(name: "Histogram", package: "hdrhistogram-swift"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Logging", package: "swift-log"),
    ],
    path: "Sources/Batch",
    swiftSettings: requestPathSettings),
  .target(
    name: "GQLRunDemoServer",
    dependencies: [
      "GQLRunCrypto", "GQLRunJSON", "GQLRunLanguage", "GQLRunSupport",
      .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
      .product(name: "Hummingbird", package: "hummingbird"),
      .product(name: "HummingbirdCore", package: "hummingbird"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Logging", package: "swift-log"),
      .product(name: "NIOCore", package: "swift-nio"),
      .product(name: "NIOHTTP1", package: "swift-nio"),
      .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
      .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
      .product(name: "NIOWebSocket", package: "swift-nio"),
    ],
    path: "Sources/DemoServer",
    swiftSettings: settings),
  // The umbrella: a client, and everything its users need beside it.
  .target(
    name: "GQLRun",
    dependencies: [
      "GQLRunPlugins", "GQLRunPipeline", "GQLRunCache", "GQLRunJSON", "GQLRunLanguage",
      "GQLRunSupport", "GQLRunTyped",
      .product(name: "CoreMetrics", package: "swift-metrics"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Logging", package: "swift-log"),
      .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      .product(name: "Tracing", package: "swift-distributed-tracing"),
    ],
    path: "Sources/Client",
    swiftSettings: requestPathSettings),
  .target(
    name: "GQLRunProfile",
    dependencies: [
      "GQLRunPlugins", "GQLRunPipeline", "GQLRunCache", "GQLRunJSON", "GQLRunLanguage",
      "GQLRunReport", "GQLRunSupport",
      .product(name: "Histogram", package: "hdrhistogram-swift"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
    ],
    path: "Sources/Profile",
    swiftSettings: requestPathSettings),
  .target(name: "CGQLRunAllocations", path: "Sources/CAllocations"),
  .target(name: "CGQLRunMemory", path: "Sources/CMemory"),
  // Loads libjq when it is used: docs/decisions/0032-jq-expressions.md.
  .target(name: "CGQLRunJq", path: "Sources/CJq"),
  .executableTarget(
    name: "gqlrun",
    dependencies: [
      "CGQLRunAllocations", "CGQLRunJq", "CGQLRunMemory",
      "GQLRun", "GQLRunBatch", "GQLRunGenerator", "GQLRunProfile", "GQLRunReport", "GQLRunPlugins",
      "GQLRunPipeline", "GQLRunCache",
      "GQLRunJSON", "GQLRunLanguage", "GQLRunSupport", "GQLRunDemoServer",
      .product(name: "ArgumentParser", package: "swift-argument-parser"),
      .product(name: "CoreMetrics", package: "swift-metrics"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Logging", package: "swift-log"),
      .product(name: "Tracing", package: "swift-distributed-tracing"),
    ],
    swiftSettings: settings),
  // `gqlrun generate` for the plugins, without networking.
  .executableTarget(
    name: "gqlrun-generate",
    dependencies: [
      "GQLRunConfiguration", "GQLRunGenerator", "GQLRunLanguage", "GQLRunSupport",
      .product(name: "ArgumentParser", package: "swift-argument-parser"),
    ],
    swiftSettings: settings),
  // The example is a package of its own; here it is compiled and tested with everything else.
  .executableTarget(
    name: "my-gqlrun",
    dependencies: ["GQLRun"],
    path: "Examples/OwnPlugin/Sources/my-gqlrun"),
  .testTarget(
    name: "ConfigurationTests",
    dependencies: [
      "GQLRunTestSupport", "GQLRunConfiguration", "GQLRunJSON",
      .product(name: "HTTPTypes", package: "swift-http-types"),
    ],
    swiftSettings: settings),
  .testTarget(
    name: "PipelineTests",
    dependencies: [
      "GQLRunTestSupport", "GQLRunPlugins", "GQLRunPipeline", "GQLRunCache", "GQLRunJSON",
      "GQLRunLanguage", "GQLRunSupport",
    ],
    swiftSettings: settings),
  .testTarget(
    name: "PluginsTests",
    dependencies: [
      "GQLRunTestSupport",
      "GQLRunTesting", "GQLRunPlugins", "GQLRunPipeline", "GQLRunCache", "GQLRunCrypto",
      "GQLRunJSON", "GQLRunSupport",
      "GQLRunLanguage",
      "GQLRunDemoServer",
      .product(name: "NIOCore", package: "swift-nio"),
      .product(name: "NIOPosix", package: "swift-nio"),
      .product(name: "NIOHTTP1", package: "swift-nio"),
      .product(name: "NIOHTTP2", package: "swift-nio-http2"),
      .product(name: "NIOSSL", package: "swift-nio-ssl"),
    ],
    swiftSettings: settings),
  .testTarget(
    name: "BatchTests",
    dependencies: [
      "GQLRunTestSupport",
      "GQLRun", "GQLRunBatch", "GQLRunDemoServer", "GQLRunPlugins", "GQLRunPipeline", "GQLRunCache",
      "GQLRunJSON", "GQLRunLanguage", "GQLRunPostgres", "GQLRunSupport",
      .product(name: "GRDB", package: "GRDB.swift"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
    ],
    swiftSettings: settings),
  .testTarget(
    name: "DemoServerTests",
    dependencies: [
      "GQLRunDemoServer", "GQLRunJSON", "GQLRunLanguage",
      .product(name: "NIOCore", package: "swift-nio"),
      .product(name: "NIOPosix", package: "swift-nio"),
    ],
    swiftSettings: settings),
  .testTarget(
    name: "ProfileTests",
    dependencies: [
      "GQLRunProfile", "GQLRunReport", "GQLRunDemoServer", "GQLRunPlugins", "GQLRunPipeline",
      "GQLRunCache",
      "GQLRunJSON", "GQLRunLanguage", "GQLRunSupport", "GQLRunTestSupport",
    ],
    swiftSettings: settings),
  .testTarget(
    name: "gqlrunTests",
    dependencies: [
      "GQLRunTestSupport",
      "gqlrun", "my-gqlrun", "GQLRun", "GQLRunTesting", "GQLRunDemoServer", "GQLRunPlugins",
      "GQLRunBatch", "GQLRunPipeline", "GQLRunCache",
      "GQLRunJSON", "GQLRunLanguage", "GQLRunSupport",
      .product(name: "ArgumentParser", package: "swift-argument-parser"),
      .product(name: "CoreMetrics", package: "swift-metrics"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Logging", package: "swift-log"),
      .product(name: "Tracing", package: "swift-distributed-tracing"),
    ],
    swiftSettings: settings),
  .testTarget(
    name: "ClientTests",
    dependencies: [
      "GQLRun", "GQLRunDemoServer", "GQLRunTestSupport", "GQLRunTesting",
      .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
      .product(name: "MetricsTestKit", package: "swift-metrics"),
      .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
    ],
    // Like users' code: what `import GQLRun` does not bring is missing here.
    swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]),
  // The fuzz targets of Tests/Fuzz, with the inputs of the repository.
  .testTarget(
    name: "FuzzTests",
    dependencies: [
      "GQLRunTestSupport", "GQLRunBatch", "GQLRunCache", "GQLRunConfiguration", "GQLRunGenerator",
      "GQLRunJSON", "GQLRunLanguage", "GQLRunLive", "GQLRunPipeline", "GQLRunPlugins",
      "GQLRunSupport", "GQLRunTyped",
      .product(name: "GRDB", package: "GRDB.swift"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
    ],
    swiftSettings: [.enableUpcomingFeature("ExistentialAny")]),
  .testTarget(name: "HouseTests", dependencies: ["GQLRunTestSupport"], swiftSettings: settings),
]

let plugins: [Target] = [
  .plugin(
    name: "GenerateGraphQL",
    capability: .command(
      intent: .custom(
        verb: "generate-graphql",
        description: "Generate Swift types from the operations of graphql.config.yml"),
      permissions: [
        .writeToPackageDirectory(reason: "The generated files are sources of the package.")
      ]),
    dependencies: ["gqlrun-generate"]),
  .plugin(name: "GraphQLTypes", capability: .buildTool(), dependencies: ["gqlrun-generate"]),
]

let coreDependencies: [Package.Dependency] = [
  .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0")
]

let networkedDependencies: [Package.Dependency] = [
  .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
  .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
  .package(url: "https://github.com/apple/swift-async-algorithms.git", from: "1.1.4"),
  .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
  .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
  .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
  .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
  .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
  .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
  .package(url: "https://github.com/apple/swift-nio-http2.git", from: "1.46.0"),
  .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
  .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
  .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
  .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
  .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
]

let package = Package(
  name: "gqlrun",
  products: [
    .library(name: "GQLRunCore", targets: ["GQLRunJSON", "GQLRunLanguage", "GQLRunCache"]),
    .library(name: "GQLRunTyped", targets: ["GQLRunTyped"]),
  ]
    + (coreOnly
      ? []
      : [
        .library(name: "GQLRun", targets: ["GQLRun"]),
        .library(name: "GQLRunBatch", targets: ["GQLRunBatch"]),
        .library(name: "GQLRunProfile", targets: ["GQLRunProfile"]),
        .library(name: "GQLRunTesting", targets: ["GQLRunTesting"]),
        .executable(name: "gqlrun", targets: ["gqlrun"]),
      ])
    + (hasPlugins
      ? [
        .plugin(name: "GenerateGraphQL", targets: ["GenerateGraphQL"]),
        .plugin(name: "GraphQLTypes", targets: ["GraphQLTypes"]),
      ] : []),
  dependencies: coreDependencies + (coreOnly ? [] : networkedDependencies),
  targets: core + (coreOnly ? [] : networked) + (hasPlugins ? plugins : []),
  swiftLanguageModes: [.v6]
)

// swift-tools-version:6.1
import PackageDescription

// `GQLRUN_ROOMS=core` leaves only the rooms without networking (CYajl, JSONStream, GraphQL, Cache),
// so that their tests build and run in seconds. `make test-core` sets it.
let coreOnly = Context.environment["GQLRUN_ROOMS"] == "core"

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// In the rooms that a request passes, an asynchronous function runs where its caller does, and need not look
// for its place after each step. Tests and the example are written without, as users' code may be.
let onTheWay = settings + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

let core: [Target] = [
  .systemLibrary(name: "CYajl", pkgConfig: "yajl", providers: [.apt(["libyajl-dev"])]),
  .target(name: "JSONStream", dependencies: ["CYajl"], swiftSettings: settings),
  .target(name: "GraphQL", swiftSettings: settings),
  .target(
    name: "Cache",
    dependencies: [
      "JSONStream", "GraphQL",
      .product(name: "GRDB", package: "GRDB.swift"),
      .product(name: "GRDBSQLite", package: "GRDB.swift"),
    ],
    swiftSettings: onTheWay),
  // What tests of several rooms use; in no product.
  .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: settings),
  .testTarget(name: "JSONStreamTests", dependencies: ["JSONStream"], swiftSettings: settings),
  .testTarget(
    name: "GraphQLTests", dependencies: ["GraphQL", "TestSupport"], swiftSettings: settings),
  .testTarget(
    name: "CacheTests", dependencies: ["Cache", "JSONStream", "GraphQL", "TestSupport"],
    swiftSettings: settings),
]

let networked: [Target] = [
  .target(
    name: "Pipeline",
    dependencies: [
      "Cache", "JSONStream", "GraphQL",
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Logging", package: "swift-log"),
      .product(name: "Yams", package: "Yams"),
    ],
    swiftSettings: onTheWay),
  .target(
    name: "Plugins",
    dependencies: [
      "Pipeline", "Cache", "JSONStream", "GraphQL",
      .product(name: "AsyncHTTPClient", package: "async-http-client"),
      .product(name: "Crypto", package: "swift-crypto"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Logging", package: "swift-log"),
      .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
      .product(name: "NIOCore", package: "swift-nio"),
      .product(name: "NIOHTTP1", package: "swift-nio"),
      .product(name: "NIOHTTP2", package: "swift-nio-http2"),
      .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
      .product(name: "NIOSOCKS", package: "swift-nio-extras"),
      .product(name: "NIOPosix", package: "swift-nio"),
      .product(name: "NIOSSL", package: "swift-nio-ssl"),
    ],
    swiftSettings: onTheWay),
  .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
  .target(
    name: "Batch",
    dependencies: [
      "Plugins", "Pipeline", "Cache", "JSONStream", "GraphQL", "CZlib",
      .product(name: "Crypto", package: "swift-crypto"),
      .product(name: "GRDB", package: "GRDB.swift"),
      .product(name: "GRDBSQLite", package: "GRDB.swift"),
      .product(name: "Histogram", package: "hdrhistogram-swift"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Logging", package: "swift-log"),
    ],
    swiftSettings: onTheWay),
  .target(
    name: "DemoServer",
    dependencies: [
      "JSONStream", "GraphQL",
      .product(name: "Hummingbird", package: "hummingbird"),
      .product(name: "HummingbirdCore", package: "hummingbird"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Logging", package: "swift-log"),
      .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
      .product(name: "NIOCore", package: "swift-nio"),
    ],
    swiftSettings: settings),
  .target(
    name: "Profile",
    dependencies: [
      "Plugins", "Pipeline", "Cache", "JSONStream", "GraphQL",
      .product(name: "Histogram", package: "hdrhistogram-swift"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
    ],
    swiftSettings: onTheWay),
  .target(name: "CAllocations"),
  .executableTarget(
    name: "gqlrun",
    dependencies: [
      "CAllocations",
      "Batch", "Profile", "Plugins", "Pipeline", "Cache", "JSONStream", "GraphQL", "DemoServer",
      .product(name: "ArgumentParser", package: "swift-argument-parser"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
      .product(name: "Logging", package: "swift-log"),
    ],
    swiftSettings: settings),
  // The example is a package of its own; here it is compiled and tested with everything else.
  .executableTarget(
    name: "my-gqlrun",
    dependencies: [
      "Plugins", "Pipeline", "Cache", "GraphQL",
      .product(name: "HTTPTypes", package: "swift-http-types"),
    ],
    path: "Examples/OwnPlugin/Sources/my-gqlrun"),
  .testTarget(
    name: "PipelineTests",
    dependencies: ["Pipeline", "Cache", "JSONStream", "GraphQL"], swiftSettings: settings),
  .testTarget(
    name: "PluginsTests",
    dependencies: [
      "TestSupport",
      "Plugins", "Pipeline", "Cache", "JSONStream", "GraphQL", "DemoServer",
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
      "TestSupport",
      "Batch", "DemoServer", "Plugins", "Pipeline", "Cache", "JSONStream", "GraphQL",
      .product(name: "GRDB", package: "GRDB.swift"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
    ],
    swiftSettings: settings),
  .testTarget(
    name: "DemoServerTests",
    dependencies: [
      "DemoServer", "JSONStream", "GraphQL",
      .product(name: "NIOCore", package: "swift-nio"),
      .product(name: "NIOPosix", package: "swift-nio"),
    ],
    swiftSettings: settings),
  .testTarget(
    name: "ProfileTests",
    dependencies: [
      "Profile", "DemoServer", "Plugins", "Pipeline", "Cache", "JSONStream", "GraphQL",
    ],
    swiftSettings: settings),
  .testTarget(
    name: "gqlrunTests",
    dependencies: [
      "TestSupport",
      "gqlrun", "my-gqlrun", "DemoServer", "Plugins", "Pipeline", "Cache", "JSONStream", "GraphQL",
      .product(name: "ArgumentParser", package: "swift-argument-parser"),
      .product(name: "Logging", package: "swift-log"),
    ],
    swiftSettings: settings),
  .testTarget(name: "HouseTests", swiftSettings: settings),
]

let coreDependencies: [Package.Dependency] = [
  .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0")
]

let networkedDependencies: [Package.Dependency] = [
  .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
  .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
  .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
  .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
  .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
  .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
  .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
  .package(url: "https://github.com/apple/swift-nio-http2.git", from: "1.46.0"),
  .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
  .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
  .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
  .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
]

let package = Package(
  name: "gqlrun",
  products: [
    .library(name: "GQLRunCore", targets: ["JSONStream", "GraphQL", "Cache"])
  ]
    + (coreOnly
      ? []
      : [
        .library(name: "GQLRun", targets: ["Pipeline", "Plugins"]),
        .executable(name: "gqlrun", targets: ["gqlrun"]),
      ]),
  dependencies: coreDependencies + (coreOnly ? [] : networkedDependencies),
  targets: core + (coreOnly ? [] : networked),
  swiftLanguageModes: [.v6]
)

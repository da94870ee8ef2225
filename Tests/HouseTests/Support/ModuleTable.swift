/// The modules and what each may import. The reasons are in `docs/decisions/0001-modules-and-dependencies.md`.
///
/// A change here is a change of the architecture. It belongs into a commit that says why.
struct Module {
  /// The target's name, unique in a package graph.
  let name: String
  /// Its folder in `Sources`.
  let folder: String
  /// Targets of this package that it may import.
  let own: Set<String>
  /// Modules of other packages. `NIO*` matches every module with this prefix.
  let packages: Set<String>
  /// Modules that come with Swift.
  let system: Set<String>

  init(
    _ name: String, folder: String? = nil, own: Set<String> = [], packages: Set<String> = [],
    system: Set<String> = []
  ) {
    self.name = name
    self.folder = folder ?? name
    self.own = own
    self.packages = packages
    self.system = system
  }

  func mayImport(_ module: String) -> Bool { mayDependOn(module) || system.contains(module) }

  /// Whether the package manifest may list `name`, a target or product.
  func mayDependOn(_ name: String) -> Bool {
    own.contains(name)
      || packages.contains { $0.hasSuffix("*") ? name.hasPrefix($0.dropLast()) : name == $0 }
  }

  /// The modules of a table that are in a cycle of dependencies, or depend on one.
  static func modulesInCycles(of table: [Module]) -> [String] {
    // Removes modules that depend on nothing that is left, until there are no more; a cycle stays.
    var left = table
    while let next = left.firstIndex(where: { module in
      left.allSatisfy { !module.own.contains($0.name) }
    }) {
      left.remove(at: next)
    }
    return left.map(\.name)
  }

  private static let core: Set<String> = [
    "GQLRunCache", "GQLRunJSON", "GQLRunLanguage", "GQLRunSupport",
  ]
  private static let chain: Set<String> = core.union([
    "GQLRunConfiguration", "GQLRunPlugins", "GQLRunPipeline",
  ])

  static let all: [Module] = [
    // In no product: what tests of several modules use.
    Module("GQLRunTestConcurrency", folder: "TestConcurrency"),
    Module(
      "GQLRunTestSupport", folder: "TestSupport", own: ["GQLRunTestConcurrency", "GQLRunSupport"],
      system: ["Foundation", "Synchronization"]),
    // The example, which imports what every user of the library imports.
    Module("my-gqlrun", own: ["GQLRun"], system: ["Foundation"]),
    Module(
      "GQLRunSupport", folder: "Support",
      system: ["Dispatch", "Foundation", "Glibc", "Musl", "Synchronization"]),
    Module("CYajl"),
    Module("CPQ"),
    Module("CGQLRunCrypto", folder: "CCrypto"),
    Module("GQLRunCrypto", folder: "Crypto", own: ["CGQLRunCrypto"]),
    Module("GQLRunPostgres", folder: "Postgres", own: ["CPQ"]),
    Module("GQLRunLive", folder: "Live", own: ["GQLRunJSON"]),
    Module(
      "GQLRunReport", folder: "Report", own: ["GQLRunSupport"], system: ["Foundation"]),
    Module(
      "GQLRunTyped", folder: "Typed", own: ["GQLRunJSON"], system: ["Foundation"]),
    Module(
      "GQLRunGenerator", folder: "Generator", own: ["GQLRunLanguage", "GQLRunSupport"],
      system: ["Foundation"]),
    // In no product: the snapshots of the generator that tests use, compiled.
    Module("GQLRunGeneratedTypes", folder: "GeneratedTypes", own: ["GQLRunTyped"]),
    Module("GQLRunJSON", folder: "JSONStream", own: ["CYajl"], system: ["Foundation"]),
    Module("GQLRunLanguage", folder: "GraphQL", own: ["GQLRunSupport"]),
    Module(
      "GQLRunCache", folder: "Cache",
      own: ["GQLRunJSON", "GQLRunLanguage", "GQLRunLive", "GQLRunPostgres", "GQLRunSupport"],
      packages: ["GRDB", "GRDBSQLite"],
      system: ["Dispatch", "Foundation", "Glibc", "Musl", "Synchronization"]),
    Module(
      "GQLRunConfiguration", folder: "Configuration",
      own: ["GQLRunJSON", "GQLRunLanguage", "GQLRunSupport"],
      packages: ["Yams", "HTTPTypes"], system: ["Foundation", "Glibc", "Musl"]),
    Module(
      "GQLRunPipeline", folder: "Pipeline",
      own: core.union(["GQLRunConfiguration", "GQLRunLive", "GQLRunTyped"]),
      packages: ["Logging", "HTTPTypes"],
      system: ["Dispatch", "Foundation", "Glibc", "Musl", "Synchronization"]),
    Module("CGQLRunZlib", folder: "CZlib"),
    Module(
      "GQLRunPlugins", folder: "Plugins",
      own: core.union([
        "CGQLRunZlib", "GQLRunConfiguration", "GQLRunCrypto", "GQLRunLive", "GQLRunPipeline",
      ]),
      packages: ["AsyncHTTPClient", "NIO*", "HTTPTypes", "Logging"],
      system: ["Foundation", "Synchronization"]),
    Module(
      "GQLRun", folder: "Client", own: chain.union(["GQLRunTyped"]),
      packages: ["CoreMetrics", "HTTPTypes", "Logging", "ServiceLifecycle", "Tracing"],
      system: ["Foundation", "Observation", "Synchronization"]),
    Module(
      "GQLRunTesting", folder: "Testing",
      own: chain.union(["GQLRunDemoServer", "GQLRunTyped"]), packages: ["HTTPTypes", "Logging"],
      system: ["Foundation", "Synchronization"]),
    Module(
      "GQLRunBatch", folder: "Batch",
      own: chain.union([
        "CGQLRunZlib", "GQLRun", "GQLRunCrypto", "GQLRunPostgres", "GQLRunReport",
      ]),
      packages: ["GRDB", "GRDBSQLite", "Histogram", "Logging", "HTTPTypes"],
      system: ["Foundation", "Dispatch", "Synchronization"]),
    Module(
      "GQLRunProfile", folder: "Profile", own: chain.union(["GQLRunReport"]),
      packages: ["Histogram", "HTTPTypes", "Logging"], system: ["Foundation", "Glibc", "Musl"]),
    Module(
      "GQLRunDemoServer", folder: "DemoServer",
      own: ["GQLRunCrypto", "GQLRunJSON", "GQLRunLanguage", "GQLRunSupport"],
      packages: [
        "AsyncAlgorithms", "Hummingbird", "HummingbirdCore", "HTTPTypes", "Logging",
        "NIO*",
      ],
      system: ["Foundation"]),
    Module(
      "gqlrun-generate",
      own: ["GQLRunConfiguration", "GQLRunGenerator", "GQLRunLanguage", "GQLRunSupport"],
      packages: ["ArgumentParser"], system: ["Foundation"]),
    Module("CGQLRunAllocations", folder: "CAllocations"),
    Module("CGQLRunMemory", folder: "CMemory"),
    Module("CGQLRunJq", folder: "CJq"),
    Module(
      "gqlrun",
      own: chain.union([
        "CGQLRunAllocations", "CGQLRunJq", "CGQLRunMemory", "GQLRun", "GQLRunBatch",
        "GQLRunGenerator", "GQLRunProfile", "GQLRunReport",
        "GQLRunDemoServer",
      ]),
      packages: ["ArgumentParser", "CoreMetrics", "HTTPTypes", "Logging", "Tracing"],
      system: ["Foundation", "Glibc", "Musl"]),
  ]

  static func named(_ name: String) -> Module? { all.first { $0.name == name } }

  static func inFolder(_ folder: String) -> Module? { all.first { $0.folder == folder } }

  /// Modules that only some folders may import, where the table alone would allow more.
  static let confined: [(module: String, folders: [String])] = [
    ("CGQLRunAllocations", ["Sources/gqlrun/Profile/"]),
    ("CGQLRunJq", ["Sources/gqlrun/Support/"]),
    ("CYajl", ["Sources/JSONStream/"]),
    ("CPQ", ["Sources/Postgres/"]),
    ("GQLRunPostgres", ["Sources/Cache/Postgres/", "Sources/Batch/"]),
    ("CGQLRunZlib", ["Sources/Batch/Sinks/", "Sources/Plugins/Transport/"]),
    ("GRDB", ["Sources/Cache/SQLite/", "Sources/Batch/"]),
    ("GRDBSQLite", ["Sources/Cache/SQLite/", "Sources/Batch/Journal/"]),
  ]

  /// The forbidden imports of the Swift file at `path`, as `file:line: message`.
  static func violations(in source: SwiftSource, path: String) -> [String] {
    let parts = path.split(separator: "/")
    guard parts.count > 2, let module = inFolder(String(parts[1])) else {
      return ["\(path):1: no module of the table has this folder"]
    }
    return source.imports.compactMap { found in
      let location = "\(path):\(found.line)"
      guard module.mayImport(found.module) else {
        return "\(location): \(module.name) may not import \(found.module)"
      }
      guard let rule = confined.first(where: { $0.module == found.module }),
        !rule.folders.contains(where: path.hasPrefix)
      else { return nil }
      return "\(location): only \(rule.folders.joined(separator: ", ")) may import \(found.module)"
    }
  }
}

/// The rooms and what each may see: the table of `docs/decisions/0001-rooms-and-dependencies.md`.
///
/// A change here is a change of the architecture. It belongs into a commit that says why.
struct Room {
  let name: String
  /// Our own targets.
  let rooms: Set<String>
  /// Modules of other packages. `NIO*` stands for every module whose name begins so.
  let modules: Set<String>
  /// Modules that come with Swift.
  let system: Set<String>

  init(
    _ name: String, rooms: Set<String> = [], modules: Set<String> = [], system: Set<String> = []
  ) {
    self.name = name
    self.rooms = rooms
    self.modules = modules
    self.system = system
  }

  func maySee(_ module: String) -> Bool { mayDependOn(module) || system.contains(module) }

  /// Whether the manifest may list `name`, a target or product.
  func mayDependOn(_ name: String) -> Bool {
    rooms.contains(name)
      || modules.contains { $0.hasSuffix("*") ? name.hasPrefix($0.dropLast()) : name == $0 }
  }

  static let all: [Room] = [
    // Beside the house: what tests of several rooms use.
    Room("TestSupport", system: ["Foundation", "Synchronization"]),
    // The example, which sees what everybody who uses the library sees.
    Room(
      "my-gqlrun", rooms: ["Plugins", "Pipeline", "Cache", "GraphQL"], modules: ["HTTPTypes"],
      system: ["Foundation"]),
    Room("CYajl"),
    Room("JSONStream", rooms: ["CYajl"]),
    Room("GraphQL"),
    Room(
      "Cache", rooms: ["JSONStream", "GraphQL"], modules: ["GRDB", "GRDBSQLite"],
      system: ["Foundation", "Glibc", "Musl", "Synchronization"]),
    Room(
      "Pipeline", rooms: ["Cache", "JSONStream", "GraphQL"],
      modules: ["Yams", "Logging", "HTTPTypes"],
      system: ["Foundation", "Glibc", "Musl", "Synchronization"]),
    Room(
      "Plugins", rooms: ["Pipeline", "Cache", "JSONStream", "GraphQL"],
      modules: ["AsyncHTTPClient", "NIO*", "HTTPTypes", "Logging", "Crypto"],
      system: ["Foundation", "Synchronization"]),
    Room("CZlib"),
    Room(
      "Batch", rooms: ["Plugins", "Pipeline", "Cache", "JSONStream", "GraphQL", "CZlib"],
      modules: ["GRDB", "GRDBSQLite", "Histogram", "Logging", "Crypto", "HTTPTypes"],
      system: ["Foundation", "Dispatch", "Synchronization"]),
    Room(
      "Profile", rooms: ["Plugins", "Pipeline", "Cache", "JSONStream", "GraphQL"],
      modules: ["Histogram", "HTTPTypes", "Logging"], system: ["Foundation", "Glibc", "Musl"]),
    Room(
      "DemoServer", rooms: ["JSONStream", "GraphQL"],
      modules: ["Hummingbird", "HummingbirdCore", "HTTPTypes", "Logging", "NIO*"],
      system: ["Foundation"]),
    Room("CAllocations"),
    Room(
      "gqlrun",
      rooms: [
        "CAllocations", "Batch", "Profile", "Plugins", "Pipeline", "Cache", "JSONStream", "GraphQL",
        "DemoServer",
      ],
      modules: ["ArgumentParser", "HTTPTypes", "Logging"], system: ["Foundation", "Glibc", "Musl"]),
  ]

  static func named(_ name: String) -> Room? { all.first { $0.name == name } }

  /// Modules that only one folder may import, where the table alone would allow more.
  static let confined: [(module: String, folders: [String])] = [
    ("CAllocations", ["Sources/gqlrun/Profile/", "Sources/gqlrun/Commands/BatchRunCommand"]),
    ("CYajl", ["Sources/JSONStream/"]),
    ("CZlib", ["Sources/Batch/Sinks/"]),
    ("GRDB", ["Sources/Cache/SQLite/", "Sources/Batch/"]),
    ("GRDBSQLite", ["Sources/Cache/SQLite/", "Sources/Batch/Journal/"]),
  ]

  /// What is wrong with the imports of the Swift file at `path`, as `file:line: message`.
  static func violations(in source: SwiftSource, path: String) -> [String] {
    let parts = path.split(separator: "/")
    guard parts.count > 2, let room = named(String(parts[1])) else {
      return ["\(path):1: no room of the table has this folder"]
    }
    return source.imports.compactMap { found in
      let place = "\(path):\(found.line)"
      guard room.maySee(found.module) else {
        return "\(place): \(room.name) may not import \(found.module)"
      }
      guard let rule = confined.first(where: { $0.module == found.module }),
        !rule.folders.contains(where: path.hasPrefix)
      else { return nil }
      return "\(place): only \(rule.folders.joined(separator: ", ")) may import \(found.module)"
    }
  }
}

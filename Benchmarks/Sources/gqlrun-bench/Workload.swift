import Foundation

/// A response, its document, and the rows that are measured with it.
struct Workload {
  let name: String
  let stages: [Stage]
  /// Where its files are made, and how.
  let files: Files
  let prepare: () throws -> Void

  /// The goals that this project has set itself, by row.
  func goals(of stage: Stage, bytes: Int) -> Goals {
    var goals = Goals()
    let megabytes = Double(bytes) / 1e6
    let isFeed = name.hasPrefix("feed")
    if isFeed, megabytes > 90, megabytes < 200 {
      switch stage {
      case .memory: goals.ratio = 2.2
      case .sqlite: (goals.ratio, goals.peakMiB) = (2.8, 32)
      case .sqliteUnchanged: goals.ratio = 2.2
      case .readMemory: goals.ratio = 0.6
      case .readSQLite: goals.ratio = 2.5
      default: break
      }
    }
    if isFeed, megabytes > 9, megabytes < 20 {
      if stage == .memory { goals.ratio = 2.0 }
      if stage == .sqlite { goals.ratio = 2.5 }
    }
    if stage == .sqlite {
      if name.hasPrefix("uuid"), megabytes > 90 { goals.ratio = 3.5 }
      if isFeed || name.hasPrefix("anonymous"), megabytes > 900 { goals.peakMiB = 64 }
    }
    if stage == .memory { goals.allocations = 200 }
    return goals
  }

  /// The workloads that were asked for.
  static func all(_ options: Options) throws -> [Workload] {
    var result = options.posts.map { feed(posts: $0, options) }
    for shape in options.shapes where shape != .feed {
      var megabytes = [options.shapeMegabytes]
      // Goals are set for these at the larger sizes.
      let largest = Double(options.posts.max() ?? 0) * 4500 / 1e6
      if shape == .uuid, largest > 90 { megabytes = [112] }
      if shape == .anonymous, largest > 900 { megabytes.append(1124) }
      result += megabytes.map { made(shape, megabytes: $0, options) }
    }
    if !options.shapes.isEmpty { result.append(small(options)) }
    if let rows = options.rows {
      result = result.compactMap { workload in
        let chosen = workload.stages.filter { rows.contains($0.rawValue) }
        guard !chosen.isEmpty else { return nil }
        let wantsDatabase = chosen.contains { $0.wantsCheckpoint }
        let isRow = Set(chosen).union([.yajl]).union(wantsDatabase ? [.sqlite] : [])
        return Workload(
          name: workload.name, stages: workload.stages.filter(isRow.contains),
          files: workload.files, prepare: workload.prepare)
      }
    }
    return result
  }

  private static func folder(_ name: String, _ options: Options) -> Files {
    Files(folder: options.scratch + "/" + name)
  }

  private static func feed(posts: Int, _ options: Options) -> Workload {
    let files = folder("feed-\(posts)\(options.feed == nil ? "" : "-given")", options)
    var stages = Stage.allCases.filter {
      !$0.rawValue.hasPrefix("small") && !$0.rawValue.hasPrefix("parts")
    }
    // The trees of these take ten times the response's size and more.
    if posts > 50_000 { stages.removeAll { [.dictionary, .foundation].contains($0) } }
    return Workload(name: "feed-\(posts)", stages: stages, files: files) {
      guard let feed = options.feed else {
        return try make(files, Shape.feed.document) {
          try generate(.feed, bytes: posts * 4500, $0, $1)
        }
      }
      let document = try String(contentsOfFile: feed + "/feed.graphql", encoding: .utf8)
      try make(files, document) { response, changed in
        setenv("PYTHONDONTWRITEBYTECODE", "1", 1)
        _ = try Measurement.run(["python3", feed + "/gen.py", String(posts), response])
        if let changed { try ChangedResponse.write(from: response, to: changed) }
      }
    }
  }

  private static func made(_ shape: Shape, megabytes: Double, _ options: Options) -> Workload {
    let name = "\(shape.rawValue)-\(Int(megabytes))MB"
    let files = folder(name, options)
    var stages: [Stage] = [
      .yajl, .parse, .memory, .readMemory, .sqlite, .sqliteUnchanged, .readSQLite,
    ]
    if shape.hasChanges { stages.append(.sqliteChanged) }
    if shape == .uuid { stages.insert(.insertRows, at: 5) }
    if shape.elementsPerPart != nil {
      stages = [.yajl, .parse, .memory, .partsMemory, .sqlite, .partsSQLite]
    }
    return Workload(name: name, stages: stages, files: files) {
      try make(files, shape.document) {
        try generate(shape, bytes: Int(megabytes * 1e6), $0, shape.hasChanges ? $1 : nil)
        if shape.elementsPerPart != nil { rename(Files.parts(of: $0), files.parts) }
      }
    }
  }

  private static func small(_ options: Options) -> Workload {
    let files = folder("small", options)
    let stages = Stage.allCases.filter { $0.rawValue.hasPrefix("small") }
    return Workload(name: "small", stages: stages, files: files) {
      try make(files, Shape.smallDocument) { response, _ in
        try "{}".write(toFile: response, atomically: true, encoding: .utf8)
      }
    }
  }

  /// In a process of its own: the names and texts of a large response would stay in this one's memory.
  private static func generate(
    _ shape: Shape, bytes: Int, _ response: String, _ changed: String?
  ) throws {
    _ = try Measurement.run([
      CommandLine.arguments[0], "generate", shape.rawValue, "\(Double(bytes) / 1e6)", response,
      response + ".graphql",
    ])
    unlink(response + ".graphql")
    if let changed { try ChangedResponse.write(from: response, to: changed) }
  }

  /// Makes the files when they are not there from an earlier run.
  private static func make(
    _ files: Files, _ document: String, _ write: (String, String?) throws -> Void
  ) throws {
    try FileManager.default.createDirectory(
      atPath: files.folder, withIntermediateDirectories: true)
    try document.write(toFile: files.document, atomically: true, encoding: .utf8)
    if FileManager.default.fileExists(atPath: files.response) { return }
    print("making \(files.response)")
    try write(files.response + ".part", files.changed)
    guard rename(files.response + ".part", files.response) == 0 else {
      throw BenchError("cannot make \(files.response)")
    }
  }
}

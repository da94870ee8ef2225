import Foundation
import GQLRunJSON
import GQLRunSupport
import GRDB

/// Puts the outputs and journals of the shards of a run together.
public struct ShardMerge {
  public private(set) var tasks = 0
  public private(set) var files: [String] = []
  public private(set) var journal = ""

  /// Merges the newest journal and the outputs of each shard of a manifest.
  ///
  /// - Throws: ``JournalError`` when a shard is missing or has not ended.
  public init(_ manifest: Manifest) throws {
    let shards = try Self.shards(manifest)
    let journals = try shards.map { shard -> String in
      guard let path = JournalFolder(manifest, shard: shard).all().last else {
        throw JournalError("there is no journal of the shard \(shard.number)/\(shard.count)")
      }
      let journal = try Journal(path: path, isReadOnly: true)
      defer { journal.close() }
      guard !(try journal.meta("ended") ?? "").isEmpty, (try journal.meta("stop") ?? "").isEmpty
      else {
        throw JournalError(
          "the shard \(shard.number)/\(shard.count) has not ended; continue it with --shard "
            + "\(shard.number)/\(shard.count) --resume")
      }
      return path
    }
    let whole = try SinkPlan(manifest)
    for (place, entry) in whole.entries.enumerated() where entry.path != "-" {
      let parts = try shards.map { try SinkPlan(manifest, suffix: $0.label).entries[place] }
      if entry.isTable {
        try Self.merge(tables: parts, into: entry, base: OutputPath(folder: manifest.folder))
      } else {
        try Self.merge(files: parts.map(\.path), into: entry)
      }
      files.append(entry.path)
    }
    let target = try JournalFolder(manifest).open(resumes: false, at: Date().timeIntervalSince1970)
    defer { target.close() }
    journal = target.path
    try Self.merge(journals, into: target, manifest)
    tasks = try target.counts().total
  }

  private static func shards(_ manifest: Manifest) throws -> [Shard] {
    let folder = manifest.settings.journalFolder
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let prefix = JournalFolder(manifest).name + "-"
    let counts = Set(
      names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(".journal") }.compactMap { name -> Int? in
        let label = name.split(separator: ".").dropLast().last ?? ""
        return label.contains("of")
          ? label.split(separator: "o").last.flatMap { Int($0.dropFirst()) } : nil
      })
    guard counts.count == 1, let count = counts.first else {
      throw JournalError(
        counts.isEmpty
          ? "there are no journals of shards in \(folder); run with --shard 1/2 first"
          : "\(folder) has journals of runs with different numbers of shards; move the old ones away"
      )
    }
    return (1...count).compactMap { Shard("\($0)/\(count)") }
  }

  private static func merge(files parts: [String], into entry: SinkPlan.Entry) throws {
    let part = entry.path + ".part"
    guard FileManager.default.createFile(atPath: part, contents: nil),
      let output = FileHandle(forWritingAtPath: part)
    else { throw Errno.last("cannot write \(entry.path)") }
    var isFirst = true
    for path in parts {
      guard let input = FileHandle(forReadingAtPath: path) else {
        throw JournalError("the output \(path) of a shard is missing")
      }
      var skip = 0
      var cut = 0
      switch entry.format {
      case .csv(let header) where !isFirst: skip = header.utf8.count
      case .json:
        skip = 1
        cut = 3
      default: break
      }
      let end = Int(try input.seekToEnd()) - cut
      try input.seek(toOffset: UInt64(min(skip, max(end, 0))))
      if case .json = entry.format {
        // Elements of a later part follow a comma.
        try output.write(contentsOf: Data((isFirst ? "[" : end > 1 ? "," : "").utf8))
      }
      var left = end - skip
      while left > 0, let data = try input.read(upToCount: min(left, 1 << 20)), !data.isEmpty {
        try output.write(contentsOf: data)
        left -= data.count
      }
      if case .json = entry.format { isFirst = isFirst && end <= 1 } else { isFirst = false }
      try input.close()
    }
    if case .json = entry.format { try output.write(contentsOf: Data("\n]\n".utf8)) }
    try output.synchronize()
    try output.close()
    guard rename(part, entry.path) == 0 else { throw Errno.last("cannot write \(entry.path)") }
  }

  private static func merge(
    tables parts: [SinkPlan.Entry], into entry: SinkPlan.Entry, base: OutputPath
  ) throws {
    let file = try TableFile(path: entry.path, base: base)
    defer { file.close() }
    let sink = try TableSink(file, table: entry.table, columns: entry.columns, key: entry.key)
    for part in parts where FileManager.default.fileExists(atPath: part.path) {
      let columns = entry.columns + (entry.key.isEmpty ? ["_task"] : [])
      let names = columns.map { QuotedText.sqlIdentifier($0) }
      let source = try QuerySource(
        path: part.path,
        query: "SELECT \(names.joined(separator: ", ")) FROM \"\(part.table)\"")
      while let row = try source.next() {
        guard case .values(let object) = row.content else { continue }
        try sink.append(
          columns.map { SQLValue(object[$0]) }, unit: object["_task"]?.stringValue ?? "")
      }
    }
    try file.sync()
  }

  private static func merge(
    _ journals: [String], into target: Journal, _ manifest: Manifest
  ) throws {
    let numbers = try target.register(manifest.operations.map(\.id))
    let byID = Dictionary(zip(manifest.operations.map(\.id), numbers)) { first, _ in first }
    for path in journals {
      let source = try Journal(path: path, isReadOnly: true)
      defer { source.close() }
      var step = JournalStep()
      try ReportData.forEachTask(source) { task in
        guard let id = TaskID(text: task.id) else { return }
        var update = TaskUpdate(
          id: id, operation: byID[task.operation] ?? 0, key: task.key, state: task.state)
        update.page = task.page
        update.attempts = task.attempts
        update.http = task.http
        update.ended = task.ended
        update.milliseconds = task.milliseconds
        update.bytes = task.bytes
        update.records = task.records
        update.error = task.error
        step.tasks.append(update)
        if step.tasks.count >= 5_000 {
          try target.record(step)
          step.tasks = []
        }
      }
      try target.record(step)
    }
    try target.set([
      "name": manifest.name, "manifest": manifest.file,
      "ended": "\(Date().timeIntervalSince1970)", "stop": "",
    ])
  }
}

extension TaskID {
  /// Reads 32 hexadecimal digits.
  init?(text: String) {
    guard text.utf8.count == 32, let high = UInt64(text.prefix(16), radix: 16),
      let low = UInt64(text.suffix(16), radix: 16)
    else { return nil }
    self.high = high
    self.low = low
  }
}

import Foundation
import GQLRunJSON
public import GQLRunPipeline
import GQLRunSupport

/// A file that the run reads.
struct InputFile: Sendable, Equatable {
  var path: String
  /// The role of the file in messages: "the manifest", "the rows of `users`".
  var role: String
}

/// An output that must not be written, with the source location of its path.
public struct OutputProblem: Error, Sendable, CustomStringConvertible {
  /// The source location of the path; `nil` if it is a default.
  public var location: FileLocation?
  /// The problem, with the path of the output.
  public var message: String
  /// How to solve it.
  public var hint: String

  /// `file:line:column: message; hint`, or `--to: message; hint` for an option of the command line.
  public var description: String {
    let place = location.map { $0.line > 0 ? "\($0.file):\($0.line):\($0.column)" : $0.file }
    return (place.map { "\($0): " } ?? "") + "\(message); \(hint)"
  }
}

/// Compares the outputs of a manifest with its inputs and with each other.
struct OutputCheck: Sendable {
  private struct Output {
    var path: String
    var role: String
    var location: FileLocation?
    var isDatabase = false
    var isSink = false
    var isUnfinished = false
  }

  private let manifest: Manifest
  private let plan: SinkPlan
  private let outputs: [Output]

  init(_ manifest: Manifest, _ plan: SinkPlan) {
    self.manifest = manifest
    self.plan = plan
    var outputs: [Output] = []
    var databases: Set<String> = []
    for entry in plan.entries where entry.path != "-" && !entry.isInQueue {
      guard !entry.isTable || databases.insert(entry.path).inserted else { continue }
      outputs.append(
        Output(
          path: entry.path, role: entry.shown, location: entry.location, isDatabase: entry.isTable,
          isSink: true))
      guard !entry.isTable else { continue }
      outputs.append(
        Output(
          path: entry.path + ".part", role: "the unfinished file of \(entry.shown)",
          location: entry.location, isSink: true, isUnfinished: true))
    }
    let report = manifest.report
    for (key, path, noun) in [
      ("report.junit", report.junit, "report"), ("report.html", report.html, "report"),
      ("report.json", report.json, "report"), ("state", manifest.stateFile, "state file"),
    ] {
      guard let path else { continue }
      outputs.append(
        Output(
          path: path, role: "the \(noun) `\(path)`", location: manifest.outputLocations[key]))
    }
    for operation in manifest.operations {
      guard let text = operation.snapshot?.constant,
        let path = try? OutputPath(folder: manifest.folder).resolve(text)
      else { continue }
      outputs.append(
        Output(path: path, role: "the snapshot of `\(operation.id)`", location: operation.location))
    }
    self.outputs = outputs
  }

  /// Whether an operation reads a database after an operation that writes it has finished.
  private func reads(_ reader: Int, after path: String) -> Bool {
    let entries = Set(plan.entries.indices.filter { plan.entries[$0].path == path })
    var open = manifest.operations[reader].needs
    var seen: Set<Int> = []
    while let need = open.popLast() {
      guard seen.insert(need).inserted else { continue }
      if plan.formats[need].contains(where: { entries.contains($0.entry) }) {
        return true
      }
      open += manifest.operations[need].needs
    }
    return false
  }

  /// The first operation whose rows are in a database that the batch writes; `nil` if there is none.
  var readerOfOutput: BatchOperation? {
    var databases = LocationTable<Output>()
    for output in outputs where output.isDatabase {
      databases.add(output, at: Location(output.path))
    }
    return manifest.operations.first { operation in
      guard let input = operation.source?.input, input.isDatabase, let path = input.path else {
        return false
      }
      return !databases.found(at: Location(path)).isEmpty
    }
  }

  /// Outputs that would overwrite an input, a journal or another output.
  func conflicts() -> [OutputProblem] {
    var problems: [OutputProblem] = []
    var inputs = LocationTable<(file: InputFile, reader: Int?)>()
    for input in self.inputs() { inputs.add(input, at: Location(input.file.path)) }
    var others = LocationTable<Output>()
    var folder = manifest.settings.journalFolder
    // With it, a file counts as one in the path of the folder.
    while folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
    let isInFile = Self.isInFile(folder)
    if isInFile || FileStatus(folder) != nil && !FilePath.isFolder(folder) {
      problems.append(
        OutputProblem(
          location: manifest.outputLocations["journal"],
          message:
            "the folder of the journals `\(folder)` is \(isInFile ? "in a folder that is " : "")a file",
          hint: "name another folder with `run: { journal: runs }`"))
    }
    let located = outputs.map { (output: $0, location: Location($0.path)) }
    let paths = located.map(\.location.path) + [Location(folder).path + "/"]
    for (output, location) in located {
      func report(_ message: String, hint: String) {
        problems.append(
          OutputProblem(
            location: output.location, message: "\(output.role) \(message)", hint: hint))
      }
      if let input = inputs.found(at: location).first(where: { input in
        !(output.isDatabase && input.reader.map { reads($0, after: output.path) } ?? false)
      }) {
        report(
          "would replace \(input.file.role)",
          hint: output.isDatabase && input.reader != nil
            ? "write to another database, or let the operation need the one that writes the rows"
            : "write to another file")
      } else if !output.isUnfinished, Self.isInFile(output.path) {
        report("is in a folder that is a file", hint: "name another folder")
      } else if paths.contains(where: { $0.hasPrefix(location.path + "/") })
        || output.isSink && FilePath.isFolder(output.path)
      {
        report("is a folder", hint: "name a file in it")
      } else if FileStatus(output.path)?.isRegular == false, !FilePath.isFolder(output.path) {
        // Opening a pipe would wait for another program, and a file that is complete would replace a pipe or a device.
        report(
          "is not a regular file" + (output.isDatabase ? ", and so not a SQLite database" : ""),
          hint: "name another file")
      } else if isJournal(output.path) {
        report("would replace a journal of the batch", hint: "write to another file")
      } else if let other = others.found(at: location).first {
        report("and \(other.role) are one file", hint: "give each a file of its own")
      }
      others.add(output, at: location)
    }
    return problems
  }

  /// Whether a part of a path is a file, also above folders that do not exist.
  private static func isInFile(_ path: String) -> Bool {
    access(path, F_OK) != 0 && errno == ENOTDIR
  }

  /// Returns what the snapshot of a task would replace at a path that only its row determines, or `nil` if it may be
  /// there. The files of the batch are located once, for all tasks.
  func replacedBySnapshots() -> @Sendable (_ path: String) -> String? {
    guard manifest.operations.contains(where: { $0.snapshot != nil }) else { return { _ in nil } }
    var files = LocationTable<String>()
    for input in inputs() { files.add(input.file.role, at: Location(input.file.path)) }
    for output in outputs where !isSnapshot(output) {
      files.add(output.role, at: Location(output.path))
    }
    return { [files] path in
      files.found(at: Location(path)).first
        ?? (isJournal(path) ? "a journal of the batch" : nil)
    }
  }

  private func inputs() -> [(file: InputFile, reader: Int?)] {
    var inputs: [(InputFile, Int?)] = manifest.inputs.map { ($0, nil) }
    for operation in manifest.operations {
      guard let input = operation.source?.input, let path = input.path else { continue }
      inputs.append(
        (
          InputFile(path: path, role: "the rows of `\(operation.id)`"),
          input.isDatabase ? operation.index : nil
        ))
    }
    if manifest.pipeline.store.kind == .sqlite {
      inputs.append(
        (InputFile(path: manifest.pipeline.store.path ?? "cache.db", role: "the cache"), nil))
    }
    return inputs
  }

  /// Whether a path is a journal or one of its companion files, judged by name.
  private func isJournal(_ path: String) -> Bool {
    let folder = Location(manifest.settings.journalFolder).path
    let full = Location(path).path
    guard full.hasPrefix(folder + "/") else { return false }
    let name = full.dropFirst(folder.count + 1)
    return !name.contains("/") && (name.contains(".journal") || name.hasSuffix(".outputs.json"))
  }

  /// Requires that each output is a file of its own, and that no file is replaced that is not an earlier output.
  ///
  /// - Parameters:
  ///   - ledger: The list of earlier outputs.
  ///   - overwrites: Whether other files may be replaced.
  ///   - journal: The journal of the run that is resumed.
  /// - Throws: ``OutputProblems``.
  func require(
    _ ledger: OutputLedger, overwrites: Bool, resuming journal: Journal? = nil
  ) throws {
    var problems = conflicts()
    if problems.isEmpty, !overwrites {
      problems = try foreignFiles(ledger, resuming: journal)
    }
    guard problems.isEmpty else { throw OutputProblems(problems: problems) }
  }

  // MARK: Files that are there

  /// Existing files that the run would overwrite and that are not earlier outputs of the manifest.
  ///
  /// - Parameters:
  ///   - includingSinks: Whether to check the sinks in addition to reports and state.
  ///   - journal: The journal of a resumed run. Files that it published are compared elsewhere.
  func foreignFiles(
    _ ledger: OutputLedger, includingSinks: Bool = true, resuming journal: Journal? = nil
  ) throws -> [OutputProblem] {
    let base = OutputPath(folder: manifest.folder)
    let published = Set(
      try journal?.sinks().values.filter(\.isPublished).map { base.shown(base.relative($0.path)) }
        ?? [])
    let known = Set(try journal?.outputs().map(\.id) ?? [])
    var problems: [OutputProblem] = []
    for output in outputs where !output.isDatabase && (includingSinks || !output.isSink) {
      if published.contains(output.path) { continue }
      // Unfinished files are compared when they are opened, even if the list of outputs was lost.
      if output.isUnfinished,
        known.contains(OutputID(path: base.relative(String(output.path.dropLast(5)))))
      {
        continue
      }
      guard FileStatus(output.path) != nil else { continue }
      let isState = output.path == manifest.stateFile
      let isOwn =
        if isState {
          // Shards only read it.
          ledger.isOfShard || ledger.knows(output.path) || isStateFile(output.path)
        } else if output.isUnfinished {
          ledger.owns(output.path) || ledger.knows(String(output.path.dropLast(5)))
        } else if !output.isSink {
          // The shards of a manifest, and its runs without shards, replace each other's reports.
          try ledger.owns(output.path) || ledger.siblings().contains { $0.owns(output.path) }
        } else {
          ledger.owns(output.path)
        }
      guard !isOwn, !isSnapshot(output) else { continue }
      if output.isUnfinished { try FileSink.checkUnlocked(output.path) }
      problems.append(
        OutputProblem(
          location: output.location,
          message: "\(output.role) already exists, and is not an earlier output of this manifest",
          hint: "move or remove the file, write to another one, or replace it with --overwrite"))
    }
    var tables: [String: [SinkPlan.Entry]] = [:]
    for entry in plan.entries where entry.isTable && !entry.isInQueue && includingSinks {
      if known.contains(OutputID(path: base.relative(entry.path), table: entry.table)) { continue }
      tables[entry.path, default: []].append(entry)
    }
    for (path, entries) in tables.sorted(by: { $0.key < $1.key }) {
      guard let found = TableFile.foreign(path, tables: entries.map(\.table)) else { continue }
      problems.append(
        OutputProblem(
          location: entries[found.index].location, message: found.reason,
          hint: "write to another table or database, or allow it with --overwrite"))
    }
    return problems
  }

  /// Snapshots are compared with the data, and replaced only on request.
  private func isSnapshot(_ output: Output) -> Bool { output.role.hasPrefix("the snapshot") }

  /// Whether an unlisted file may be a handwritten state file: an object whose members the manifest
  /// uses.
  private func isStateFile(_ path: String) -> Bool {
    guard let state = try? StateFile.read(path) else { return false }
    let names = manifest.stateNames.union(
      manifest.operations.flatMap { $0.bookmarks.map(\.name) })
    return state.allSatisfy { names.contains($0.key) }
  }
}

/// The target of a path: an existing file, or a name in an existing folder.
private struct Location {
  let path: String
  private let status: FileStatus?

  init(_ given: String) {
    status = FileStatus(given)
    path = FilePath.real(given)
  }

  /// The device and inode of the existing file.
  var file: String? { status.map { "\($0.device):\($0.inode)" } }
}

/// Values by the path and by the file that it resolves to.
private struct LocationTable<Value: Sendable>: Sendable {
  private var byPath: [String: [Value]] = [:]
  private var byFile: [String: [Value]] = [:]

  mutating func add(_ value: Value, at location: Location) {
    byPath[location.path, default: []].append(value)
    if let file = location.file { byFile[file, default: []].append(value) }
  }

  func found(at location: Location) -> [Value] {
    (byPath[location.path] ?? []) + (location.file.flatMap { byFile[$0] } ?? [])
  }
}

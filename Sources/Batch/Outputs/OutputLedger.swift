import Foundation
import GQLRunJSON
import GQLRunSupport

/// The files that earlier runs of a manifest have written, kept beside its journals.
///
/// A run replaces its own earlier outputs and nothing else. A file counts as an earlier output when it is
/// unchanged since (same size and time), or when it is the file that an unfinished run has open.
struct OutputLedger {
  /// What is known of one output.
  struct Entry: Equatable {
    /// Of the complete file.
    var size: Int?
    /// Seconds since 1970, with nine decimals.
    var modified: String?
    /// Of the file that a run began to write, until it is complete.
    var inode: UInt64?
    /// Whether it is about to be replaced as a whole, so that any file may be the new one.
    var isPending = false
  }

  private let path: String
  private let base: OutputPath
  private(set) var entries: [String: Entry] = [:]

  /// Reads what is known; nothing when there is no ledger yet.
  ///
  /// - Throws: ``JournalError`` when the file is not a ledger.
  init(_ manifest: Manifest, shard: Shard? = nil) throws {
    let folder = JournalFolder(manifest, shard: shard)
    path = folder.ledgerPath
    base = OutputPath(folder: manifest.folder)
    guard let data = FileManager.default.contents(atPath: path) else {
      entries = try Self.older(folder, manifest, base)
      return
    }
    guard let outputs = (try? JSONValue(parsing: [UInt8](data)))?["outputs"]?.objectValue else {
      throw JournalError(
        "\(path) is not the list of earlier outputs that gqlrun keeps there; remove it")
    }
    for member in outputs {
      let value = member.value
      entries[member.key] = Entry(
        size: value["size"]?.intValue, modified: value["modified"]?.stringValue,
        inode: value["inode"]?.stringValue.flatMap { UInt64($0) },
        isPending: value["pending"] == .boolean(true))
    }
  }

  /// Earlier versions kept no ledger: what their newest journal names is an earlier output.
  private static func older(
    _ folder: JournalFolder, _ manifest: Manifest, _ base: OutputPath
  ) throws -> [String: Entry] {
    guard let newest = folder.all().last, let journal = try? Journal(path: newest, isReadOnly: true)
    else { return [:] }
    defer { journal.close() }
    // Journals that record outputs come with a ledger.
    guard try journal.outputs().isEmpty else { return [:] }
    let report = manifest.report
    let reports = [report.junit, report.html, report.json].compactMap { $0 }
    return Dictionary(
      (try journal.sinks().keys + reports).map { (base.relative($0), Entry(isPending: true)) },
      uniquingKeysWith: { first, _ in first })
  }

  /// Whether the manifest has written this output before, whatever it is now.
  func knows(_ path: String) -> Bool { entries[base.relative(path)] != nil }

  /// Whether the file at a path is an earlier output, or there is none.
  func owns(_ path: String) -> Bool {
    guard let file = FileStatus(path) else { return true }
    guard let entry = entries[base.relative(path)] else { return false }
    if entry.isPending || entry.inode == file.inode { return true }
    guard let size = entry.size, let modified = entry.modified, size == file.size else {
      return false
    }
    // Archives keep whole seconds.
    return modified == file.modified
      || file.modified.hasSuffix(".000000000") && modified.hasPrefix(file.modified.dropLast(9))
  }

  /// Notes files that are about to be written.
  mutating func begin(_ paths: [String], inodes: [String: UInt64] = [:]) throws {
    for path in paths {
      let name = base.relative(path)
      var entry = entries[name] ?? Entry()
      entry.inode = inodes[path] ?? entry.inode
      entries[name] = entry
    }
    try save()
  }

  /// Notes that files are about to be replaced as a whole.
  mutating func willReplace(_ paths: [String]) throws {
    guard !paths.isEmpty else { return }
    for path in paths { entries[base.relative(path), default: Entry()].isPending = true }
    try save()
  }

  /// Notes files that are complete.
  mutating func end(_ paths: [String]) throws {
    guard !paths.isEmpty else { return }
    for path in paths {
      guard let file = FileStatus(path) else {
        entries[base.relative(path)] = nil
        continue
      }
      entries[base.relative(path)] = Entry(size: file.size, modified: file.modified)
    }
    try save()
  }

  private func save() throws {
    var outputs = JSONObject()
    for (name, entry) in entries.sorted(by: { $0.key < $1.key }) {
      var value = JSONObject()
      if let size = entry.size { value["size"] = .number(JSONNumber(size)) }
      if let modified = entry.modified { value["modified"] = .string(modified) }
      if let inode = entry.inode { value["inode"] = .string("\(inode)") }
      if entry.isPending { value["pending"] = .boolean(true) }
      outputs[name] = .object(value)
    }
    let ledger: JSONObject = ["version": .number(JSONNumber(1)), "outputs": .object(outputs)]
    try AtomicFile.write(JSONValue.object(ledger).jsonBytes(pretty: true) + [0x0A], to: path)
  }
}

/// What the file system says of a file; symbolic links are followed.
struct FileStatus: Equatable {
  var device: UInt64
  var inode: UInt64
  var size: Int
  /// Seconds since 1970, with nine decimals.
  var modified: String
  var isRegular: Bool

  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int(status.st_size)
    let nanoseconds = "\(1_000_000_000 + status.st_mtim.tv_nsec)".dropFirst()
    modified = "\(status.st_mtim.tv_sec).\(nanoseconds)"
    isRegular = status.st_mode & S_IFMT == S_IFREG
  }
}

import Foundation
import GQLRunJSON
import GQLRunSupport

/// The list of files written by earlier runs of a manifest, stored beside its journals.
///
/// A run overwrites only its own earlier outputs. A file counts as one if it is unchanged (same
/// size and modification time), or if it is the file that an unfinished run has open.
struct OutputLedger {
  /// The record of one output.
  struct Entry: Equatable {
    /// The size of the complete file, in bytes.
    var size: Int?
    /// The modification time in seconds since 1970, with nine decimals.
    var modified: String?
    /// The inode of the file that a run started to write; `nil` once it is complete.
    var inode: UInt64?
    /// Whether the file is about to be replaced as a whole, so that any file may be the new one.
    var isPending = false
  }

  private let path: String
  private let folder: JournalFolder
  private var base: OutputPath { folder.base }
  private(set) var entries: [String: Entry] = [:]
  /// Whether the files are those of one shard.
  var isOfShard: Bool { folder.shard != nil }

  /// Reads the ledger; it is empty if there is no file.
  ///
  /// - Throws: ``JournalError`` if the file is not a ledger.
  init(_ manifest: Manifest, shard: Shard? = nil) throws {
    let folder = JournalFolder(manifest, shard: shard)
    try self.init(path: folder.ledgerPath, folder: folder)
    if !FileManager.default.fileExists(atPath: path) { entries = try older(manifest) }
  }

  private init(path: String, folder: JournalFolder) throws {
    self.path = path
    self.folder = folder
    guard
      let bytes = try JournalError.wrapping({ () throws(SystemError) in
        try SystemIO.readExistingFile(path)
      })
    else { return }
    guard let outputs = (try? JSONValue(parsing: bytes))?["outputs"]?.objectValue else {
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

  /// The outputs of earlier versions, which wrote no ledger, from their newest journal.
  private func older(_ manifest: Manifest) throws -> [String: Entry] {
    guard let newest = try folder.all().last,
      let journal = try? Journal(path: newest, isReadOnly: true)
    else { return [:] }
    // Journals that record outputs have a ledger.
    guard try journal.outputs().isEmpty else { return [:] }
    return Dictionary(
      (try journal.sinks().keys + manifest.report.paths).map {
        (base.relative($0), Entry(isPending: true))
      },
      uniquingKeysWith: { first, _ in first })
  }

  /// The ledgers of the other shards of the manifest and of its runs without shards; unreadable ones are left out.
  func siblings() throws -> [OutputLedger] {
    try folder.ledgerPaths().filter { $0 != path }
      .compactMap { try? OutputLedger(path: $0, folder: folder) }
  }

  /// Whether the manifest wrote this output before, even if the file has changed since.
  func knows(_ path: String) -> Bool { entries[base.relative(path)] != nil }

  /// Whether the file at a path is an earlier output or does not exist.
  func owns(_ path: String) -> Bool {
    guard let file = FileStatus(path) else { return true }
    guard let entry = entries[base.relative(path)] else { return false }
    if entry.isPending || entry.inode == file.inode { return true }
    guard let size = entry.size, let modified = entry.modified, size == file.size else {
      return false
    }
    // Archives store whole seconds.
    return modified == file.modified
      || file.modified.hasSuffix(".000000000") && modified.hasPrefix(file.modified.dropLast(9))
  }

  /// Records files that are about to be written.
  mutating func begin(_ paths: [String], inodes: [String: UInt64] = [:]) throws {
    for path in paths {
      let name = base.relative(path)
      var entry = entries[name] ?? Entry()
      entry.inode = inodes[path] ?? entry.inode
      entries[name] = entry
    }
    try save()
  }

  /// Records that files are about to be replaced as a whole.
  mutating func willReplace(_ paths: [String]) throws {
    guard !paths.isEmpty else { return }
    for path in paths { entries[base.relative(path), default: Entry()].isPending = true }
    try save()
  }

  /// Records that files are complete.
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

  /// Saves bookmarks in the state file of a manifest, if it has one.
  mutating func save(_ bookmarks: [String: JSONValue], of manifest: Manifest) throws {
    guard let file = manifest.stateFile else { return }
    try willReplace([file])
    // Another batch may have saved its own meanwhile.
    try StateFile.save(bookmarks, over: StateFile.read(file), to: base.target(file))
    try end([file])
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
    try AtomicFile.write(
      JSONValue.object(ledger).jsonBytes(pretty: true) + [0x0A], to: base.target(path))
  }
}

/// The status of a file.
struct FileStatus: Equatable {
  var device: UInt64
  var inode: UInt64
  var size: Int
  /// The modification time in seconds since 1970, with nine decimals.
  var modified: String
  var isRegular: Bool

  /// Reads the status of the file at a path, with symbolic links resolved.
  init?(_ path: String) {
    guard let status = FilePath.status(of: path) else { return nil }
    self.init(status)
  }

  /// Reads the status of an open file.
  init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  private init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int(status.st_size)
    let nanoseconds = "\(1_000_000_000 + status.st_mtim.tv_nsec)".dropFirst()
    modified = "\(status.st_mtim.tv_sec).\(nanoseconds)"
    isRegular = status.st_mode & S_IFMT == S_IFREG
  }
}

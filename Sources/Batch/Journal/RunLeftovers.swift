import Foundation
import GQLRunSupport

/// The files that runs of a manifest left and that no later run needs.
///
/// These are journals other than the newest one (of each shard), lock files and other companions
/// without a journal, unfinished outputs (`NAME.part`) that no unfinished run continues, and
/// temporary files of interrupted writes. Results, reports, the state file and the list of earlier
/// outputs are not among them.
public struct RunLeftovers: Sendable {
  /// One file.
  public struct File: Sendable, Equatable {
    /// The path.
    public var path: String
    /// The size in bytes.
    public var bytes: Int
  }

  /// The files, sorted by path.
  public private(set) var files: [File] = []
  /// The journals that are kept because `--resume` needs them or a run is using them.
  public private(set) var keptJournals: [String] = []
  /// The locks of the journals, held until the files are removed, so that no run opens them.
  private var locks: [FileLock] = []

  /// The total size of the files, in bytes.
  public var bytes: Int { files.reduce(0) { $0 + $1.bytes } }

  /// Finds the files, without removing any. The log of a run that was killed is joined with its journal.
  ///
  /// - Parameters:
  ///   - manifest: The manifest of the runs.
  ///   - includingNewest: Whether to include what `--resume` needs. Files that a run is using are
  ///     never included.
  /// - Throws: ``JournalError`` if a journal is that of another batch, or the list of earlier outputs or a kept journal
  ///   cannot be read.
  public init(_ manifest: Manifest, includingNewest: Bool = false) throws {
    let folder = JournalFolder(manifest)
    var paths: [String] = []
    var isRunning = false
    let byShard = try Dictionary(grouping: folder.files(), by: \.shard)
    for (_, files) in byShard {
      let byJournal = Dictionary(grouping: files, by: \.journal)
      let newest = byJournal.keys.filter { FileStatus($0) != nil }.max()
      for (journal, files) in byJournal {
        // One that is damaged is removed as the others are.
        if let found = try? Journal(path: journal, isReadOnly: true),
          (try? found.meta("name")) != nil
        {
          try found.require(manifest)
        }
        let isLocked = try !lock(journal)
        if isLocked || journal == newest && !includingNewest {
          isRunning = isRunning || isLocked
          if FileStatus(journal) != nil { keptJournals.append(journal) }
        } else {
          paths += files.map(\.path)
        }
      }
    }
    keptJournals.sort()
    // The temporary files may be those of the other run.
    if !isRunning { paths += try temporaryFiles(manifest) }
    files = Set(paths).sorted().compactMap { path in
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
      return File(path: path, bytes: Int(status.st_size))
    }
  }

  /// Removes the files, and allows runs again.
  ///
  /// - Throws: ``StoppedByStorage`` if a file cannot be removed; later files are then unchanged.
  public mutating func remove() throws {
    defer { locks = [] }
    // A journal goes before its lock.
    for file in files.sorted(by: { !$0.path.hasSuffix(".lock") && $1.path.hasSuffix(".lock") }) {
      guard unlink(file.path) == 0 || errno == ENOENT else {
        throw Errno.last("cannot remove \(file.path)")
      }
    }
  }

  /// Locks a journal. Returns `false` if a run is using it.
  private mutating func lock(_ journal: String) throws -> Bool {
    // Without a lock file, no run uses the journal.
    guard FileStatus(journal + ".lock") != nil else { return true }
    let lock = try JournalError.wrapping { () throws(SystemError) in
      try FileLock(journal + ".lock")
    }
    guard try JournalError.wrapping(lock.tryLock) else { return false }
    locks.append(lock)
    return true
  }

  // MARK: Temporary files

  /// The unfinished outputs that no kept journal continues, and the remains of interrupted writes.
  private func temporaryFiles(_ manifest: Manifest) throws -> [String] {
    let base = OutputPath(folder: manifest.folder)
    let own = try OutputLedger(manifest)
    let ledgers = try [own] + own.siblings()
    var needed: Set<String> = []
    for path in keptJournals {
      let journal = try Journal(path: path, isReadOnly: true)
      // A finished run has renamed its files.
      guard try !journal.hasFinished() else { continue }
      needed.formUnion(try journal.outputs().map(\.path))
      needed.formUnion(try journal.sinks().keys.map { base.relative($0) })
    }
    var found: [String] = []
    for name in Set(ledgers.flatMap(\.entries.keys)) {
      // The list is a file that other programs can change.
      guard let path = try? base.resolve(name) else { continue }
      found += try Self.interruptedWrites(of: base.target(path))
      guard !needed.contains(name), FileStatus(path + ".part") != nil,
        (try? FileSink.checkUnlocked(path + ".part")) != nil
      else { continue }
      found.append(path + ".part")
    }
    for path in try JournalFolder(manifest).ledgerPaths() {
      found += try Self.interruptedWrites(of: base.target(path))
    }
    return found
  }

  /// The files in which ``AtomicFile`` prepared the replacement of `path`, which is no link:
  /// `NAME.PROCESS-NUMBER.part`.
  private static func interruptedWrites(of path: String) throws -> [String] {
    let folder = FilePath.folder(of: path)
    // The folder of an earlier output can be a file by now.
    guard FilePath.isFolder(folder) else { return [] }
    let prefix = path.split(separator: "/").last.map { $0 + "." } ?? ""
    return try JournalFolder.names(in: folder).filter { name in
      guard name.hasPrefix(prefix), name.hasSuffix(".part") else { return false }
      let middle = name.dropFirst(prefix.count).dropLast(5).split(
        separator: "-", omittingEmptySubsequences: false)
      return middle.count == 2
        && middle.allSatisfy { !$0.isEmpty && $0.allSatisfy { "0"..."9" ~= $0 } }
    }.map { "\(folder)/\($0)" }
  }
}

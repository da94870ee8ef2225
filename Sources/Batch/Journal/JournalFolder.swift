import Foundation
import GQLRunSupport

/// The folder that contains the journals of a manifest.
public struct JournalFolder: Sendable {
  let folder: String
  let name: String
  let base: OutputPath
  let shard: Shard?

  /// Locates the folder; it does not have to exist.
  ///
  /// - Parameters:
  ///   - manifest: The manifest, whose setting `journal` names the folder.
  ///   - shard: The shard whose journals to find; `nil` for those of unsharded runs.
  public init(_ manifest: Manifest, shard: Shard? = nil) {
    folder = manifest.settings.journalFolder
    name = manifest.name.map { $0.isLetter || $0.isNumber ? String($0) : "-" }.joined()
    base = OutputPath(folder: manifest.folder)
    self.shard = shard
  }

  /// The list of files written by earlier runs.
  var ledgerPath: String {
    "\(folder)/\(name)\(shard.map { ".\($0.label)" } ?? "").outputs.json"
  }

  /// The ledgers of all shards of the manifest, and of its runs without shards.
  func ledgerPaths() throws -> [String] {
    try Self.names(in: folder).filter { $0.hasPrefix(name + ".") && $0.hasSuffix(".outputs.json") }
      .sorted().map { "\(folder)/\($0)" }
  }

  /// A folder that cannot be read is not an empty one: a run that starts again would send its mutations again.
  static func names(in folder: String) throws -> [String] {
    try JournalError.wrapping { () throws(SystemError) in try SystemIO.names(in: folder) }
  }

  /// A journal, or a file that belongs to it, such as its lock file.
  struct JournalFile {
    var path: String
    /// The path of the journal, which may not exist any more.
    var journal: String
    /// The label of the shard; `nil` for a run without shards.
    var shard: String?
  }

  /// The journals of all shards and of runs without shards, and the files that belong to them.
  ///
  /// Their names are NAME-TIME.journal and NAME-TIME.SHARD.journal, with `-wal`, `-shm` or `.lock`
  /// at the end for the other files.
  func files() throws -> [JournalFile] {
    let digits = [8, 6, 3]
    return try Self.names(in: folder).compactMap { file in
      guard file.hasPrefix(name + "-") else { return nil }
      var parts = file.dropFirst(name.count + 1).split(
        separator: ".", omittingEmptySubsequences: false)
      let time = parts.removeFirst().split(separator: "-", omittingEmptySubsequences: false)
      guard time.map(\.count) == digits, time.joined().allSatisfy({ "0"..."9" ~= $0 }) else {
        return nil
      }
      let shard = parts.first?.contains("of") == true ? String(parts.removeFirst()) : nil
      let end = parts.joined(separator: ".")
      guard end.hasPrefix("journal"), ["", "-wal", "-shm", ".lock"].contains(end.dropFirst(7))
      else {
        return nil
      }
      let path = "\(folder)/\(file)"
      return JournalFile(path: path, journal: String(path.dropLast(end.count - 7)), shard: shard)
    }
  }

  /// The paths of the existing journals, newest last.
  ///
  /// - Throws: ``JournalError`` if the folder cannot be read.
  public func all() throws -> [String] {
    try files().filter { $0.path == $0.journal && $0.shard == shard?.label }.map(\.path).sorted()
  }

  /// Opens the newest journal if `resumes`, and otherwise creates one.
  ///
  /// - Parameter now: The current time, in seconds since 1970.
  /// - Throws: ``JournalError``: there is nothing that the run could continue with.
  func open(resumes: Bool, at now: Double) throws -> Journal {
    do {
      try FileSink.makeFolder(of: folder + "/")
      guard (try? base.resolve(base.relative(folder))) != nil else {
        throw StoppedByStorage(message: "\(folder) lies outside of the manifest's folder")
      }
      if resumes, let newest = try all().last { return try Journal(path: newest) }
      var time = Int(max(now, 0) * 1000)
      // The newest journal must sort last even if the time of day was set back, or shards ran on other machines.
      let stamp = try newest()?.dropFirst("\(folder)/\(name)-".count).prefix { $0 != "." }
      if let stamp, let last = Self.milliseconds(of: String(stamp)) { time = max(time, last + 1) }
      let suffix = shard.map { ".\($0.label)" } ?? ""
      return try Journal(path: "\(folder)/\(name)-\(Self.stamp(of: time))\(suffix).journal")
    } catch let error as StoppedByStorage {
      throw JournalError("\(error.message); nothing was sent")
    }
  }

  /// The time in the name of a journal, in UTC: `20260119-173000-250`.
  ///
  /// - Parameter time: Milliseconds since 1970.
  static func stamp(of time: Int) -> String {
    var seconds = time / 1000
    var parts = tm()
    gmtime_r(&seconds, &parts)
    return String(
      format: "%04d%02d%02d-%02d%02d%02d-%03d", parts.tm_year + 1900, parts.tm_mon + 1,
      parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, Int32(time % 1000))
  }

  /// The milliseconds since 1970 of the time in a name; `nil` if it is none.
  static func milliseconds(of stamp: String) -> Int? {
    let fields = stamp.split(separator: "-")
    guard fields.map(\.count) == [8, 6, 3], let date = Int32(fields[0]),
      let time = Int32(fields[1]), let rest = Int(fields[2])
    else { return nil }
    var parts = tm()
    parts.tm_year = date / 10_000 - 1900
    parts.tm_mon = date / 100 % 100 - 1
    parts.tm_mday = date % 100
    parts.tm_hour = time / 10_000
    parts.tm_min = time / 100 % 100
    parts.tm_sec = time % 100
    return timegm(&parts) * 1000 + rest
  }
}

import Foundation

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
  func ledgerPaths() -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
      .filter { $0.hasPrefix(name + ".") && $0.hasSuffix(".outputs.json") }
      .sorted().map { "\(folder)/\($0)" }
  }

  /// The paths of the existing journals, newest last.
  public func all() -> [String] {
    let suffix = shard.map { ".\($0.label).journal" } ?? ".journal"
    return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
      .filter { $0.hasPrefix(name + "-") && $0.hasSuffix(suffix) }
      .filter { file in
        // Names are NAME-TIME.journal and NAME-TIME.SHARD.journal.
        let rest = file.dropFirst(name.count + 1).split(separator: ".")
        return rest.count == (shard == nil ? 2 : 3)
          && rest[0].allSatisfy { $0.isNumber || $0 == "-" }
      }
      .sorted().map { "\(folder)/\($0)" }
  }

  /// Opens the newest journal if `resumes`, and otherwise creates one.
  ///
  /// - Parameter now: The current time, in seconds since 1970.
  func open(resumes: Bool, at now: Double) throws -> Journal {
    try FileSink.makeFolder(of: folder + "/")
    guard (try? base.resolve(base.relative(folder))) != nil else {
      throw StoppedByStorage(message: "\(folder) lies outside of the manifest's folder")
    }
    let newest = all().last
    if resumes, let newest { return try Journal(path: newest) }
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "yyyyMMdd-HHmmss-SSS"
    var time = Date(timeIntervalSince1970: now)
    // The newest journal must sort last even if the time of day was set back.
    let stamp = newest?.dropFirst("\(folder)/\(name)-".count).prefix { $0 != "." }
    if let stamp, let last = formatter.date(from: String(stamp)) {
      time = max(time, last.addingTimeInterval(0.0015))
    }
    let suffix = shard.map { ".\($0.label)" } ?? ""
    return try Journal(path: "\(folder)/\(name)-\(formatter.string(from: time))\(suffix).journal")
  }
}

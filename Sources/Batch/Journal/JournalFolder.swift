import Foundation

/// The folder with the journals of a manifest.
public struct JournalFolder {
  let folder: String
  let name: String
  let base: OutputPath
  let shard: Shard?

  public init(_ manifest: Manifest, shard: Shard? = nil) {
    folder = manifest.settings.journalFolder
    name = manifest.name.map { $0.isLetter || $0.isNumber ? String($0) : "-" }.joined()
    base = OutputPath(folder: manifest.folder)
    self.shard = shard
  }

  /// The list of the files that earlier runs have written.
  var ledgerPath: String {
    "\(folder)/\(name)\(shard.map { ".\($0.label)" } ?? "").outputs.json"
  }

  /// The journals there are, the newest last.
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

  /// The newest journal, or a new one.
  ///
  /// - Parameter now: The time of day, in seconds since 1970.
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
    // The newest is the one with the last name, also when the time of day was set back.
    let stamp = newest?.dropFirst("\(folder)/\(name)-".count).prefix { $0 != "." }
    if let stamp, let last = formatter.date(from: String(stamp)) {
      time = max(time, last.addingTimeInterval(0.0015))
    }
    let suffix = shard.map { ".\($0.label)" } ?? ""
    return try Journal(path: "\(folder)/\(name)-\(formatter.string(from: time))\(suffix).journal")
  }
}

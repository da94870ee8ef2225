import Foundation
package import GQLRunJSON
import GQLRunSupport

/// The state of a run at one moment, read from its journal without the manifest, for `gqlrun inspect`.
package enum RunSnapshot {
  /// The number of tasks in the waterfall.
  private static let maxTasks = 60
  private static let maxReasons = 50

  /// Whether the file at `path` is a journal.
  package static func isJournal(_ path: String) -> Bool {
    (try? Journal(path: path, isReadOnly: true)) != nil
  }

  /// The journal in a folder that was written last; `nil` if it has none.
  package static func newestJournal(in folder: String) -> String? {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let files = names.filter { $0.hasSuffix(".journal") }.map { name in
      // A journal that is written grows in its log first.
      let path = "\(folder)/\(name)"
      let file = FilePath.withoutLinks(path) ?? path
      let times = ["", "-wal"].compactMap { FilePath.status(of: file + $0)?.st_mtim }
        .map { ($0.tv_sec, $0.tv_nsec) }
      return (path: path, time: times.max(by: <) ?? (0, 0))
    }
    return files.max { ($0.time.0, $0.time.1, $0.path) < ($1.time.0, $1.time.1, $1.path) }?.path
  }

  /// The figures of the JSON report, with progress, waterfall and reasons of failures.
  ///
  /// - Parameter path: The path of the journal, which a run may be writing.
  /// - Throws: ``JournalError`` if the journal cannot be read.
  package static func json(journal path: String) throws -> JSONObject {
    let journal = try Journal(path: path, isReadOnly: true)
    let name = (path as NSString).lastPathComponent
    let data = try ReportData(journal, name: name, file: path)
    var object = data.json([]).objectValue ?? JSONObject()
    for key in ["failed", "slowest", "missed_thresholds", "manifest"] { object[key] = nil }
    object["ended"] = .boolean(try journal.hasEnded())
    object["state"] = .string(try journal.runState())
    // The number that the manifest has, of which the journal may not have all yet.
    let total = try journal.meta("total").flatMap { Int($0) }
    object["total"] = .number(JSONNumber(max(total ?? 0, data.counts.total)))
    object["done"] = .number(JSONNumber(data.counts.ended))
    object["throughput"] = .array(
      data.throughput.map {
        .array([.number(JSONNumber($0.done)), .number(JSONNumber($0.failed))])
      }
    )
    object["waterfall"] = .array(
      try ReportData.tasks(
        journal, "attempts > 0 AND ended > 0 ORDER BY ended DESC LIMIT \(maxTasks)"
      ).map { task(in: data, $0) })
    let reasons = try FailureReasons(journal, keyed: nil)
    object["reasons"] = .array(reasons.all.prefix(maxReasons).map(reason))
    object["other_reasons"] = .number(JSONNumber(max(reasons.all.count - maxReasons, 0)))
    return object
  }

  private static func task(in data: ReportData, _ task: ReportedTask) -> JSONValue {
    [
      "op": .string(task.operation), "key": .string(task.key), "state": .string(task.state.name),
      "start": .thousandths(
        data.first.isFinite ? max(task.ended - data.first - task.milliseconds / 1000, 0) : 0),
      "seconds": .thousandths(task.milliseconds / 1000),
      "attempts": .number(JSONNumber(task.attempts)),
      "http": task.http.map { .number(JSONNumber($0)) } ?? .null,
    ]
  }

  private static func reason(_ reason: FailureReason) -> JSONValue {
    [
      "state": .string(reason.state.name), "op": .string(reason.operation),
      "message": .string(FailureReason.excerpt(of: reason.message)),
      "count": .number(JSONNumber(reason.count)), "first": .string(reason.first),
      "http": reason.http.map { .number(JSONNumber($0)) } ?? .null,
    ]
  }
}

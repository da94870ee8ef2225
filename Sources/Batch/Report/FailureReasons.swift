import Foundation
import GQLRunJSON
import GQLRunSupport
import Histogram

/// A reason for which tasks of one operation failed, were skipped, or ended in an unknown state.
public struct FailureReason: Sendable, Equatable {
  /// The state of the tasks: failed, unknown or skipped.
  public var state: TaskState
  /// The error of the first of the tasks.
  public var message: String
  /// The number of tasks.
  public var count: Int
  /// The operation's id.
  public var operation: String
  /// The first of the tasks: its key, or `row 17` if the manifest declares no key. Empty for an
  /// operation without rows.
  public var first: String
  /// The HTTP status of the responses; `nil` if there were none.
  public var http: Int?
  /// When the last of the tasks ended, in seconds since 1970; 0 if it is not known, because the run was killed.
  public var lastEnded: Double
  /// The keys of tasks in an unknown state, by which ``TaskResolution`` names them; for other states empty.
  /// At most ``FailureReasons/maxKeys`` in all reasons.
  public var keys: [String] = []
  /// Whether a connection of the tasks has more pages than were requested.
  public var isIncomplete: Bool {
    state == .failed && message.hasPrefix(CompletenessCheck.prefix)
  }
}

/// The distinct reasons of failed tasks, in the order of their first task.
///
/// Messages that differ only in the key of the task, in quoted text or in numbers are one reason.
public struct FailureReasons: Sendable {
  /// The reasons; at most ``most``.
  public private(set) var all: [FailureReason] = []
  /// The number of failed tasks with other reasons than those in ``all``.
  public private(set) var others = 0
  /// The number of tasks in an unknown state, of all reasons.
  public private(set) var unknown = 0
  /// The maximum number of reasons, which bounds the memory.
  public static let most = 1_000
  /// The maximum number of keys, which bounds the memory.
  public static let maxKeys = 10_000

  private struct Identity: Hashable {
    var operation: String
    var state: TaskState
    var http: Int?
    var shape: String
  }

  /// Reads the reasons from a journal.
  ///
  /// - Parameter start: Leaves out tasks that ended until then, in seconds since 1970; `nil` reads all. Mutations that a
  ///   killed run sent have no end.
  init(_ journal: Journal, _ manifest: Manifest, since start: Double? = nil) throws {
    try self.init(
      journal, keyed: Set(manifest.operations.filter { $0.key != nil }.map(\.id)), since: start)
  }

  /// - Parameter hasKey: The ids of the operations that declare a key; `nil` if it is not known.
  init(_ journal: Journal, keyed hasKey: Set<String>?, since start: Double? = nil) throws {
    var indices: [Identity: Int] = [:]
    var found = self
    var keys = 0
    let states = [TaskState.failed, .unknown, .skipped].map { "\($0.rawValue)" }
    try ReportData.forEachTask(
      journal,
      where:
        "state IN (\(states.joined(separator: ","))) AND ended > \(start ?? -1) ORDER BY tasks.rowid"
    ) { task in
      let (name, key, state, message) = (
        task.operation, task.key, task.state, task.error ?? "failed"
      )
      if state == .unknown { found.unknown += 1 }
      let identity = Identity(
        operation: name, state: state, http: task.http, shape: Self.shape(message, key: key))
      if let index = indices[identity] {
        found.all[index].count += 1
        found.all[index].lastEnded = max(found.all[index].lastEnded, task.ended)
      } else if found.all.count < Self.most {
        indices[identity] = found.all.count
        let isNumber = hasKey.map { !$0.contains(name) } ?? false && Int(key) != nil
        found.all.append(
          FailureReason(
            state: state, message: message, count: 1, operation: name,
            first: isNumber ? "row \(key)" : key, http: task.http, lastEnded: task.ended))
      } else {
        found.others += 1
      }
      if state == .unknown, keys < Self.maxKeys, let index = indices[identity] {
        keys += 1
        found.all[index].keys.append(key.isEmpty ? name : key)
      }
    }
    self = found
  }

  /// A message without the parts that differ from task to task.
  static func shape(_ message: String, key: String) -> String {
    var shape = ""
    var rest = message[...]
    while let first = rest.first {
      if first == "\"", let end = rest.dropFirst().firstIndex(of: "\"") {
        shape += "\"\""
        rest = rest[rest.index(after: end)...]
      } else if Self.isWord(first) {
        let word = rest.prefix(while: isWord)
        rest = rest[word.endIndex...]
        let isValue = word == key || word.allSatisfy(\.isNumber) || Self.isIdentifier(word)
        shape += isValue ? "#" : word
      } else {
        shape.append(first)
        rest = rest.dropFirst()
      }
    }
    return shape
  }

  private static func isWord(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_" || character == "-"
  }

  /// Whether a word is a long one with digits, such as a UUID or a hash.
  private static func isIdentifier(_ word: Substring) -> Bool {
    word.utf8.count >= 16 && word.contains(where: \.isNumber)
  }
}

extension FailureReasons {
  /// What a user does about tasks in an unknown state.
  ///
  /// - Parameter manifest: The path of the manifest.
  public static func advice(_ manifest: String) -> String {
    let resolve = "gqlrun batch resolve \(QuotedText.shellPath(manifest))"
    return
      "look on the server whether it executed them, then run `\(resolve) --done KEY…` for those "
      + "that it did, and `\(resolve) --retry KEY…` for the others"
  }

  /// The reasons as JSON: an array with an object for each reason.
  ///
  /// - Parameter manifest: The path of the manifest, for the advice about tasks in an unknown state.
  public func json(_ manifest: String) -> String {
    let reasons = all.map { reason -> JSONValue in
      var object: JSONObject = ["reason": .string(reason.message)]
      object["count"] = .number(JSONNumber(reason.count))
      object["operation"] = .string(reason.operation)
      object["first"] = .string(reason.first)
      object["state"] = .string(reason.state.name)
      if reason.isIncomplete { object["incomplete"] = true }
      if let http = reason.http { object["http"] = .number(JSONNumber(http)) }
      if reason.lastEnded > 0 { object["last"] = .string(reason.lastTime) }
      if reason.state == .unknown {
        object["keys"] = .array(reason.keys.map { .string($0) })
        object["advice"] = .string(FailureReasons.advice(manifest))
      }
      return .object(object)
    }
    return JSONValue.array(reasons).jsonText(pretty: true) + "\n"
  }
}

extension FailureReason {
  /// The beginning of a message on one line, as reports and lists show it.
  package static func excerpt(of message: String) -> String {
    let line = message.replacing("\n", with: " ")
    return line.count > maxShown ? line.prefix(maxShown) + "…" : line
  }

  /// The maximum length of an excerpt, in characters.
  private static let maxShown = 300

  /// ``lastEnded`` in UTC, such as `2026-03-01T12:00:00Z`; empty if it is not known.
  public var lastTime: String {
    guard lastEnded > 0 else { return "" }
    return Date(timeIntervalSince1970: lastEnded).formatted(.iso8601)
  }
}

/// A histogram of latencies with a relative error of one percent, in a few kilobytes.
struct LatencyHistogram: Sendable {
  /// In units of 0.01 ms.
  private var histogram = Histogram<UInt32>(numberOfSignificantValueDigits: .two)

  var count: Int { Int(histogram.totalCount) }
  var mean: Double { count == 0 ? 0 : histogram.mean / 100 }
  /// The highest latency, in milliseconds.
  private(set) var maximum = 0.0

  mutating func add(milliseconds: Double) {
    // Latencies above one day count as one day, except in `maximum`.
    histogram.record(UInt64(min(max(milliseconds, 0), 86_400_000) * 100))
    maximum = max(maximum, milliseconds)
  }

  /// The latency in milliseconds that the given share of samples, from 0 to 1, does not exceed.
  func quantile(_ share: Double) -> Double {
    count == 0 ? 0 : min(Double(histogram.valueAtPercentile(share * 100)) / 100, maximum)
  }

  /// The non-empty buckets: upper bounds in milliseconds, and counts.
  var buckets: [(bound: Double, count: Int)] {
    histogram.recordedValues().map { (Double($0.value) / 100, Int($0.count)) }
  }
}

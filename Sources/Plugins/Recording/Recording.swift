import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

/// A recording: a file with one JSON line per exchange, in the order in which they ended.
///
/// Equal requests are answered in recorded order; the last answer is repeated.
///
/// Sendable: mutable state is only accessed with `lock` held.
final class Recording: @unchecked Sendable {
  /// The error of a recording that cannot answer a request.
  struct Failure: Error, Sendable, CustomStringConvertible {
    var message: String

    var description: String { message }
  }

  private static let header = #"{"gqlrun_recording":1}"#
  /// The largest file that is read, in bytes.
  private static let maximumBytes = 1 << 30

  private let path: String
  private let lock = NSLock()
  /// Whether the first exchange replaces the file.
  private var isNew: Bool
  private var isLoaded = false
  private var answers: [String: [RecordedAnswer]] = [:]
  private var given: [String: Int] = [:]
  /// The recorded requests by operation, for messages.
  private var questions: [String: [RecordedQuestion]] = [:]

  init(path: String, isNew: Bool) {
    self.path = path
    self.isNew = isNew
  }

  /// The next answer to a request; `nil` if the recording has none.
  func answer(to question: RecordedQuestion) throws -> RecordedAnswer? {
    try lock.withLock {
      try load()
      guard let known = answers[question.key], let last = known.last else { return nil }
      let number = given[question.key, default: 0]
      given[question.key] = number + 1
      return number < known.count ? known[number] : last
    }
  }

  /// The reason why there is no answer.
  func missing(_ question: RecordedQuestion) throws -> Failure {
    try lock.withLock {
      try load()
      let remedy = "; record it with the option `mode: auto`, or all anew with `mode: record`"
      guard let others = questions[question.operation], let other = others.last else {
        let names = questions.keys.sorted().prefix(10).joined(separator: ", ")
        return Failure(
          message: "\(path) has no \(question.operation)"
            + (names.isEmpty ? ", and nothing else" : "; it has \(names)") + remedy)
      }
      let differing = ["query", "variables", "operationName", "extensions"].filter {
        other.body[$0] != question.body[$0]
      }
      let what =
        differing.isEmpty && other.method != question.method
        ? "method" : differing.joined(separator: " and ")
      return Failure(
        message: "\(path) has \(question.operation) with "
          + (what.isEmpty ? "another body" : "other \(what)") + remedy)
    }
  }

  /// Appends an exchange.
  func add(_ question: RecordedQuestion, _ answer: RecordedAnswer) throws {
    var line = JSONObject()
    line["operation"] = .string(question.operation)
    line["request"] = .object(["method": .string(question.method), "body": question.body])
    line["response"] = answer.json
    let bytes = JSONValue.object(line).jsonBytes() + [UInt8(ascii: "\n")]
    try lock.withLock {
      let exists = FileManager.default.fileExists(atPath: path)
      if isNew || !exists {
        try PrivateFile.write(Array("\(Self.header)\n".utf8) + bytes, to: path)
        isNew = false
      } else {
        try PrivateFile.append(bytes, to: path)
      }
      note(question, answer)
      // The server has just answered this request.
      given[question.key, default: 0] += 1
    }
  }

  private func note(_ question: RecordedQuestion, _ answer: RecordedAnswer) {
    answers[question.key, default: []].append(answer)
    questions[question.operation, default: []].append(question)
  }

  private func load() throws {
    guard !isLoaded else { return }
    let bytes: [UInt8]?
    do {
      bytes = try PrivateFile.read(path, limit: Self.maximumBytes)
    } catch {
      throw Failure(message: "\(error)")
    }
    isLoaded = true
    guard let bytes else { return }
    for (index, line) in bytes.split(separator: UInt8(ascii: "\n")).enumerated() {
      let value = try? JSONValue(parsing: Array(line))
      if index == 0 {
        guard value?["gqlrun_recording"]?.intValue == 1 else {
          isLoaded = false
          throw Failure(message: "\(path) is not a recording of gqlrun; name another file")
        }
        continue
      }
      guard let value, let question = RecordedQuestion(value),
        let answer = value["response"].flatMap({ RecordedAnswer($0) })
      else {
        isLoaded = false
        throw Failure(
          message: "\(path):\(index + 1): this line is no exchange; record it anew with the option "
            + "`mode: record`")
      }
      note(question, answer)
    }
  }
}

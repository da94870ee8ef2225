import Foundation
import GQLRunJSON
import GQLRunSupport
import GRDB

@testable import GQLRunBatch
@testable import GQLRunConfiguration
@testable import GQLRunPlugins

/// Templates, expansions, conditions and paths: what is parsed prints as it was written, and its values are those of a
/// replacement of names in the text.
@Sendable func fuzzTemplates(_ input: FuzzInput) throws {
  let (first, second) = input.parts
  let text = String(decoding: first, as: UTF8.self)
  let facts = (try? JSONValue(parsing: Array(second))) ?? sampleFacts
  checkTemplate(text, facts)
  checkExpansion(text)
  if let path = ResultPath(text) { checkPath(path, facts) }
  if let condition = BatchCondition(text) { checkCondition(condition, facts) }
}

private let sampleFacts: JSONValue = [
  "errors": .null, "a": ["b": [1, 2.5, "x", .null, ["c": true]]], "data": ["a": ["b": []]],
  "p95_ms": 7, "op": "users",
]

private func checkTemplate(_ text: String, _ facts: JSONValue) {
  guard let template = try? TextTemplate(text) else { return }
  var written = ""
  for part in template.parts {
    switch part {
    case .text(let text): written += text
    case .reference(let reference): written += "{{\(reference)}}"
    }
  }
  let again = outcome { try TextTemplate(written) }
  guard let other = try? again.get() else { fail("\(written) is refused: \(again)") }
  expectEqual(other.references, template.references, of: "the references of \(written)")
  if template.references.isEmpty { expectEqual(template.constant, text, of: "the constant") }
  var scope = Scope(
    row: Row(number: 1, content: .values(facts.objectValue ?? JSONObject())), operation: "users")
  scope.state = facts.objectValue ?? JSONObject()
  scope.key = "k"
  let value = outcome { try template.text(in: scope) }
  let isComplete = template.references.allSatisfy {
    if case .absent = scope.find($0) { false } else { true }
  }
  expectEqual((try? value.get()) != nil, isComplete, of: "the values of \(written)")
}

/// `$$` is a dollar, and an expansion that is written again is the same one.
private func checkExpansion(_ text: String) {
  let escaped = outcome { try Expansion(text.replacing("$", with: "$$")) }
  guard let literal = try? escaped.get() else { fail("escaped text is refused: \(escaped)") }
  expectEqual(written(literal), text.replacing("$", with: "$$"), of: "escaped text")
  expect(literal.isLiteral, "an expansion in escaped text")
  guard let expansion = try? Expansion(text) else { return }
  let again = written(expansion)
  let other = outcome { try Expansion(again) }
  guard let other = try? other.get() else { fail("\(again) is refused: \(other)") }
  expectEqual(written(other), again, of: "written again")
}

private func written(_ expansion: Expansion) -> String {
  expansion.parts.map { part in
    switch part {
    case .text(let text): text.replacing("$", with: "$$")
    case .variable(let name, let fallback): "${env:\(name)\(fallback.map { ":-\($0)" } ?? "")}"
    case .context(let name, let fallback): "${context:\(name)\(fallback.map { ":-\($0)" } ?? "")}"
    case .file(let path): "${file:\(path)}"
    case .command(let command): "${exec:\(command)}"
    }
  }.joined()
}

private func checkPath(_ path: ResultPath, _ facts: JSONValue) {
  expectEqual(ResultPath(path.description)?.steps, path.steps, of: "the path \(path)")
  let values = path.values(in: facts)
  if case .value(let value) = path.look(in: facts) {
    expect(values.contains(value) || value.isNull, "the value of a look at \(path)")
  }
}

private func checkCondition(_ condition: BatchCondition, _ facts: JSONValue) {
  _ = condition.mismatch(in: facts)
  expect(condition.found(in: facts).count <= 80, "a long value")
  var other = condition
  switch condition.comparison {
  case .equal, .notEqual:
    other.comparison = condition.comparison == .equal ? .notEqual : .equal
    let (holds, otherHolds) = (condition.holds(for: facts), other.holds(for: facts))
    // Of several values, some may be equal and others not.
    let isSingle = condition.paths.allSatisfy { !$0.steps.contains(.each) }
    expect(
      isSingle ? holds != otherHolds : !(holds && otherHolds), "\(condition) and its opposite")
  case .less, .greater:
    other.comparison = condition.comparison == .less ? .greaterOrEqual : .lessOrEqual
    expect(
      !(other.holds(for: facts) && condition.holds(for: facts)), "\(condition) and its opposite")
  case .lessOrEqual, .greaterOrEqual: _ = condition.holds(for: facts, whole: 7)
  }
}

/// Journals with changed bytes: opened, read, reported, resolved or merged, by the decision; an error is one of the journal.
@Sendable func fuzzJournals(_ input: FuzzInput) throws {
  var input = input
  let uses = [
    inspectJournal, compareJournals, reportJournal, readJournal, writeJournal, resolveJournal,
    mergeJournal,
  ]
  let use = uses[Int(input.decide()) % uses.count]
  let path = "\(ScratchFolder.path)/damaged.journal"
  for end in ["-wal", "-shm", "-journal", ".lock"] { unlink(path + end) }
  try Data(edited(JournalFixture.bytes, input)).write(to: URL(fileURLWithPath: path))
  do {
    try use(path)
  } catch is JournalError {
  } catch is StoppedByStorage {
  } catch {
    fail("an error of another type: \(type(of: error)): \(error)")
  }
}

private func inspectJournal(_ path: String) throws {
  _ = try RunSnapshot.json(journal: path)
  let run = try RunInspection(JournalFixture.manifest, journal: path)
  _ = try run.status()
  _ = try JSONValue(parsing: run.statusJSON())
  _ = try run.report()
  _ = try run.failureReasons().json("m.yaml")
}

private func compareJournals(_ path: String) throws {
  _ = try RunDiff(JournalFixture.manifest, from: JournalFixture.path, to: path).text
  _ = try RunDiff(JournalFixture.manifest, from: path, to: JournalFixture.path).text
}

private func reportJournal(_ path: String) throws {
  let journal = try Journal(path: path, isReadOnly: true)
  defer { journal.close() }
  let data = try ReportData(journal, manifest: JournalFixture.manifest)
  _ = try data.page(JournalFixture.manifest)
  try data.writeJUnit(to: "\(ScratchFolder.path)/junit.xml")
}

private func readJournal(_ path: String) throws {
  let journal = try Journal(path: path, isReadOnly: true)
  defer { journal.close() }
  try journal.forEachTask { _, _ in }
  _ = try (journal.bookmarks(), journal.hasFinished(), journal.sinks(), journal.outputs())
  for operation in [1, 2] {
    _ = try journal.captures(operation: operation, key: "k1")
    _ = try journal.captures(operation: operation, after: nil, limit: 5)
    _ = try journal.isComplete(operation: operation)
  }
  _ = try journal.operationsWithResults()
}

private func writeJournal(_ path: String) throws {
  let journal = try Journal(path: path)
  defer { journal.close() }
  for number in 0..<4 { _ = try journal.task(JournalFixture.id(UInt8(number))) }
  _ = try journal.identity()
  _ = try journal.register(["users", "new"])
  try journal.record(JournalFixture.step)
}

private func resolveJournal(_ path: String) throws {
  _ = try TaskResolution(.retry, of: .unknown, user: "a@b", time: 1_750_000_000)
    .apply(to: JournalFixture.manifest, journal: path)
}

private func mergeJournal(_ path: String) throws {
  let all = try Journal(path: "\(ScratchFolder.path)/all.journal")
  defer { all.close() }
  _ = try all.register(["users", "posts"])
  try all.write { try $0.execute(sql: "DELETE FROM tasks; DELETE FROM cursors") }
  try all.add(tasksOf: path)
}

/// The bytes with edits: each a position of three bytes, and a byte.
func edited(_ bytes: [UInt8], _ input: FuzzInput) -> [UInt8] {
  var bytes = bytes
  var edits = input.bytes[...]
  while edits.count >= 4 {
    let edit = Array(edits.prefix(4)).map { Int($0) }
    edits = edits.dropFirst(4)
    bytes[(edit[0] << 16 | edit[1] << 8 | edit[2]) % bytes.count] = UInt8(edit[3])
  }
  return bytes
}

/// A journal with rows in each of its tables, and its manifest.
private enum JournalFixture {
  static let path = "\(ScratchFolder.path)/original.journal"

  static let manifest: Manifest = {
    let yaml = """
      version: 1
      endpoint: http://127.0.0.1:9/
      operations:
        - { id: users, query: "query Q { a }" }
        - { id: posts, query: "query P { a }", needs: [users] }
      """
    let loaded = outcome {
      try ManifestLoader.load(
        Array(yaml.utf8), path: "\(ScratchFolder.path)/m.batch.yaml", registry: .builtIn,
        environment: PipelineFileEnvironment())
    }
    guard let loaded = try? loaded.get() else { fail("\(loaded)") }
    return loaded.manifest
  }()

  static func id(_ number: UInt8) -> TaskID { TaskID((0..<16).map { $0 ^ number }) }

  static let step: JournalStep = {
    var step = JournalStep()
    for (index, state) in TaskState.allCases.enumerated() {
      step.add(
        TaskUpdate(
          id: id(UInt8(index)), operation: 1 + index % 2, key: "k\(index)", state: state,
          page: index,
          attempts: 1, http: 200, ended: 1_750_000_000 + Double(index), milliseconds: 12.5,
          bytes: 100, records: 2, cursor: "cursor",
          error: index % 2 == 0 ? nil : "HTTP 500 at \(index)"))
    }
    step.captures = [(1, "k1", #"{"id":1}"#)]
    step.bookmarks = ["since": (1, "2026-01-01")]
    step.sinks = [
      SinkPosition(path: "out.ndjson", position: 120, records: 3, checksum: Checksum(7))
    ]
    step.gaps = [
      EventGap(
        operation: 1, key: "k1", events: 3, since: 1_750_000_000.25, until: 1_750_000_009,
        cause: "the connection was closed")
    ]
    step.keys = [
      RowKeys.Key(operation: 1, table: "users", key: UTF8Text("1"), parent: UTF8Text(""))
    ]
    return step
  }()

  static let bytes: [UInt8] = {
    do {
      let journal = try Journal(path: path)
      _ = try journal.register(["users", "posts"])
      try journal.register([
        OutputRecord(path: "out.ndjson", format: "ndjson", takes: ["users": "records"])
      ])
      try journal.record(step)
      try journal.set(["total": "6", "started": "1750000000", "ended": "1750000009", "stop": ""])
      journal.close()
      return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    } catch { fail("\(error)") }
  }()
}

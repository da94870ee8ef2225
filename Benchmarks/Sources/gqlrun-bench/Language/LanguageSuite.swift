import Foundation
import GQLRunLanguage

/// Measures the GraphQL language: reading, building, printing and comparing a schema, checking
/// operations against it, and how the time grows with documents that are made to be hard.
///
/// Everything happens in this process: every round runs every row once, and the first round, in which
/// nothing is warm yet, is told apart.
struct LanguageSuite {
  let options: LanguageOptions

  func run() throws {
    let source = try schemaSource()
    let schema = try Schema(sdl: Document(parsingUTF8: source.bytes))
    let operations = OperationWriter(schema).operations(options.operations)
    print(
      "\n\(source.name): \((Double(source.bytes.count) / 1e6).text(2)) MB, "
        + "\(schema.typeNames.count) types; \(operations.count) operations of "
        + "\(operations.map(\.utf8.count).reduce(0, +) / max(operations.count, 1)) bytes; ms")
    printTable(try measure(try LanguageRow.all(source.bytes, schema, operations)))
    try GrowthSuite(rounds: options.rounds).run()
  }

  private func schemaSource() throws -> (name: String, bytes: [UInt8]) {
    guard let path = options.schema else {
      return ("generated schema", Array(SchemaWriter.schema(types: 3_000).utf8))
    }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw BenchError("cannot read the schema \(path)")
    }
    return ((path as NSString).lastPathComponent, Array(data))
  }

  private struct Result {
    var row: LanguageRow
    var first: Double
    var rounds: Spread
    var cpu: Spread
  }

  private func measure(_ rows: [LanguageRow]) throws -> [Result] {
    var times = rows.map { _ in [LanguageTime]() }
    for _ in 0...options.rounds {
      for (index, row) in rows.enumerated() { times[index].append(try row.time()) }
    }
    return zip(rows, times).map { row, times in
      Result(
        row: row, first: times[0].seconds, rounds: Spread(times.dropFirst().map(\.seconds)),
        cpu: Spread(times.dropFirst().map(\.cpuSeconds)))
    }
  }

  private func printTable(_ results: [Result]) {
    print(
      "  " + "".padded(48) + "median".leftPadded(9) + "middle half".leftPadded(16)
        + "cpu".leftPadded(9) + "first".leftPadded(9) + "goal".leftPadded(7))
    for result in results {
      let (rounds, goal) = (result.rounds, result.row.goal)
      print(
        "  " + result.row.title.padded(48) + (rounds.median * 1e3).text(2).leftPadded(9)
          + "\((rounds.low * 1e3).text(2))…\((rounds.high * 1e3).text(2))".leftPadded(16)
          + (result.cpu.median * 1e3).text(2).leftPadded(9)
          + (result.first * 1e3).text(2).leftPadded(9)
          + (goal.map { ($0 * 1e3).text(0) } ?? "").leftPadded(7)
          + (goal.map { rounds.median > $0 ? "  misses" : "" } ?? ""))
    }
  }
}

/// What `gqlrun-bench language` was asked for.
struct LanguageOptions {
  /// A file with type definitions; without one, the benchmark makes its own.
  var schema: String?
  var rounds = 15
  var operations = 1_000

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      guard let value = rest.popFirst() else {
        throw BenchError("\(name) needs a value\n\(Command.usage)", isUsage: true)
      }
      switch name {
      case "--schema": schema = value
      case "--rounds": rounds = try Options.number(value, of: name)
      case "--operations": operations = try Options.number(value, of: name)
      default: throw BenchError("there is no option \(name)\n\(Command.usage)", isUsage: true)
      }
    }
  }
}

/// How long something took, by the clock and by the processor.
struct LanguageTime {
  var seconds: Double
  var cpuSeconds: Double

  static func measure(_ work: () throws -> Void) rethrows -> LanguageTime {
    let cpu = Measurement.ownCPUSeconds()
    let start = ContinuousClock.now
    try work()
    return LanguageTime(
      seconds: (ContinuousClock.now - start).seconds,
      cpuSeconds: Measurement.ownCPUSeconds() - cpu)
  }
}

/// One thing that is done with a schema, and how long it may take.
struct LanguageRow {
  var title: String
  /// In seconds, for GitHub's schema of 1.2 MB.
  var goal: Double?
  /// Does the work; what comes out of it, so that the work is not left out.
  private var work: () throws -> Int

  private init(_ title: String, goal: Double? = nil, _ work: @escaping () throws -> Int) {
    self.title = title
    self.goal = goal
    self.work = work
  }

  func time() throws -> LanguageTime {
    var result = 0
    let time = try LanguageTime.measure { result = try work() }
    guard result > 0 else { throw BenchError("\(title): nothing came out of it") }
    return time
  }

  static func all(
    _ bytes: [UInt8], _ schema: Schema, _ operations: [String]
  ) throws -> [LanguageRow] {
    let document = try Document(parsingUTF8: bytes)
    let introspection = schema.introspection
    let parsed = try operations.map { try Document(parsing: $0) }
    return [
      LanguageRow("parse + build + validate the schema", goal: 0.15) {
        try Schema(sdl: Document(parsingUTF8: bytes)).typeNames.count
      },
      LanguageRow("  parse") { try Document(parsingUTF8: bytes).definitions.count },
      LanguageRow("  build + validate") { try Schema(sdl: document).typeNames.count },
      LanguageRow("print the schema") { schema.printed().utf8.count },
      LanguageRow("print the document, as it was written") { document.printed().utf8.count },
      LanguageRow("schema -> introspection") {
        if case .object(let members) = schema.introspection { members.count } else { 0 }
      },
      LanguageRow("introspection -> schema") {
        try Schema(introspection: introspection).typeNames.count
      },
      LanguageRow("compare the schema with itself") {
        schema.changes(from: schema).isEmpty ? 1 : 0
      },
      LanguageRow("parse \(operations.count) operations") {
        try operations.reduce(0) { try $0 + Document(parsing: $1).definitions.count }
      },
      LanguageRow("validate \(operations.count) operations") {
        try parsed.reduce(0) { count, operation in
          let errors = operation.validate(against: schema)
          guard errors.isEmpty else { throw BenchError("an operation is not valid: \(errors[0])") }
          return count + 1
        }
      },
    ]
  }
}

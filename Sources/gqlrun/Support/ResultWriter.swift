import GQLRunCache
import GQLRunJSON
import GQLRunPipeline

/// Writes results as JSON, compact or indented, to standard output or a file.
final class ResultPrinter {
  private let destination: Destination
  private let isPretty: Bool
  /// Whether the results are the elements of one array.
  private let isArray: Bool
  private let filter: JQFilter?
  private var printer = JSONPrettyPrinter()
  /// Asked once: the answer depends on the environment, whose variables Foundation copies each time.
  private let isColored: Bool
  private var colors: JSONColors?
  private var isEmpty = true
  /// Whether results were written, all of them completely.
  private(set) var hasResults = false
  /// What is not written yet, so that a result is one write.
  private var pending: [UInt8] = []
  /// The most bytes that wait to be written, and of a piece that is copied.
  private static let maxPending = 64 << 10

  private enum Destination {
    case output
    case file(OutputFile)

    var isOutput: Bool { if case .output = self { true } else { false } }
  }

  /// - Parameters:
  ///   - isArray: Whether the results are the elements of one array.
  ///   - path: The file to write; `nil` is standard output.
  ///   - form: The form of files that may be replaced.
  ///   - filter: Replaces each result by its outputs.
  init(
    isPretty: Bool, isArray: Bool = false, path: String? = nil,
    replacing form: OutputForm = .result,
    filter: JQFilter? = nil
  ) throws {
    self.isPretty = isPretty
    self.isArray = isArray
    self.filter = filter
    destination = try path.map { .file(try OutputFile($0, replacing: form)) } ?? .output
    isColored = destination.isOutput && Terminal.colorsOutput
    restart()
  }

  /// Prints one result on standard output.
  static func print(_ json: String, isPretty: Bool) throws {
    let printer = try ResultPrinter(isPretty: isPretty)
    try printer.write { try Array(json.utf8).withUnsafeBytes($0) }
    try printer.finish()
  }

  /// Writes one result, followed by a line end. `pieces` passes its chunks to the given closure.
  ///
  /// - Throws: ``Failure`` if the filter fails on the result.
  func write(_ pieces: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws {
    guard let filter else { return try writeJSON(pieces) }
    try pieces { try filter.add($0) }
    try filter.forEachOutput { output in
      switch output {
      case .json(let text): try writeJSON { try Array(text.utf8).withUnsafeBytes($0) }
      case .text(let text): try write(text + "\n")
      }
    }
  }

  private func writeJSON(_ pieces: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws
  {
    if isArray { try append(isEmpty ? "[" : ",") }
    isEmpty = false
    try pieces { try append($0) }
    if isArray { try flush() } else { try endLine() }
  }

  private func append(_ text: String) throws {
    try Array(text.utf8).withUnsafeBytes { try append($0) }
  }

  private func append(_ piece: UnsafeRawBufferPointer) throws {
    if isPretty {
      printer.append(piece, to: &pending)
    } else if piece.count < Self.maxPending {
      pending.append(contentsOf: piece)
    } else {
      try flush()
      try put(piece, &colors)
    }
    if pending.count >= Self.maxPending { try flush() }
  }

  private func flush() throws {
    guard !pending.isEmpty else { return }
    defer { pending.removeAll(keepingCapacity: true) }
    try pending.withUnsafeBytes { try put($0, &colors) }
  }

  private func endLine() throws {
    if !isColored { pending.append(UInt8(ascii: "\n")) }
    try flush()
    restart()
    if isColored { try write("\n") }
  }

  /// Prepares for the next JSON text.
  private func restart() {
    printer = JSONPrettyPrinter()
    colors = isColored ? JSONColors() : nil
  }

  /// Writes text as it is.
  func write(_ text: String) throws {
    var colors: JSONColors?
    try Array(text.utf8).withUnsafeBytes { try put($0, &colors) }
  }

  /// Completes the array and the output file.
  func finish() throws {
    if isArray {
      try append(isEmpty ? "[]" : "]")
      try endLine()
    }
    if case .file(let file) = destination { try file.finish() }
  }

  /// Closes an array on standard output after an error, so that what was written is valid JSON. A file keeps
  /// its earlier contents.
  func abandon() {
    guard isArray, !isEmpty, destination.isOutput else { return }
    // The error that ended the results is reported, not one of a closed output.
    try? append("]")
    try? endLine()
  }

  private func put(_ bytes: UnsafeRawBufferPointer, _ colors: inout JSONColors?) throws {
    hasResults = false
    switch destination {
    case .output: try Terminal.write(bytes, colors: &colors)
    case .file(let file): try file.write(bytes)
    }
    hasResults = true
  }
}

/// The lines that `gqlrun run --incremental` prints: one JSON object for each part of a response.
struct PartLines {
  /// The number of errors of the current response that were printed.
  private var errors = 0

  /// - Parameters:
  ///   - response: The result of the part.
  ///   - time: The duration since the start of the operation.
  mutating func line(_ response: GraphQLResponse, after time: Duration) throws -> String {
    let part = response.part
    // Each event of a subscription is a response of its own, and so is that of a retry.
    if part?.index ?? 0 == 0 { errors = 0 }
    var line = JSONObject()
    line["part"] = .number(JSONNumber(part?.index ?? 0))
    line["milliseconds"] = .number(JSONNumber(Int(time / .milliseconds(1))))
    line["delivered"] = .array(
      try part.map { part in try part.delivered.map { try Self.json($0, isFirst: part.index == 0) }
      }
        ?? [Self.whole(response)])
    line["pending"] = .array(response.pending.map { Self.json($0) })
    line["hasNext"] = .boolean(!response.isComplete)
    if response.errors.count > errors {
      line["errors"] = .array(response.errors[errors...].map(\.json))
      errors = response.errors.count
    }
    return JSONValue.object(line).jsonText()
  }

  /// A response in one piece.
  private static func whole(_ response: GraphQLResponse) throws -> JSONValue {
    var object: JSONObject = ["path": []]
    object["data"] = try response.data.map { try JSONValue(parsing: $0.bytes()) }
    return .object(object)
  }

  private static func json(_ fragment: DeliveredFragment, isFirst: Bool) throws -> JSONValue {
    var object: JSONObject = ["path": PathStep.json(fragment.path)]
    if let label = fragment.label { object["label"] = .string(label) }
    if let index = fragment.firstIndex { object["index"] = .number(JSONNumber(index)) }
    let value = try fragment.data.map { try JSONValue(parsing: $0.bytes()) }
    // A later part without data has failed; the first one is a response that has none.
    object[fragment.firstIndex == nil ? "data" : "items"] = value ?? (isFirst ? nil : .null)
    return .object(object)
  }

  private static func json(_ fragment: PendingFragment) -> JSONValue {
    var object: JSONObject = ["path": PathStep.json(fragment.path)]
    if let label = fragment.label { object["label"] = .string(label) }
    return .object(object)
  }
}

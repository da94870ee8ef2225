import GQLRunCache
import GQLRunJSON
import GQLRunPipeline

/// The lines that `gqlrun run --incremental` prints: one JSON object for each part of a response.
struct PartLines {
  /// The number of errors that were printed.
  private var errors = 0

  /// - Parameters:
  ///   - response: The result of the part.
  ///   - time: The duration since the start of the operation.
  mutating func line(_ response: GraphQLResponse, after time: Duration) throws -> String {
    let part = response.part
    var line = JSONObject()
    line["part"] = .number(JSONNumber(part?.index ?? 0))
    line["milliseconds"] = .number(JSONNumber(Int(time / .milliseconds(1))))
    line["delivered"] = .array(
      try part?.delivered.map { try Self.json($0) } ?? [Self.whole(response)])
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
    var bytes: [UInt8] = []
    try response.data?.forEachChunk { bytes.append(contentsOf: $0) }
    return .object([
      "path": [], "data": bytes.isEmpty ? .null : try JSONValue(parsing: bytes),
    ])
  }

  private static func json(_ fragment: DeliveredFragment) throws -> JSONValue {
    var object: JSONObject = ["path": PathStep.json(fragment.path)]
    if let label = fragment.label { object["label"] = .string(label) }
    if let index = fragment.firstIndex { object["index"] = .number(JSONNumber(index)) }
    let value = try fragment.data.map { try JSONValue(parsing: $0.bytes()) } ?? .null
    object[fragment.firstIndex == nil ? "data" : "items"] = value
    return .object(object)
  }

  private static func json(_ fragment: PendingFragment) -> JSONValue {
    var object: JSONObject = ["path": PathStep.json(fragment.path)]
    if let label = fragment.label { object["label"] = .string(label) }
    return .object(object)
  }
}

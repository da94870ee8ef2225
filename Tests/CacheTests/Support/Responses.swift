import Foundation
import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport

@testable import GQLRunCache

// Without the testing library: the fuzz targets are compiled with this file, too.

/// How the bytes of a response arrive, and when they are written.
struct Arrival: Sendable {
  /// The sizes of the pieces, in turn; then always the last one.
  var pieces: [Int] = [Int.max]
  /// Pieces smaller than this are collected by the parser.
  var minimumPiece = 4 << 10
  var flushThreshold = 1 << 20
  /// Whether a second thread normalizes.
  var isTaped = false

  static let byteByByte = Arrival(pieces: [1], minimumPiece: 1, flushThreshold: 1)

  static func pieces(of size: Int) -> Arrival {
    Arrival(pieces: [size], minimumPiece: 1, flushThreshold: 1)
  }
}

func prepare(
  _ document: String, operation: String? = nil, variables: String = "{}",
  keys: KeyRules = KeyRules(), facts: TypeFacts? = nil
) throws -> PreparedOperation {
  try PreparedOperation(
    document: Document(parsing: document), operationName: operation,
    variables: JSONValue(parsing: variables).objectValue ?? JSONObject(), keys: keys, facts: facts)
}

func facts(_ schema: String) throws -> TypeFacts {
  TypeFacts(try Schema(sdl: Document(parsing: schema)))
}

/// What one response did.
struct Written {
  var response: NormalizedResponse
  var summary: WriteSummary?
  /// The `data` delivered to the caller.
  var data: String?
  /// `record.field` of everything that changed, sorted.
  var changes: [String]
}

/// Feeds a response to a normalizer, and commits what it wants to write.
@discardableResult
func normalize(
  _ response: some Sequence<UInt8>, _ operation: PreparedOperation, into store: CacheStore?,
  arrival: Arrival = Arrival(), policy: ErrorPolicy = .skipErrored,
  limits: ResponseLimits = ResponseLimits(), writesRoots: Bool = true, received: Int? = nil
) async throws -> Written {
  let normalizer = try await feed(
    response, operation, into: store, arrival: arrival, policy: policy, limits: limits,
    writesRoots: writesRoots, received: received)
  let result = try await normalizer.finish()
  let summary = try await result.write?.commit()
  return Written(
    response: result, summary: summary,
    data: try result.data.map { String(decoding: try $0.bytes(), as: UTF8.self) },
    changes: summary.map { $0.changes.map { "\($0.recordKey).\($0.field)" }.sorted() } ?? [])
}

@discardableResult
func normalize(
  _ response: some Sequence<UInt8>, _ operation: PreparedOperation, into store: any RecordStore,
  received: Int? = nil
) async throws -> Written {
  try await normalize(response, operation, into: CacheStore(store), received: received)
}

/// Feeds a response to a normalizer that is given up when it throws.
func feed(
  _ response: some Sequence<UInt8>, _ operation: PreparedOperation, into store: CacheStore?,
  arrival: Arrival = Arrival(), policy: ErrorPolicy = .skipErrored,
  limits: ResponseLimits = ResponseLimits(), writesRoots: Bool = true, received: Int? = nil
) async throws -> ResponseNormalizer {
  var options = ResponseNormalizer.Options()
  if let received { options.received = received }
  options.errorPolicy = policy
  options.limits = limits
  options.flushThreshold = arrival.flushThreshold
  options.parsing.minimumPiece = arrival.minimumPiece
  options.minTapeBytes = arrival.isTaped ? 0 : Int.max
  options.forcesTape = arrival.isTaped
  options.writesRoots = writesRoots
  let normalizer = try ResponseNormalizer(operation, store: store, options: options)
  let bytes = Array(response)
  do {
    var start = 0
    var turn = 0
    while start < bytes.count {
      let size = arrival.pieces[min(turn, arrival.pieces.count - 1)]
      let end = size < bytes.count - start ? start + size : bytes.count
      // A copy of its own, so that the sanitizer sees a pointer that outlives its chunk.
      try Array(bytes[start..<end]).withUnsafeBytes { try normalizer.feed($0) }
      if normalizer.needsFlush { try await normalizer.flush() }
      start = end
      turn += 1
    }
  } catch {
    await normalizer.abandon()
    throw error
  }
  return normalizer
}

func dump(_ store: any RecordStore) async throws -> String { try await dump(CacheStore(store)) }

func dump(_ store: CacheStore) async throws -> String {
  let bytes = Locked<[UInt8]>([])
  try await store.dump { piece in bytes.withLock { $0 += piece } }
  return bytes.withLock { String(decoding: $0, as: UTF8.self) }
}

/// JSON text for expectations, written independently of the engine.
enum JSONText {
  /// `text` as a JSON string in the dump's form.
  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\u{8}": result += "\\b"
      case "\u{c}": result += "\\f"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\u{0}"..<"\u{20}":
        let hex = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

import GQLRunJSON
import GQLRunLanguage

@testable import GQLRunCache

/// What a response in parts has become.
struct Arrived {
  var results: [IncrementalResult] = []
  var changes: [[String]] = []

  var data: JSONValue? { results.last?.data?.value }
  var errors: [String] { results.last?.errors.compactMap { $0["message"]?.stringValue } ?? [] }
  /// The writes that were not committed yet.
  fileprivate var open: [PendingWrite] = []

  /// Commits the open writes together; takes the changes.
  fileprivate mutating func commit() async throws {
    let summary = open.isEmpty ? nil : try await PendingWrite.commit(open)
    open = []
    changes.append(
      summary.map { $0.changes.map { "\($0.recordKey).\($0.field)" }.sorted() } ?? [])
  }

  /// The pending fragments after each part, by label and path.
  var pending: [[String]] {
    results.map { $0.announced.all.map { "\($0.label ?? "-") \(PathStep.text($0.path))" }.sorted() }
  }
}

/// Feeds messages to a reader, in chunks of a size, and commits each part, or some together.
///
/// - Parameter together: The number of later parts that are committed together.
func receive(
  _ messages: [String], _ operation: PreparedOperation, into store: CacheStore? = nil,
  chunk: Int = .max, merges: Bool = true, policy: ErrorPolicy = .skipErrored,
  limit: Int = 1 << 20, isWhole: Bool = true, together: Int = 1
) async throws -> Arrived {
  var options = ResponseNormalizer.Options()
  options.errorPolicy = policy
  options.parsing.minimumPiece = 1
  let response = IncrementalResponse(
    operation, store: store, mergesData: merges, options: options)
  let reader = IncrementalReader(response, limit: limit)
  var arrived = Arrived()
  do {
    for message in messages {
      let bytes = Array(message.utf8)
      reader.begin()
      var start = 0
      while start < bytes.count {
        let end = chunk < bytes.count - start ? start + chunk : bytes.count
        for result in try await feed(reader, Array(bytes[start..<end])) {
          arrived.results.append(result)
          if let write = result.write { arrived.open.append(write) }
          // The transaction of the first part may be open.
          if arrived.results.count == 1 || (arrived.results.count - 1) % together == 0 {
            try await arrived.commit()
          }
        }
        start = end
      }
      try reader.end()
    }
    if !arrived.open.isEmpty { try await arrived.commit() }
    if isWhole { try response.finish() }
  } catch {
    await reader.abandon()
    throw error
  }
  return arrived
}

/// Feeds bytes of a message to a reader.
func feed(_ reader: IncrementalReader, _ bytes: [UInt8]) async throws -> [IncrementalResult] {
  var results: [IncrementalResult] = []
  var offset = 0
  while let step = try bytes.withUnsafeBytes({ try reader.read($0, from: &offset) }) {
    switch step {
    case .flush: try await reader.flush()
    case .message: results += try await reader.results()
    }
  }
  return results
}

/// The message of the error that a response in parts ends with.
func failure(
  _ messages: [String], _ operation: PreparedOperation, into store: CacheStore? = nil,
  limit: Int = 1 << 20
) async -> String {
  do {
    _ = try await receive(messages, operation, into: store, limit: limit)
    return "no error"
  } catch let error as CacheError {
    return error.message
  } catch {
    return "\(error)"
  }
}

func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }

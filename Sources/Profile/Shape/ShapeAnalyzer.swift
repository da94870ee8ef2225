package import GQLRunCache
package import GQLRunJSON

/// Analyzes a response as it streams, in bounded memory.
package final class ShapeAnalyzer {
  private let state: ShapeState
  private var reader: JSONEventReader

  /// - Parameter keys: The key fields of each type.
  package init(keys: KeyRules) throws {
    state = ShapeState(keys)
    reader = try JSONEventReader(state)
  }

  package func feed(_ bytes: UnsafeRawBufferPointer) throws(JSONError) { try reader.feed(bytes) }

  package func finish() throws(JSONError) -> ShapeReport {
    try reader.finish()
    return state.report
  }

  /// Analyzes a file.
  package static func analyze(_ path: String, keys: KeyRules) throws -> ShapeReport {
    let analyzer = try ShapeAnalyzer(keys: keys)
    let file = try ResponseFile(path)
    while let chunk = try file.next() { try analyzer.feed(chunk) }
    return try analyzer.finish()
  }
}

public import GQLRunLanguage

/// Selects the operations that an entry of a chain applies to: `when: { operation: [A, B], type:
/// query }`.
public struct OperationCondition: Sendable, Hashable {
  /// The names of the operations; `nil` selects all.
  public var operations: Set<String>?
  /// The type of the operations; `nil` selects all.
  public var type: OperationType?

  /// Creates a condition; without arguments, it selects every operation.
  ///
  /// - Parameters:
  ///   - operations: The names of the operations; `nil` selects all.
  ///   - type: The type of the operations; `nil` selects all.
  public init(operations: Set<String>? = nil, type: OperationType? = nil) {
    self.operations = operations
    self.type = type
  }

  /// Selects every operation.
  public static let always = OperationCondition()

  /// Whether the entry applies to a request.
  public func holds(for request: GraphQLRequest) -> Bool {
    if let type, type != request.operationType { return false }
    guard let operations else { return true }
    return request.operationName.map(operations.contains) ?? false
  }
}

extension OperationCondition: CustomStringConvertible {
  /// The condition as a pipeline file writes it; empty for ``always``.
  public var description: String {
    [
      operations.map { "operation: [\($0.sorted().joined(separator: ", "))]" },
      type.map { "type: \($0.rawValue)" },
    ].compactMap { $0 }.joined(separator: ", ")
  }
}

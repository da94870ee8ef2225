public import GQLRunLanguage

/// Which operations an entry of a chain is for: `when: { operation: [A, B], type: query }`.
public struct OperationCondition: Sendable, Hashable {
  /// The names of the operations; `nil` for all.
  public var operations: Set<String>?
  /// The type of the operations; `nil` for all.
  public var type: OperationType?

  public init(operations: Set<String>? = nil, type: OperationType? = nil) {
    self.operations = operations
    self.type = type
  }

  /// Every operation.
  public static let always = OperationCondition()

  public func holds(for request: GraphQLRequest) -> Bool {
    if let type, type != request.operationType { return false }
    guard let operations else { return true }
    return request.operationName.map(operations.contains) ?? false
  }
}

extension OperationCondition: CustomStringConvertible {
  public var description: String {
    [
      operations.map { "operation: [\($0.sorted().joined(separator: ", "))]" },
      type.map { "type: \($0.rawValue)" },
    ].compactMap { $0 }.joined(separator: ", ")
  }
}

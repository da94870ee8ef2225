/// https://spec.graphql.org/September2025/#sec-Variable-Uniqueness
final class UniqueVariableNames: RuleVisitor {
  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    for group in operation.variables.repeated(by: \.name) {
      context.report(
        .uniqueVariableNames, "There can be only one variable named '$\(group[0].value)'.",
        at: group.map { $0.location.afterDollar })
    }
  }
}

extension SourceLocation {
  /// The source location of a variable's name, computed from that of its `$`.
  ///
  /// Assumes that no ignored characters separate the two.
  fileprivate var afterDollar: SourceLocation {
    SourceLocation(line: line, column: column + 1, offset: offset + 1)
  }
}

extension Array {
  /// The names of several elements, with all their source locations, in the order of the first one.
  func repeated(by name: (Element) -> Name) -> [[Name]] {
    guard count > 1 else { return [] }
    var positions: [String: Int] = [:]
    var groups: [[Name]] = []
    for element in self {
      let name = name(element)
      if let position = positions[name.value] {
        groups[position].append(name)
      } else {
        positions[name.value] = groups.count
        groups.append([name])
      }
    }
    return groups.filter { $0.count > 1 }
  }
}

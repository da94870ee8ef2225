package import GQLRunLanguage

/// Makes parts of documents that the user has not written. All have the same location.
package struct SyntaxMaker: Sendable {
  package let location: SourceLocation

  package init(at location: SourceLocation) { self.location = location }

  package func name(_ text: String) -> Name { Name(text, at: location) }

  package func set(_ selections: [Selection]) -> SelectionSet {
    SelectionSet(selections: selections, location: location)
  }

  /// - Parameters:
  ///   - key: The response key; `nil` for the name.
  ///   - selections: `nil` for a leaf.
  package func field(
    _ name: String, as key: String? = nil, arguments: [Argument] = [],
    directives: [Directive] = [], _ selections: [Selection]? = nil
  ) -> Selection {
    .field(
      Field(
        alias: key.flatMap { $0 == name ? nil : self.name($0) }, name: self.name(name),
        arguments: arguments, directives: directives, selectionSet: selections.map(set),
        location: location))
  }

  /// Selections in an inline fragment.
  package func fragment(
    on type: String? = nil, directives: [Directive] = [], _ selections: [Selection]
  ) -> Selection {
    .inlineFragment(
      InlineFragment(
        typeCondition: type.map(name), directives: directives, selectionSet: set(selections),
        location: location))
  }

  /// An argument whose value is a variable.
  package func argument(_ name: String, variable: String) -> Argument {
    Argument(name: self.name(name), value: .variable(self.name(variable)), location: location)
  }

  package func variable(_ name: String, of type: TypeReference) -> VariableDefinition {
    VariableDefinition(
      name: self.name(name), type: type, defaultValue: nil, directives: [], location: location)
  }
}

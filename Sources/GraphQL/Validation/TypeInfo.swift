/// The schema's types at the current node of a traversal; `nil` where unknown.
package struct TypeInfo {
  /// The type of the current field, fragment or operation.
  package var type: TypeReference?
  /// The enclosing composite type, from which fields are selected.
  package var parentType: SchemaType?
  /// The definition of the innermost field.
  package var field: FieldDefinition?
  /// The name of the innermost field, even if the schema does not define it.
  package var fieldName = ""
  /// The definition of the enclosing directive.
  package var directive: DirectiveDefinition?
  /// Whether the current node is inside a directive, defined or not.
  package var isInDirective = false
  package var argument: InputValueDefinition?
  /// The expected type of the current value.
  package var inputType: TypeReference?
  /// The expected type of the enclosing value.
  package var parentInputType: TypeReference?
  /// Whether a default value applies if the current value is omitted.
  package var hasDefault = false
}

extension TypeReference {
  /// The type without its outer non-null wrapper.
  package var nullable: TypeReference {
    if case .nonNull(let inner) = self { inner } else { self }
  }

  /// A reference without a meaningful source location.
  init(named name: String) {
    self = .named(Name(name, at: SourceLocation(line: 0, column: 0, offset: 0)))
  }
}

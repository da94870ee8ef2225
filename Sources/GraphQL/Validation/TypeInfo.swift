/// What the schema knows about the place a walk has reached; `nil` where it knows nothing.
package struct TypeInfo {
  /// The type of the current field, fragment or operation.
  package var type: TypeReference?
  /// The composite type whose fields are being selected.
  package var parentType: SchemaType?
  /// The definition of the innermost field.
  package var field: FieldDefinition?
  /// The name of the innermost field, which the schema need not know.
  package var fieldName = ""
  /// The definition of the directive whose arguments are being walked.
  package var directive: DirectiveDefinition?
  /// Whether the walk is among the arguments of a directive, be it known or not.
  package var isInDirective = false
  package var argument: InputValueDefinition?
  /// The type the value at this place must have.
  package var inputType: TypeReference?
  /// The type that the value around it must have.
  package var parentInputType: TypeReference?
  /// Whether the place has a default value, for when nothing is given.
  package var hasDefault = false
}

extension TypeReference {
  /// The type without a non-null around it.
  package var nullable: TypeReference {
    if case .nonNull(let inner) = self { inner } else { self }
  }

  /// A reference that stands nowhere.
  init(named name: String) {
    self = .named(Name(name, at: SourceLocation(line: 0, column: 0, offset: 0)))
  }
}

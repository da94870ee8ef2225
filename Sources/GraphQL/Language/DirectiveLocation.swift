/// Where a directive may be applied; the raw value is the location's name in the language.
///
/// https://spec.graphql.org/September2025/#DirectiveLocation
public enum DirectiveLocation: String, Sendable, Hashable, CaseIterable {
  /// A query.
  case query = "QUERY"
  /// A mutation.
  case mutation = "MUTATION"
  /// A subscription.
  case subscription = "SUBSCRIPTION"
  /// A field of a selection set.
  case field = "FIELD"
  /// A fragment definition.
  case fragmentDefinition = "FRAGMENT_DEFINITION"
  /// A fragment spread.
  case fragmentSpread = "FRAGMENT_SPREAD"
  /// An inline fragment.
  case inlineFragment = "INLINE_FRAGMENT"
  /// A variable definition of an operation.
  case variableDefinition = "VARIABLE_DEFINITION"

  /// A schema definition.
  case schema = "SCHEMA"
  /// A scalar type.
  case scalar = "SCALAR"
  /// An object type.
  case object = "OBJECT"
  /// A field of an object or interface type.
  case fieldDefinition = "FIELD_DEFINITION"
  /// An argument of a field or directive.
  case argumentDefinition = "ARGUMENT_DEFINITION"
  /// An interface type.
  case interface = "INTERFACE"
  /// A union type.
  case union = "UNION"
  /// An enum type.
  case enumeration = "ENUM"
  /// A value of an enum type.
  case enumValue = "ENUM_VALUE"
  /// An input object type.
  case inputObject = "INPUT_OBJECT"
  /// A field of an input object type.
  case inputFieldDefinition = "INPUT_FIELD_DEFINITION"
}

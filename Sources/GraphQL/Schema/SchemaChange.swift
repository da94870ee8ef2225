/// A difference between two versions of a schema, and what it means for clients.
public struct SchemaChange: Sendable, Hashable, CustomStringConvertible {
  public enum Severity: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Operations that were valid may no longer be, or their answers have another shape.
    case breaking
    /// Operations stay valid, but may behave in ways that clients do not expect.
    case dangerous
    case safe

    /// The worse is less.
    public static func < (lhs: Severity, rhs: Severity) -> Bool { lhs.rank < rhs.rank }

    private var rank: Int {
      switch self {
      case .breaking: 0
      case .dangerous: 1
      case .safe: 2
      }
    }
  }

  /// What changed; the raw value is the name that graphql-js gives it.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    case typeRemoved = "TYPE_REMOVED"
    case typeChangedKind = "TYPE_CHANGED_KIND"
    case typeRemovedFromUnion = "TYPE_REMOVED_FROM_UNION"
    case valueRemovedFromEnum = "VALUE_REMOVED_FROM_ENUM"
    case requiredInputFieldAdded = "REQUIRED_INPUT_FIELD_ADDED"
    case implementedInterfaceRemoved = "IMPLEMENTED_INTERFACE_REMOVED"
    case fieldRemoved = "FIELD_REMOVED"
    case fieldChangedKind = "FIELD_CHANGED_KIND"
    case requiredArgumentAdded = "REQUIRED_ARG_ADDED"
    case argumentRemoved = "ARG_REMOVED"
    case argumentChangedKind = "ARG_CHANGED_KIND"
    case directiveRemoved = "DIRECTIVE_REMOVED"
    case directiveArgumentRemoved = "DIRECTIVE_ARG_REMOVED"
    case requiredDirectiveArgumentAdded = "REQUIRED_DIRECTIVE_ARG_ADDED"
    case directiveRepeatableRemoved = "DIRECTIVE_REPEATABLE_REMOVED"
    case directiveLocationRemoved = "DIRECTIVE_LOCATION_REMOVED"
    /// An operation type has another root, or none any more. Not told by graphql-js.
    case rootTypeChanged = "ROOT_TYPE_CHANGED"
    /// An input object now takes exactly one field. Not told by graphql-js.
    case oneOfAdded = "ONE_OF_ADDED"

    case valueAddedToEnum = "VALUE_ADDED_TO_ENUM"
    case typeAddedToUnion = "TYPE_ADDED_TO_UNION"
    case optionalInputFieldAdded = "OPTIONAL_INPUT_FIELD_ADDED"
    case optionalArgumentAdded = "OPTIONAL_ARG_ADDED"
    case implementedInterfaceAdded = "IMPLEMENTED_INTERFACE_ADDED"
    case argumentDefaultValueChange = "ARG_DEFAULT_VALUE_CHANGE"

    case typeAdded = "TYPE_ADDED"
    case fieldAdded = "FIELD_ADDED"
    case fieldChangedKindSafe = "FIELD_CHANGED_KIND_SAFE"
    case argumentChangedKindSafe = "ARG_CHANGED_KIND_SAFE"
    case argumentDefaultValueAdded = "ARG_DEFAULT_VALUE_ADDED"
    case directiveAdded = "DIRECTIVE_ADDED"
    case optionalDirectiveArgumentAdded = "OPTIONAL_DIRECTIVE_ARG_ADDED"
    case directiveRepeatableAdded = "DIRECTIVE_REPEATABLE_ADDED"
    case directiveLocationAdded = "DIRECTIVE_LOCATION_ADDED"
    case descriptionChanged = "DESCRIPTION_CHANGED"
    /// Something became deprecated, or is so no longer. Not told by graphql-js.
    case deprecationChanged = "DEPRECATION_CHANGED"

    public var severity: Severity {
      switch self {
      case .typeRemoved, .typeChangedKind, .typeRemovedFromUnion, .valueRemovedFromEnum,
        .requiredInputFieldAdded, .implementedInterfaceRemoved, .fieldRemoved, .fieldChangedKind,
        .requiredArgumentAdded, .argumentRemoved, .argumentChangedKind, .directiveRemoved,
        .directiveArgumentRemoved, .requiredDirectiveArgumentAdded, .directiveRepeatableRemoved,
        .directiveLocationRemoved, .rootTypeChanged, .oneOfAdded:
        .breaking
      case .valueAddedToEnum, .typeAddedToUnion, .optionalInputFieldAdded, .optionalArgumentAdded,
        .implementedInterfaceAdded, .argumentDefaultValueChange:
        .dangerous
      case .typeAdded, .fieldAdded, .fieldChangedKindSafe, .argumentChangedKindSafe,
        .argumentDefaultValueAdded, .directiveAdded, .optionalDirectiveArgumentAdded,
        .directiveRepeatableAdded, .directiveLocationAdded, .descriptionChanged,
        .deprecationChanged:
        .safe
      }
    }
  }

  public var kind: Kind
  /// What changed, in words: `Query.a was removed.`
  public var description: String

  public var severity: Severity { kind.severity }

  public init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}

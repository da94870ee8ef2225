/// A difference between two versions of a schema, with its effect on clients.
public struct SchemaChange: Sendable, Hashable, CustomStringConvertible {
  /// The effect of a change on clients.
  public enum Severity: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Valid operations may become invalid, or their results may have a different shape.
    case breaking
    /// Operations stay valid, but may behave in ways that clients do not expect.
    case dangerous
    /// Operations stay valid and behave as before.
    case safe

    /// The more severe one is less.
    public static func < (lhs: Severity, rhs: Severity) -> Bool { lhs.rank < rhs.rank }

    private var rank: Int {
      switch self {
      case .breaking: 0
      case .dangerous: 1
      case .safe: 2
      }
    }
  }

  /// The kind of change; the raw value is graphql-js's name for it.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A type was removed.
    case typeRemoved = "TYPE_REMOVED"
    /// A type became one of another kind.
    case typeChangedKind = "TYPE_CHANGED_KIND"
    /// A member was removed from a union.
    case typeRemovedFromUnion = "TYPE_REMOVED_FROM_UNION"
    /// A value was removed from an enum.
    case valueRemovedFromEnum = "VALUE_REMOVED_FROM_ENUM"
    /// A required field was added to an input object.
    case requiredInputFieldAdded = "REQUIRED_INPUT_FIELD_ADDED"
    /// A type no longer implements an interface.
    case implementedInterfaceRemoved = "IMPLEMENTED_INTERFACE_REMOVED"
    /// A field was removed.
    case fieldRemoved = "FIELD_REMOVED"
    /// A field's type changed in an incompatible way.
    case fieldChangedKind = "FIELD_CHANGED_KIND"
    /// A required argument was added to a field.
    case requiredArgumentAdded = "REQUIRED_ARG_ADDED"
    /// An argument was removed from a field.
    case argumentRemoved = "ARG_REMOVED"
    /// An argument's type changed in an incompatible way.
    case argumentChangedKind = "ARG_CHANGED_KIND"
    /// A directive was removed.
    case directiveRemoved = "DIRECTIVE_REMOVED"
    /// An argument was removed from a directive.
    case directiveArgumentRemoved = "DIRECTIVE_ARG_REMOVED"
    /// A required argument was added to a directive.
    case requiredDirectiveArgumentAdded = "REQUIRED_DIRECTIVE_ARG_ADDED"
    /// A directive is no longer repeatable.
    case directiveRepeatableRemoved = "DIRECTIVE_REPEATABLE_REMOVED"
    /// A location was removed from a directive.
    case directiveLocationRemoved = "DIRECTIVE_LOCATION_REMOVED"
    /// A root operation type changed or was removed. Not in graphql-js.
    case rootTypeChanged = "ROOT_TYPE_CHANGED"
    /// An input object became a OneOf input object. Not in graphql-js.
    case oneOfAdded = "ONE_OF_ADDED"
    /// An argument lost its default value and is non-null, so that every document must give it.
    /// graphql-js calls it `ARG_DEFAULT_VALUE_CHANGE`, which is dangerous only.
    case argumentBecameRequired = "ARG_BECAME_REQUIRED"
    /// The same for a field of an input object. Not in graphql-js.
    case inputFieldBecameRequired = "INPUT_FIELD_BECAME_REQUIRED"
    /// The same for an argument of a directive. Not in graphql-js.
    case directiveArgumentBecameRequired = "DIRECTIVE_ARG_BECAME_REQUIRED"
    /// An argument of a directive has another type. Not in graphql-js.
    case directiveArgumentChangedKind = "DIRECTIVE_ARG_CHANGED_KIND"

    /// A value was added to an enum.
    case valueAddedToEnum = "VALUE_ADDED_TO_ENUM"
    /// A member was added to a union.
    case typeAddedToUnion = "TYPE_ADDED_TO_UNION"
    /// An optional field was added to an input object.
    case optionalInputFieldAdded = "OPTIONAL_INPUT_FIELD_ADDED"
    /// An optional argument was added to a field.
    case optionalArgumentAdded = "OPTIONAL_ARG_ADDED"
    /// A type implements another interface.
    case implementedInterfaceAdded = "IMPLEMENTED_INTERFACE_ADDED"
    /// The default value of an argument changed.
    case argumentDefaultValueChange = "ARG_DEFAULT_VALUE_CHANGE"
    /// A field of an input object has another default value, or none. Not in graphql-js.
    case inputFieldDefaultValueChange = "INPUT_FIELD_DEFAULT_VALUE_CHANGE"
    /// An argument of a directive has another default value, or none. Not in graphql-js.
    case directiveArgumentDefaultValueChange = "DIRECTIVE_ARG_DEFAULT_VALUE_CHANGE"
    /// A new object type implements an interface that existed before, as a new member of a union
    /// does. Not in graphql-js.
    case typeAddedToInterface = "TYPE_ADDED_TO_INTERFACE"

    /// A type was added.
    case typeAdded = "TYPE_ADDED"
    /// A field was added.
    case fieldAdded = "FIELD_ADDED"
    /// A field's type changed in a compatible way.
    case fieldChangedKindSafe = "FIELD_CHANGED_KIND_SAFE"
    /// An argument's type changed in a compatible way.
    case argumentChangedKindSafe = "ARG_CHANGED_KIND_SAFE"
    /// A default value was added to an argument.
    case argumentDefaultValueAdded = "ARG_DEFAULT_VALUE_ADDED"
    /// A default value was added to a field of an input object.
    case inputFieldDefaultValueAdded = "INPUT_FIELD_DEFAULT_VALUE_ADDED"
    /// A default value was added to an argument of a directive.
    case directiveArgumentDefaultValueAdded = "DIRECTIVE_ARG_DEFAULT_VALUE_ADDED"
    /// The type of a directive argument changed in a compatible way.
    case directiveArgumentChangedKindSafe = "DIRECTIVE_ARG_CHANGED_KIND_SAFE"
    /// An operation type has a root that it did not have.
    case rootTypeAdded = "ROOT_TYPE_ADDED"
    /// An input object no longer takes exactly one field: what was valid still is.
    case oneOfRemoved = "ONE_OF_REMOVED"
    /// A directive was added.
    case directiveAdded = "DIRECTIVE_ADDED"
    /// An optional argument was added to a directive.
    case optionalDirectiveArgumentAdded = "OPTIONAL_DIRECTIVE_ARG_ADDED"
    /// A directive became repeatable.
    case directiveRepeatableAdded = "DIRECTIVE_REPEATABLE_ADDED"
    /// A location was added to a directive.
    case directiveLocationAdded = "DIRECTIVE_LOCATION_ADDED"
    /// A description changed.
    case descriptionChanged = "DESCRIPTION_CHANGED"
    /// A deprecation was added, removed or changed. Not in graphql-js.
    case deprecationChanged = "DEPRECATION_CHANGED"

    /// The effect of this kind of change on clients.
    public var severity: Severity {
      switch self {
      case .typeRemoved, .typeChangedKind, .typeRemovedFromUnion, .valueRemovedFromEnum,
        .requiredInputFieldAdded, .implementedInterfaceRemoved, .fieldRemoved, .fieldChangedKind,
        .requiredArgumentAdded, .argumentRemoved, .argumentChangedKind, .directiveRemoved,
        .directiveArgumentRemoved, .requiredDirectiveArgumentAdded, .directiveRepeatableRemoved,
        .directiveLocationRemoved, .rootTypeChanged, .oneOfAdded, .argumentBecameRequired,
        .inputFieldBecameRequired, .directiveArgumentBecameRequired,
        .directiveArgumentChangedKind:
        .breaking
      case .valueAddedToEnum, .typeAddedToUnion, .optionalInputFieldAdded, .optionalArgumentAdded,
        .implementedInterfaceAdded, .argumentDefaultValueChange, .inputFieldDefaultValueChange,
        .directiveArgumentDefaultValueChange, .typeAddedToInterface:
        .dangerous
      case .typeAdded, .fieldAdded, .fieldChangedKindSafe, .argumentChangedKindSafe,
        .argumentDefaultValueAdded, .directiveAdded, .optionalDirectiveArgumentAdded,
        .directiveRepeatableAdded, .directiveLocationAdded, .descriptionChanged,
        .deprecationChanged, .inputFieldDefaultValueAdded, .directiveArgumentDefaultValueAdded,
        .directiveArgumentChangedKindSafe, .rootTypeAdded, .oneOfRemoved:
        .safe
      }
    }
  }

  /// The kind of change.
  public var kind: Kind
  /// The change as a sentence: `Query.a was removed.`
  public var description: String
  /// The schema coordinate of what changed, such as `Query.a(b:)`; empty for the schema itself. What was removed has
  /// one, too.
  ///
  /// https://spec.graphql.org/draft/#sec-Schema-Coordinates
  public var coordinate: String

  /// The effect of the change on clients.
  public var severity: Severity { kind.severity }

  /// Creates a change.
  public init(_ kind: Kind, _ description: String, coordinate: String = "") {
    self.kind = kind
    self.description = description
    self.coordinate = coordinate
  }
}

import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport

/// Creates the plan of an operation: collects and merges fields for each possible object type, and
/// evaluates directives and arguments.
///
/// https://spec.graphql.org/September2025/#sec-Executing-Selection-Sets
struct Planner {
  /// The maximum number of fields of a plan and their maximum depth, because fragments can expand
  /// small documents to large plans.
  static let maxFields = 20_000
  static let maxDepth = 200

  let schema: Schema
  let fragments: [String: FragmentDefinition]
  let coercion: InputCoercion
  private(set) var fieldCount = 0
  private(set) var known: [Key: PlannedObject] = [:]
  /// Whether `@defer` and `@stream` have an effect.
  let isIncremental: Bool
  let onError: ErrorBehaviour
  /// Whether a plan has deferred fragments or streamed lists.
  private(set) var hasParts = false

  /// Identical selections on the same type share a plan.
  struct Key: Hashable {
    let type: String
    let selections: [Int]
    let delivered: [Int]
    let mode: Mode
  }

  /// The effect of `@defer` and `@stream`.
  enum Mode: Hashable {
    case none
    /// Not for the fields of this object, only for those of its objects and lists.
    case below
    case all

    var below: Self { self == .none ? .none : .all }
  }

  /// Creates the plan for the root of an operation.
  mutating func plan(
    _ operation: OperationDefinition, on rootType: String
  ) throws(RequestError) -> PlannedObject {
    let mode: Mode =
      switch operation.type {
      case .query where isIncremental: .all
      // Fields of a mutation are executed in order.
      case .mutation where isIncremental: .below
      default: .none
      }
    return try plan([operation.selectionSet], on: rootType, depth: 0, mode)
  }

  /// Creates the plan of an object.
  ///
  /// - Parameter delivered: The selection sets whose fields the object has already, if this is the
  ///   plan of a deferred fragment. Their leaves are left out, and selections of their objects are
  ///   repeated, so that a client may merge or replace them.
  private mutating func plan(
    _ selectionSets: [SelectionSet], on type: String, depth: Int, _ mode: Mode,
    delivered: [SelectionSet] = []
  ) throws(RequestError) -> PlannedObject {
    let key = Key(
      type: type, selections: selectionSets.map(\.location.offset),
      delivered: delivered.map(\.location.offset), mode: mode)
    if let plan = known[key] { return plan }
    guard depth < Self.maxDepth else { throw Self.tooDeep }
    var earlier = CollectedFields()
    for set in delivered {
      try collect(set, on: type, into: &earlier, depth: 0, defers: mode == .all)
    }
    var collected = CollectedFields()
    for set in selectionSets {
      try collect(set, on: type, into: &collected, depth: 0, defers: mode == .all)
    }
    var plans: [PlannedField] = []
    for (responseKey, fields) in collected.fields.all {
      let other = earlier.fields[responseKey]
      if !other.isEmpty, fields[0].selectionSet == nil { continue }
      plans.append(try plan(other + fields, as: responseKey, on: type, depth: depth, mode))
    }
    var deferred: [DeferredPlan] = []
    for (label, set) in collected.deferred {
      let plan = try plan(
        [set], on: type, depth: depth + 1, mode, delivered: delivered + selectionSets)
      if !plan.fields.isEmpty || !plan.deferred.isEmpty {
        deferred.append(DeferredPlan(label: label, plan: plan))
      }
    }
    hasParts = hasParts || !deferred.isEmpty
    let whole =
      deferred.isEmpty
      ? nil : try plan(selectionSets, on: type, depth: depth, .none, delivered: delivered)
    let plan = PlannedObject(typeName: type, fields: plans, deferred: deferred, whole: whole)
    known[key] = plan
    return plan
  }

  private mutating func plan(
    _ fields: [Field], as responseKey: String, on type: String, depth: Int, _ mode: Mode
  ) throws(RequestError) -> PlannedField {
    fieldCount += 1
    guard fieldCount <= Self.maxFields else {
      throw RequestError(.validationFailed, "The operation has too many fields.")
    }
    let field = fields[0]
    let name = field.name.value
    let coordinate = "\(type).\(name)"
    guard let definition = schema.field(name, on: type),
      let behaviour = Resolvers.behaviour(of: name, in: type)
    else {
      throw RequestError(.internalServerError, "The field \(coordinate) has no behaviour.")
    }
    var children: [PlannedObject] = []
    let selectionSets = fields.compactMap(\.selectionSet)
    for possible in schema.possibleTypes(of: definition.type.namedType.value) {
      children.append(try plan(selectionSets, on: possible, depth: depth + 1, mode.below))
    }
    var arguments: Arguments = [:]
    var refusal: RequestError?
    do throws(RequestError) {
      arguments = try coercion.arguments(
        field.arguments, for: definition.arguments, at: field.location)
      refusal = behaviour.refusal(arguments)
    } catch {
      refusal = error
    }
    return PlannedField(
      responseKey: responseKey, coordinate: coordinate, locations: fields.map(\.location),
      behaviour: behaviour, arguments: arguments, refusal: refusal,
      type: OutputType(
        definition.type,
        innerFails: behaviour.mayFail || children.contains(where: \.escapes), onError: onError),
      children: children, stream: mode == .none ? nil : try stream(of: field, definition.type))
  }

  /// How a field is streamed; `nil` if it is no list or has no `@stream`.
  private mutating func stream(
    of field: Field, _ type: TypeReference
  ) throws(RequestError) -> StreamPlan? {
    guard type.isList, let arguments = try delivery("stream", in: field.directives)
    else { return nil }
    let count = arguments["initialCount"]?.intValue ?? 0
    guard count >= 0 else {
      throw RequestError(
        .badUserInput, "Argument \"initialCount\" must be at least 0; it is \(count).",
        at: [field.location])
    }
    hasParts = true
    return StreamPlan(label: arguments["label"]?.stringValue, initialCount: count)
  }

  /// The arguments of `@defer` or `@stream`; `nil` without the directive, or if it is switched off.
  private func delivery(
    _ name: String, in directives: [Directive]
  ) throws(RequestError) -> Arguments? {
    let arguments = try arguments(of: name, in: directives)
    return arguments?["if"]?.boolValue == false ? nil : arguments
  }

  /// The arguments of a directive; `nil` without it.
  private func arguments(
    of name: String, in directives: [Directive]
  ) throws(RequestError) -> Arguments? {
    guard let directive = directives.first(where: { $0.name.value == name }),
      let definition = schema.directive(named: name)
    else { return nil }
    return try coercion.arguments(
      directive.arguments, for: definition.arguments, at: directive.location)
  }

  private func collect(
    _ set: SelectionSet, on type: String, into collected: inout CollectedFields, depth: Int,
    defers: Bool
  ) throws(RequestError) {
    guard depth < Self.maxDepth else { throw Self.tooDeep }
    for selection in set.selections {
      guard try isIncluded(selection.directives) else { continue }
      switch selection {
      case .field(let field): collected.fields.append(field, to: field.responseKey)
      case .fragmentSpread(let spread):
        guard let fragment = fragments[spread.name.value] else { continue }
        try collect(
          fragment.selectionSet, on: type, if: fragment.typeCondition, spread.directives,
          named: spread.name.value)
      case .inlineFragment(let fragment):
        try collect(
          fragment.selectionSet, on: type, if: fragment.typeCondition, fragment.directives)
      }
    }

    /// Collects the fields of a fragment, or leaves them for later.
    func collect(
      _ set: SelectionSet, on type: String, if condition: Name?, _ directives: [Directive],
      named name: String? = nil
    ) throws(RequestError) {
      if let condition, !schema.possibleTypes(of: condition.value).contains(type) { return }
      if defers, let arguments = try delivery("defer", in: directives) {
        collected.deferred.append((arguments["label"]?.stringValue, set))
      } else if name.map({ collected.visited.insert($0).inserted }) ?? true {
        try self.collect(set, on: type, into: &collected, depth: depth + 1, defers: defers)
      }
    }
  }

  private static let tooDeep = RequestError(
    .validationFailed, "The operation is nested too deep.")

  /// Whether `@skip` and `@include` include a selection.
  private func isIncluded(_ directives: [Directive]) throws(RequestError) -> Bool {
    for (name, included) in [("skip", false), ("include", true)] {
      guard let arguments = try arguments(of: name, in: directives) else { continue }
      if arguments["if"]?.boolValue != included { return false }
    }
    return true
  }
}

/// The plan for objects of one type: their fields in the order of the response.
final class PlannedObject: Sendable {
  let typeName: String
  let fields: [PlannedField]
  /// The fragments that are executed after the fields.
  let deferred: [DeferredPlan]
  /// The plan without deferred fragments and streamed lists; `nil` if there are none to be left out.
  let whole: PlannedObject?
  /// Whether an error in one of the fields may null the object.
  let escapes: Bool

  init(
    typeName: String, fields: [PlannedField], deferred: [DeferredPlan] = [],
    whole: PlannedObject? = nil
  ) {
    self.typeName = typeName
    self.fields = fields
    self.deferred = deferred
    self.whole = whole
    escapes = fields.contains(where: \.escapes) || whole?.escapes == true
  }
}

/// A fragment with `@defer`.
struct DeferredPlan: Sendable {
  let label: String?
  /// The fields that the object does not have without the fragment.
  let plan: PlannedObject
}

/// The arguments of `@stream`.
struct StreamPlan: Sendable {
  let label: String?
  let initialCount: Int
}

/// The plan for one field: its resolver, arguments and selections.
final class PlannedField: Sendable {
  let responseKey: String
  /// The serialized response key with quotes and colon.
  let keyBytes: [UInt8]
  /// `Type.field`, for messages.
  let coordinate: String
  let locations: [SourceLocation]
  let behaviour: FieldBehaviour
  let arguments: Arguments
  /// The error of the field's arguments, which makes it fail for every parent.
  let refusal: RequestError?
  let type: OutputType
  /// How the list is streamed; `nil` if it is not.
  let stream: StreamPlan?
  /// The selections of the field's objects, by type.
  let children: [PlannedObject]
  /// Whether an error in the field may null the parent.
  let escapes: Bool

  init(
    responseKey: String, coordinate: String, locations: [SourceLocation],
    behaviour: FieldBehaviour, arguments: Arguments, refusal: RequestError?, type: OutputType,
    children: [PlannedObject], stream: StreamPlan? = nil
  ) {
    self.stream = stream
    self.responseKey = responseKey
    self.coordinate = coordinate
    self.locations = locations
    self.behaviour = behaviour
    self.arguments = arguments
    self.refusal = refusal
    self.children = children
    var key = JSONWriter()
    key.writeString(responseKey)
    keyBytes = key.bytes + [UInt8(ascii: ":")]
    self.type = type
    let fails = refusal != nil || behaviour.mayFail
    escapes = !type.absorbsErrors && (fails || type.contentFails)
  }

  func plan(for typeName: String) -> PlannedObject? {
    children.first { $0.typeName == typeName }
  }

  /// The fields selected from this one.
  var descendants: [PlannedField] { children.flatMap(\.fields) }
  var isLeaf: Bool { children.isEmpty }
}

/// The properties of a type that are needed to write its values.
final class OutputType: Sendable {
  let isNullable: Bool
  /// Whether an error in the value makes it null, and nothing above it.
  let absorbsErrors: Bool
  /// The type of the elements; `nil` unless it is a list.
  let element: OutputType?
  /// Whether an error inside the value may null it.
  let contentFails: Bool

  init(_ type: TypeReference, innerFails: Bool, onError: ErrorBehaviour) {
    var type = type
    isNullable = !type.isNonNull
    absorbsErrors = onError.absorbsErrors(of: type)
    if case .nonNull(let inner) = type { type = inner }
    if case .list(let inner, _) = type {
      let element = OutputType(inner, innerFails: innerFails, onError: onError)
      self.element = element
      contentFails = element.contentFails && !element.absorbsErrors
    } else {
      element = nil
      contentFails = innerFails
    }
  }

  /// Whether the value must be buffered until it is complete.
  var mustBeHeld: Bool { absorbsErrors && contentFails }
}

/// What selection sets of one object have.
private struct CollectedFields {
  /// The fields by response key.
  var fields = OrderedGroups<String, Field>()
  /// The fragments spread so far.
  var visited: Set<String> = []
  /// The fragments with `@defer`, with their labels.
  var deferred: [(label: String?, SelectionSet)] = []
}

/// An error of a request or a field: an entry of the response's `errors`.
struct RequestError: Error, Sendable {
  /// The value of `extensions.code`.
  enum Code: String, Sendable {
    case badRequest = "BAD_REQUEST"
    case parseFailed = "GRAPHQL_PARSE_FAILED"
    case validationFailed = "GRAPHQL_VALIDATION_FAILED"
    case badUserInput = "BAD_USER_INPUT"
    case notFound = "NOT_FOUND"
    case unauthenticated = "UNAUTHENTICATED"
    case operationResolutionFailed = "OPERATION_RESOLUTION_FAILURE"
    case persistedQueryNotFound = "PERSISTED_QUERY_NOT_FOUND"
    case persistedDocumentNotFound = "PERSISTED_DOCUMENT_NOT_FOUND"
    case invalidJSON = "INVALID_JSON"
    case internalServerError = "INTERNAL_SERVER_ERROR"
  }

  var message: String
  /// The text of `extensions.code`.
  var code: String
  var locations: [SourceLocation] = []

  init(_ code: Code, _ message: String, at locations: [SourceLocation] = []) {
    self.init(code: code.rawValue, message, at: locations)
  }

  init(code: String, _ message: String, at locations: [SourceLocation] = []) {
    self.message = message
    self.code = code
    self.locations = locations
  }

  static func badRequest(_ message: String) -> Self { Self(.badRequest, message) }

  /// The error as an element of `errors`, with the path of its field.
  func json(path: [JSONValue]? = nil) -> JSONValue {
    var members: JSONObject = ["message": .string(message)]
    if !locations.isEmpty {
      members["locations"] = .array(
        locations.map { location in
          [
            "line": .number(JSONNumber(location.line)),
            "column": .number(JSONNumber(location.column)),
          ]
        })
    }
    members["path"] = path.map(JSONValue.array)
    members["extensions"] = ["code": .string(code)]
    return .object(members)
  }

  /// A complete response with errors and without data.
  static func response(_ errors: [RequestError]) -> [UInt8] {
    JSONValue.object(["errors": .array(errors.map { $0.json() })]).jsonBytes()
  }
}

extension Document {
  /// The validation errors of the document for a schema; empty if it is valid.
  ///
  /// Messages quote names as servers in JavaScript do: `Cannot query field "x" on type "Y".`
  func requestErrors(against schema: Schema) -> [RequestError] {
    validate(against: schema).map { error in
      RequestError(.validationFailed, error.message.doublyQuoted, at: error.locations)
    }
  }
}

extension String {
  /// The message with names in `"` instead of `'`.
  ///
  /// Only changes apostrophes around names and types.
  var doublyQuoted: String {
    replacing(#/'([A-Za-z0-9_!\[\]@$. {}]*)'/#) { "\"\($0.output.1)\"" }
  }
}

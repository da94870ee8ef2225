import GQLRunJSON
import GQLRunLanguage

/// The plan for objects of one type: their fields in the order of the response.
final class ObjectPlan: Sendable {
  let typeName: String
  let fields: [FieldPlan]
  /// The fragments that are executed after the fields.
  let deferred: [DeferredPlan]
  /// The plan without deferred fragments and streamed lists; `nil` if there are none to be left out.
  let whole: ObjectPlan?
  /// Whether an error in one of the fields may null the object.
  let escapes: Bool

  init(
    typeName: String, fields: [FieldPlan], deferred: [DeferredPlan] = [], whole: ObjectPlan? = nil
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
  let plan: ObjectPlan
}

/// The arguments of `@stream`.
struct StreamPlan: Sendable {
  let label: String?
  let initialCount: Int
}

/// The plan for one field: its resolver, arguments and selections.
final class FieldPlan: Sendable {
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
  private let children: [ObjectPlan]
  /// Whether an error in the field may null the parent.
  let escapes: Bool

  init(
    responseKey: String, coordinate: String, locations: [SourceLocation],
    behaviour: FieldBehaviour, arguments: Result<Arguments, RequestError>, type: TypeReference,
    children: [ObjectPlan], stream: StreamPlan? = nil
  ) {
    self.stream = stream
    self.responseKey = responseKey
    self.coordinate = coordinate
    self.locations = locations
    self.behaviour = behaviour
    self.children = children
    var key = JSONWriter()
    key.writeString(responseKey)
    keyBytes = key.bytes + [UInt8(ascii: ":")]
    switch arguments {
    case .success(let arguments):
      self.arguments = arguments
      refusal = behaviour.refusal(arguments)
    case .failure(let error):
      self.arguments = [:]
      refusal = error
    }
    let innerFails = behaviour.mayFail || children.contains(where: \.escapes)
    self.type = OutputType(type, innerFails: innerFails)
    let fails = refusal != nil || behaviour.mayFail
    escapes = !self.type.isNullable && (fails || self.type.contentFails)
  }

  func plan(for typeName: String) -> ObjectPlan? {
    children.first { $0.typeName == typeName }
  }

  /// The fields selected from this one.
  var descendants: [FieldPlan] { children.flatMap(\.fields) }
  var isLeaf: Bool { children.isEmpty }
}

/// The properties of a type that are needed to write its values.
final class OutputType: Sendable {
  let isNullable: Bool
  /// The type of the elements; `nil` unless it is a list.
  let element: OutputType?
  /// Whether an error inside the value may null it.
  let contentFails: Bool

  init(_ type: TypeReference, innerFails: Bool) {
    var type = type
    isNullable = !type.isNonNull
    if case .nonNull(let inner) = type { type = inner }
    if case .list(let inner, _) = type {
      let element = OutputType(inner, innerFails: innerFails)
      self.element = element
      contentFails = element.contentFails && !element.isNullable
    } else {
      element = nil
      contentFails = innerFails
    }
  }

  /// Whether the value must be buffered until it is complete.
  var mustBeHeld: Bool { isNullable && contentFails }
}

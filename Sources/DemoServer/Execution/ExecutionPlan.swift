import GQLRunJSON
import GQLRunLanguage

/// What to write for an object of one type: its fields in the order of the response.
final class ObjectPlan: Sendable {
  let typeName: String
  let fields: [FieldPlan]
  /// Whether an error in one of the fields may leave no object at all.
  let escapes: Bool

  init(typeName: String, fields: [FieldPlan]) {
    self.typeName = typeName
    self.fields = fields
    escapes = fields.contains(where: \.escapes)
  }
}

/// One field of a response: where its value comes from, and what is selected from it.
final class FieldPlan: Sendable {
  let responseKey: String
  /// The key as it is written: quoted, with the colon.
  let keyBytes: [UInt8]
  /// `Type.field`, for messages.
  let coordinate: String
  let locations: [SourceLocation]
  let behaviour: FieldBehaviour
  let arguments: Arguments
  /// Why the field fails whatever its parent is.
  let refusal: RequestError?
  let type: OutputType
  /// What to select from an object, by its type.
  private let children: [ObjectPlan]
  /// Whether an error here may null the parent.
  let escapes: Bool

  init(
    responseKey: String, coordinate: String, locations: [SourceLocation],
    behaviour: FieldBehaviour, arguments: Result<Arguments, RequestError>, type: TypeReference,
    children: [ObjectPlan]
  ) {
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

  /// The fields below this one.
  var descendants: [FieldPlan] { children.flatMap(\.fields) }
  var isLeaf: Bool { children.isEmpty }
}

/// The type of a value, as far as writing it needs to know.
final class OutputType: Sendable {
  let isNullable: Bool
  /// The type of the elements; nil unless it is a list.
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

  /// Whether nothing of the value may be sent before it is complete.
  var mustBeHeld: Bool { isNullable && contentFails }
}

import GQLRunJSON
import GQLRunLanguage

/// The value of a field, or of an element of a list, before its own fields are resolved.
enum Resolved: Sendable {
  case null
  case string(String)
  case int(Int)
  case float(Double)
  case boolean(Bool)
  /// A generated text.
  case text(FeedText)
  case object(Entity)
  case list(ResolvedList)
  indirect case failure(RequestError)

  /// Whether the value is complete in itself.
  var isLeaf: Bool {
    switch self {
    case .string, .int, .float, .boolean, .text: true
    case .null, .object, .list, .failure: false
    }
  }

  static func optional(_ text: String?) -> Self { text.map(Self.string) ?? .null }
  static func optional(_ entity: Entity?) -> Self { entity.map(Self.object) ?? .null }

  static func list<T: Sendable>(
    _ elements: [T], _ make: @escaping @Sendable (T) -> Resolved
  ) -> Self {
    .list(ResolvedList(count: elements.count) { make(elements[$0]) })
  }
}

/// A list whose elements are made when they are written.
struct ResolvedList: Sendable {
  let count: Int
  let element: @Sendable (Int) -> Resolved
}

/// The arguments of a field, coerced to their types, with defaults filled in.
typealias Arguments = JSONObject

/// How a field gets its value.
struct FieldBehaviour: Sendable {
  let resolve: @Sendable (Entity, Arguments, inout ResolverContext) -> Resolved
  /// Why the field fails whatever its parent is, because of its arguments.
  var refusal: @Sendable (Arguments) -> RequestError? = { _ in nil }
  /// Whether the field, or an element of its list, may fail for another reason.
  var mayFail = false

  /// The behaviour of a field of one kind of object.
  init<Parent>(
    of parent: @escaping @Sendable (Entity) -> Parent?,
    _ resolve: @escaping @Sendable (Parent, Arguments, inout ResolverContext) -> Resolved
  ) {
    self.resolve = { entity, arguments, context in
      guard let parent = parent(entity) else {
        return .failure(RequestError(.internalServerError, "The field has a wrong parent."))
      }
      return resolve(parent, arguments, &context)
    }
  }

  /// The same field, which may fail.
  func failing(
    _ refusal: @escaping @Sendable (Arguments) -> RequestError? = { _ in nil }
  ) -> Self {
    var copy = self
    copy.refusal = refusal
    copy.mayFail = true
    return copy
  }

  /// The same field, which fails for some arguments.
  func refusing(_ refusal: @escaping @Sendable (Arguments) -> RequestError?) -> Self {
    var copy = self
    copy.refusal = refusal
    return copy
  }
}

/// What resolvers look at besides the parent and the arguments.
struct ResolverContext: Sendable {
  let geography: Geography
  let feed: Feed
  let schema: Schema
  let store: FeedStore
  /// What has been changed when the operation began, and by the operation itself.
  var edits: FeedEdits
}

import GQLRunJSON
import GQLRunLanguage

/// The value of a field or list element, before its own fields are resolved.
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

  /// Whether the value is a leaf.
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

/// A list whose elements are created when they are written.
struct ResolvedList: Sendable {
  let count: Int
  let element: @Sendable (Int) -> Resolved
}

/// The coerced arguments of a field, with defaults.
typealias Arguments = JSONObject

/// How a field is resolved.
struct FieldBehaviour: Sendable {
  let resolve: @Sendable (Entity, Arguments, inout ResolverContext) -> Resolved
  /// The error for invalid arguments, which makes the field fail for every parent.
  var refusal: @Sendable (Arguments) -> RequestError? = { _ in nil }
  /// Whether the field, or an element of its list, may fail for another reason.
  var mayFail = false

  /// Creates the behaviour of a field whose parent is of one kind.
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

  /// A copy that may fail.
  func failing(
    _ refusal: @escaping @Sendable (Arguments) -> RequestError? = { _ in nil }
  ) -> Self {
    var copy = self
    copy.refusal = refusal
    copy.mayFail = true
    return copy
  }

  /// A copy that fails for some arguments.
  func refusing(_ refusal: @escaping @Sendable (Arguments) -> RequestError?) -> Self {
    var copy = self
    copy.refusal = refusal
    return copy
  }
}

/// The inputs of resolvers besides the parent and the arguments.
struct ResolverContext: Sendable {
  let geography: Geography
  let feed: Feed
  let schema: Schema
  let store: FeedStore
  /// The changes before the operation, and those by the operation itself.
  var edits: FeedEdits
}

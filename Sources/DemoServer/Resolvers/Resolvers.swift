import GQLRunJSON
import GQLRunLanguage

/// The behaviour of every field of the schema, by type and field name.
enum Resolvers {
  static let all: [String: [String: FieldBehaviour]] = [
    "Query": queryFields.merging(listRootFields) { $1 },
    "Mutation": mutationFields.merging(listMutationFields) { $1 },
    "Subscription": subscriptionFields,
    "Continent": continentFields,
    "Country": countryFields,
    "Language": languageFields,
    "State": stateFields,
    "Subdivision": subdivisionFields,
    "PostConnection": pageFields,
    "PostEdge": edgeFields,
    "Post": postFields,
    "CommentConnection": pageFields,
    "CommentEdge": edgeFields,
    "Comment": commentFields,
    "PageInfo": pageInfoFields,
    "User": userFields,
    "Tag": tagFields,
    "UploadedFile": uploadedFileFields,
    "Trouble": troubleFields,
  ].merging(introspectionFields) { $1 }.merging(listFields) { $1 }

  /// The field `__typename`, which every object has.
  static let typeName = FieldBehaviour(of: { $0 }) { entity, _, _ in .string(entity.typeName) }

  static func behaviour(of field: String, in type: String) -> FieldBehaviour? {
    field == "__typename" ? typeName : all[type]?[field]
  }

  /// The behaviours of the fields of a type, whose parents are of one kind.
  ///
  /// - Parameters:
  ///   - refusals: The errors for invalid arguments, by field.
  ///   - others: Fields that have a behaviour already.
  static func fields<Parent>(
    of parent: @escaping @Sendable (Entity) -> Parent?,
    refusals: [String: @Sendable (Arguments) -> RequestError?] = [:],
    _ bodies: [String: FieldBody<Parent>], others: [String: FieldBehaviour] = [:]
  ) -> [String: FieldBehaviour] {
    var fields = bodies.mapValues { FieldBehaviour(of: parent, $0) }
    for (name, refusal) in refusals { fields[name] = fields[name]?.refusing(refusal) }
    return fields.merging(others) { $1 }
  }
}

/// The value of a field or list element, before its own fields are resolved.
enum ResolvedValue: Sendable {
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
    _ elements: [T], _ make: @escaping @Sendable (T) -> ResolvedValue
  ) -> Self {
    .list(ResolvedList(count: elements.count) { make(elements[$0]) })
  }
}

/// A list whose elements are created when they are written.
struct ResolvedList: Sendable {
  let count: Int
  let element: @Sendable (Int) -> ResolvedValue
}

/// The coerced arguments of a field, with defaults.
typealias Arguments = JSONObject

/// Resolves a field of a parent.
typealias FieldBody<Parent> =
  @Sendable (Parent, Arguments, inout ResolverContext) -> ResolvedValue

/// How a field is resolved.
struct FieldBehaviour: Sendable {
  let resolve: @Sendable (Entity, Arguments, inout ResolverContext) -> ResolvedValue
  /// The error for invalid arguments, which makes the field fail for every parent.
  var refusal: @Sendable (Arguments) -> RequestError? = { _ in nil }
  /// Whether the field, or an element of its list, may fail for another reason.
  var mayFail = false

  /// Creates the behaviour of a field whose parent is of one kind.
  init<Parent>(
    of parent: @escaping @Sendable (Entity) -> Parent?, _ resolve: @escaping FieldBody<Parent>
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
    var copy = refusing(refusal)
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
  let lists: Lists
  let store: FeedStore
  /// The changes before the operation, and those by the operation itself.
  var edits: FeedEdits
}

/// An object of the response, from which its fields are resolved.
enum Entity: Sendable {
  /// The query or mutation.
  case root(OperationType)
  /// The root value of a subscription for one event.
  case event(SourceEvent)
  case continent(Continent)
  case country(Country)
  case language(Language)
  case state(Subdivision)
  case subdivision(Subdivision)

  case post(Post)
  case comment(any FeedComment)
  case user(User)
  case tag(Tag)

  case listed(ListedObject)
  /// The address of a customer.
  case address(ListedObject)
  /// A product by its number.
  case product(Int)

  /// A page of posts, comments or listed objects.
  indirect case page(ResolvedPage)
  /// An element of a connection, with the name of the edge's type, such as `PostEdge`.
  indirect case edge(typeName: String, node: Entity)
  indirect case pageInfo(ResolvedPage)

  case uploadedFile(UploadedFile)
  case trouble
  indirect case introspection(Introspection.Object)

  /// The name of the object type.
  var typeName: String {
    switch self {
    case .root(let operation): operation == .query ? "Query" : "Mutation"
    case .event: "Subscription"
    case .continent: "Continent"
    case .country: "Country"
    case .language: "Language"
    case .state: "State"
    case .subdivision: "Subdivision"
    case .post: "Post"
    case .comment: "Comment"
    case .user: "User"
    case .tag: "Tag"
    case .listed(let object): object.kind.typeName
    case .address: "Address"
    case .product: "Product"
    case .page(let page): "\(page.elementType)Connection"
    case .edge(let typeName, _): typeName
    case .pageInfo: "PageInfo"
    case .uploadedFile: "UploadedFile"
    case .trouble: "Trouble"
    case .introspection(let object): object.typeName
    }
  }
}

/// The introspection of the schema, by which the introspection fields are resolved.
///
/// https://spec.graphql.org/September2025/#sec-Introspection
enum Introspection {
  /// An object of an introspection type, with some or all of its members.
  struct Object: Sendable {
    let typeName: String
    let members: [String: IntrospectionValue]
  }

  private static let members: IntrospectionValue = Schema.demo.introspection["__schema"] ?? .null
  /// All members of each type by its name.
  private static let types: [String: IntrospectionValue] = Dictionary(
    (members["types"]?.list ?? []).map { ($0["name"]?.string ?? "", $0) },
    uniquingKeysWith: { first, _ in first })

  static let schema = resolved(members, as: "__Schema")

  /// The type with this name, for `__type`.
  static func type(_ name: String) -> ResolvedValue {
    resolved(types[name] ?? .null, as: "__Type")
  }

  /// The value of a field; where an object only refers to a type, that of the type.
  fileprivate static func value(
    of field: FieldDefinition, in object: Object, _ arguments: Arguments
  ) -> ResolvedValue {
    let name = field.name.value
    let value = object.members[name] ?? object.members["name"]?.string.flatMap { types[$0]?[name] }
    return resolved(
      value ?? .null, as: field.type.namedType.value,
      hidesDeprecated: arguments["includeDeprecated"]?.boolValue == false)
  }

  private static func resolved(
    _ value: IntrospectionValue, as type: String, hidesDeprecated: Bool = false
  ) -> ResolvedValue {
    switch value {
    case .null: .null
    case .boolean(let value): .boolean(value)
    case .number(let text), .string(let text): .string(text)
    case .object(let members):
      .object(.introspection(Object(typeName: type, members: members)))
    case .list(let values):
      .list(
        hidesDeprecated ? values.filter { $0["isDeprecated"] != .boolean(true) } : values
      ) { resolved($0, as: type) }
    }
  }
}

extension Resolvers {
  /// The fields of all introspection types.
  static let introspectionFields: [String: [String: FieldBehaviour]] = {
    let names = [
      "__Schema", "__Type", "__Field", "__InputValue", "__EnumValue", "__Directive", "__Service",
      "__Capability",
    ]
    return Dictionary(
      uniqueKeysWithValues: names.map { name in
        let fields = Schema.demo.type(named: name)?.fields ?? NamedList([])
        return (
          name, Dictionary(uniqueKeysWithValues: fields.map { ($0.name.value, behaviour(of: $0)) })
        )
      })
  }()

  private static func behaviour(of field: FieldDefinition) -> FieldBehaviour {
    FieldBehaviour(of: { if case .introspection(let object) = $0 { object } else { nil } }) {
      object, arguments, _ in Introspection.value(of: field, in: object, arguments)
    }
  }
}

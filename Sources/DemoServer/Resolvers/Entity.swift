import GQLRunLanguage

/// An object of the response, from which its fields are resolved.
enum Entity: Sendable {
  /// The query or mutation.
  case root(OperationType)
  /// The root value of a subscription for one event.
  case event(SourceEvent)
  case continent(Continent)
  case country(Country)
  case language(Language)
  case state(State)
  case subdivision(State)

  case postPage(Range<Int>)
  case post(Post)
  case postEdge(Post)
  case comment(Comment)
  indirect case addedComment(FeedEdits.AddedComment)
  case commentPage(CommentPage)
  case commentEdge(Comment)
  indirect case addedCommentEdge(FeedEdits.AddedComment)
  case pageInfo(PageInfo)
  case user(User)
  case tag(Tag)

  case uploadedFile(UploadedFile)
  case trouble
  indirect case introspection(IntrospectionNode)

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
    case .postPage: "PostConnection"
    case .post: "Post"
    case .postEdge: "PostEdge"
    case .comment, .addedComment: "Comment"
    case .commentPage: "CommentConnection"
    case .commentEdge, .addedCommentEdge: "CommentEdge"
    case .pageInfo: "PageInfo"
    case .user: "User"
    case .tag: "Tag"
    case .uploadedFile: "UploadedFile"
    case .trouble: "Trouble"
    case .introspection(let node): node.typeName
    }
  }
}

/// The first comments of a post: the generated ones, then the added ones.
struct CommentPage: Sendable {
  let post: Int
  let generated: Int
  let added: [FeedEdits.AddedComment]
  let total: Int
}

/// Whether a list has a next page, and its cursor.
struct PageInfo: Sendable {
  let hasNextPage: Bool
  let endCursor: String?
}

/// The objects that introspection types describe.
enum IntrospectionNode: Sendable {
  case schema
  case type(TypeReference)
  case field(FieldDefinition)
  case inputValue(InputValueDefinition)
  case enumValue(EnumValueDefinition)
  case directive(DirectiveDefinition)

  var typeName: String {
    switch self {
    case .schema: "__Schema"
    case .type: "__Type"
    case .field: "__Field"
    case .inputValue: "__InputValue"
    case .enumValue: "__EnumValue"
    case .directive: "__Directive"
    }
  }
}

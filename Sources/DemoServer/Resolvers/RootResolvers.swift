import GQLRunJSON

extension Resolvers {
  static let queryFields: [String: FieldBehaviour] = [
    "continent": root { arguments, context in
      .optional(context.geography.continent(arguments.text("code")).map(Entity.continent))
    },
    "continents": filtered(\.continents, as: Entity.continent) { ["code": [$0.code]] },
    "country": root { arguments, context in
      .optional(context.geography.country(arguments.text("code")).map(Entity.country))
    },
    "countries": filtered(\.countries, as: Entity.country) {
      [
        "code": [$0.code], "name": [$0.name], "continent": [$0.continent],
        "currency": $0.currencies,
      ]
    },
    "language": root { arguments, context in
      .optional(context.geography.language(arguments.text("code")).map(Entity.language))
    },
    "languages": filtered(\.languages, as: Entity.language) { ["code": [$0.code]] },
    "feed": root { arguments, context in
      let after = arguments["after"]?.stringValue.flatMap(Cursor.init)?.number
      let all = NumberList(rest: 0..<context.feed.size)
      let positions = all.page(after: after, first: arguments["first"]?.intValue ?? 0)
      return .object(
        .page(
          ResolvedPage(elementType: "Post", total: all.count, positions: positions) {
            .post(Post(number: $0))
          }))
    }.refusing { $0.refusal(of: "first") ?? badCursor($0, isPost: true) },
    "node": root { arguments, context in .optional(node(arguments.text("id"), context)) },
    "nodes": root { [node] arguments, context in
      let context = context
      let ids = (arguments["ids"]?.arrayValue ?? []).compactMap(\.stringValue)
      return .list(ids) { .optional(node($0, context)) }
    },
    "user": root { arguments, context in
      guard case .user(let user)? = node(arguments.text("id"), context) else { return .null }
      return .object(.user(user))
    },
    "users": root { arguments, context in
      let role = arguments["role"]?.stringValue
      let users = (0..<min(maxSearched, context.feed.userCount)).map(User.init)
      let found = users.filter { role == nil || $0.role == role }
      return .list(Array(found.prefix(arguments["first"]?.intValue ?? 0))) { .object(.user($0)) }
    }.refusing { $0.refusal(of: "first") },
    "post": root { arguments, context in
      guard let post = post(arguments.text("id"), context) else { return .null }
      return .object(.post(post))
    },
    "search": root { arguments, context in
      let text = arguments.text("text")
      let posts = (0..<min(maxSearched, context.feed.size)).map(Post.init)
      let users = (0..<min(maxSearched, context.feed.userCount)).map(User.init)
      let found =
        posts.filter { $0.title.text.contains(text) }.map(Entity.post)
        + users.filter { $0.login.contains(text) }.map(Entity.user)
      return .list(Array(found.prefix(arguments["first"]?.intValue ?? 0))) { .object($0) }
    }.refusing { $0.refusal(of: "first") },
    "trouble": root { _, _ in .object(.trouble) },
    "__schema": root { _, _ in Introspection.schema },
    "__service": root { _, _ in Introspection.service },
    "__type": root { arguments, _ in Introspection.type(arguments.text("name")) },
  ]

  static let mutationFields: [String: FieldBehaviour] = [
    "likePost": root { arguments, context in
      guard let post = post(arguments.text("id"), context) else { return .null }
      return changing(&context) { (store) throws(RequestError) in
        (.post(post), try store.like(post.number))
      }
    }.failing(),
    "addComment": root { arguments, context in
      let input = arguments["input"]?.objectValue ?? [:]
      let id = input.text("postId")
      guard let post = post(id, context) else {
        return .failure(RequestError(.notFound, "There is no post with the id \"\(id)\"."))
      }
      return changing(&context) { (store) throws(RequestError) in
        try store.change { (edits) throws(RequestError) in
          .comment(try edits.addComment(to: post.number, body: input.text("body")))
        }
      }
    }.failing(),
    "uploadFile": root { arguments, _ in
      .optional(UploadedFile(arguments["file"]).map(Entity.uploadedFile))
    },
    "uploadFiles": root { arguments, _ in describe(arguments["files"]) },
    "attach": root { arguments, _ in describe(arguments["input"]?["attachments"]) },
  ]

  private static func describe(_ files: JSONValue?) -> ResolvedValue {
    .list((files?.arrayValue ?? []).compactMap(UploadedFile.init)) { .object(.uploadedFile($0)) }
  }

  /// The number of posts and users that a search inspects.
  private static let maxSearched = 1000

  /// The node with this id.
  @Sendable private static func node(_ id: String, _ context: ResolverContext) -> Entity? {
    if let post = post(id, context) { return .post(post) }
    if let object = ListedObject(id: id), object.kind.isNode, context.lists.contains(object) {
      return .listed(object)
    }
    if let added = context.edits.comment(id: id) { return .comment(added) }
    if let number = number(in: id, after: "U_"), number < context.feed.userCount {
      return .user(User(number: number))
    }
    if let number = number(in: id, after: "T_"), number < Feed.tagCount {
      return .tag(Tag(number: number))
    }
    if let number = number(in: id, after: "C_"), number > 0,
      number <= context.feed.size * Feed.commentsPerPost
    {
      return .comment(Comment(number: number))
    }
    return nil
  }

  /// A field with the records that pass the argument `filter`.
  private static func filtered<Record: Sendable>(
    _ records: @escaping @Sendable (Geography) -> [Record],
    as entity: @escaping @Sendable (Record) -> Entity,
    values: @escaping @Sendable (Record) -> [String: [String]]
  ) -> FieldBehaviour {
    root { arguments, context in
      do throws(RequestError) {
        let records = records(context.geography)
        return .list(try RecordFilter(arguments).select(records, values: values)) {
          .object(entity($0))
        }
      } catch {
        return .failure(error)
      }
    }.failing(RecordFilter.failure)
  }

  static func post(_ id: String, _ context: ResolverContext) -> Post? {
    guard let number = number(in: id, after: "P_"), number < context.feed.size else { return nil }
    return Post(number: number)
  }

  /// The number in an id such as `P_17`; `nil` unless the id has this server's canonical form.
  private static func number(in id: String, after prefix: String) -> Int? {
    guard id.hasPrefix(prefix), let number = Int(id.dropFirst(prefix.count)), number >= 0,
      id == "\(prefix)\(number)"
    else { return nil }
    return number
  }

  /// An error if `after` is not the cursor of a post, or else of a comment.
  static func badCursor(_ arguments: Arguments, isPost: Bool) -> RequestError? {
    guard let after = arguments["after"]?.stringValue else { return nil }
    if let kind = Cursor(after)?.kind, (kind == .post) == isPost { return nil }
    let noun = isPost ? "post" : "comment"
    return RequestError(.badUserInput, "Argument \"after\" is not the cursor of a \(noun).")
  }

  static func changing(
    _ context: inout ResolverContext,
    _ change: (FeedStore) throws(RequestError) -> (Entity, FeedEdits)
  ) -> ResolvedValue {
    do throws(RequestError) {
      let (entity, edits) = try change(context.store)
      context.edits = edits
      return .object(entity)
    } catch {
      return .failure(error)
    }
  }

  static func root(
    _ body: @escaping @Sendable (Arguments, inout ResolverContext) -> ResolvedValue
  ) -> FieldBehaviour {
    FieldBehaviour(of: { if case .root = $0 { true } else { nil } }) { _, arguments, context in
      body(arguments, &context)
    }
  }
}

extension Arguments {
  /// The text of a required argument.
  func text(_ name: String) -> String { self[name]?.stringValue ?? "" }

  /// The error of a number that is negative, or above a limit; `nil` for any other value.
  func refusal(of name: String, above most: Int? = nil) -> RequestError? {
    guard let number = self[name]?.intValue, number < 0 || number > most ?? .max else { return nil }
    let range = most.map { "from 0 to \($0)" } ?? "at least 0"
    return RequestError(.badUserInput, "Argument \"\(name)\" must be \(range); it is \(number).")
  }
}

extension Resolvers {
  static let subscriptionFields: [String: FieldBehaviour] = [
    "likesChanged": event { event, _ in
      guard case .liked(let post, _) = event else { return nil }
      return .object(.post(post))
    },
    "countdown": event { event, arguments in
      guard case .count(let number) = event else { return nil }
      return arguments["failAt"]?.intValue == number
        ? .failure(RequestError(code: "DEMO_ERROR", "The number \(number) fails.")) : .int(number)
    }.failing { $0.refusal(of: "from") ?? $0.refusal(of: "delay", above: 60_000) },
  ]

  private static func event(
    _ body: @escaping @Sendable (SourceEvent, Arguments) -> ResolvedValue?
  ) -> FieldBehaviour {
    FieldBehaviour(of: { if case .event(let event) = $0 { event } else { nil } }) {
      event, arguments, _ in
      body(event, arguments)
        ?? .failure(RequestError(.internalServerError, "The event is one of another field."))
    }
  }
}

extension Resolvers {
  static let uploadedFileFields = fields(
    of: { entity -> UploadedFile? in
      if case .uploadedFile(let value) = entity { value } else { nil }
    },
    [
      "filename": { file, _, _ in .string(file.fileName) },
      "contentType": { file, _, _ in .string(file.contentType) },
      "size": { file, _, _ in .int(file.size) },
      "sha256": { file, _, _ in .string(file.sha256) },
    ])
}

extension Resolvers {
  static let troubleFields: [String: FieldBehaviour] = [
    "ok": trouble { _ in .string("ok") },
    "error": trouble(fail).failing(),
    "requiredError": trouble(fail).failing(),
    "items": trouble(items).failing { $0.refusal(of: "size", above: maxItems) },
    "requiredItems": trouble(items).failing { $0.refusal(of: "size", above: maxItems) },
    "nested": trouble { _ in .object(.trouble) },
    "requiredNested": trouble { _ in .object(.trouble) },
  ]

  private static let maxItems = 10_000

  @Sendable private static func fail(_ arguments: Arguments) -> ResolvedValue {
    let message = arguments["message"]?.stringValue ?? "This field always fails."
    return .failure(
      RequestError(code: arguments["code"]?.stringValue ?? "DEMO_ERROR", message))
  }

  @Sendable private static func items(_ arguments: Arguments) -> ResolvedValue {
    let failEvery = arguments["failEvery"]?.intValue ?? 0
    return .list(
      ResolvedList(count: arguments["size"]?.intValue ?? 0) { index in
        failEvery > 0 && (index + 1) % failEvery == 0
          ? .failure(RequestError(code: "DEMO_ERROR", "Element \(index) fails."))
          : .int(index)
      })
  }

  private static func trouble(
    _ body: @escaping @Sendable (Arguments) -> ResolvedValue
  ) -> FieldBehaviour {
    FieldBehaviour(of: { if case .trouble = $0 { true } else { nil } }) { _, arguments, _ in
      body(arguments)
    }
  }
}

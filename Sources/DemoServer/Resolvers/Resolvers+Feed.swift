import GQLRunJSON

extension Resolvers {
  static let postPageFields: [String: FieldBehaviour] = [
    "totalCount": postPage { _, _, context in .int(context.feed.size) },
    "edges": postPage { page, _, _ in
      .list(
        ResolvedList(count: page.count) { .object(.postEdge(Post(number: page.lowerBound + $0))) })
    },
    "pageInfo": postPage { page, _, context in
      .object(
        .pageInfo(
          PageInfo(
            hasNextPage: page.upperBound < context.feed.size,
            endCursor: page.last.map { Post(number: $0).cursor.text })))
    },
  ]

  static let postEdgeFields: [String: FieldBehaviour] = [
    "cursor": postEdge { post, _, _ in .string(post.cursor.text) },
    "node": postEdge { post, _, _ in .object(.post(post)) },
  ]

  static let postFields: [String: FieldBehaviour] = [
    "id": post { post, _, _ in .string(post.id) },
    "title": post { post, _, _ in .text(post.title) },
    "body": post { post, _, _ in .text(post.body) },
    "publishedAt": post { post, _, _ in .string(post.publishedAt) },
    "likeCount": likeCount,
    "likes": likeCount,
    "ratio": post { post, _, _ in .float(post.ratio) },
    "isPinned": post { post, _, _ in .boolean(post.isPinned) },
    "author": post { post, _, _ in .object(.user(post.author)) },
    "tags": post { post, _, _ in .list(post.tags) { .object(.tag($0)) } },
    "comments": post { post, arguments, context in
      let first = arguments["first"]?.intValue ?? 0
      let added = context.edits.comments(of: post.number)
      let generated = min(first, Feed.commentsPerPost)
      return .object(
        .commentPage(
          CommentPage(
            post: post.number, generated: generated,
            added: Array(added.prefix(max(0, first - generated))),
            total: Feed.commentsPerPost + added.count)))
    }.refusing(negativeFirst),
  ]

  static let commentPageFields: [String: FieldBehaviour] = [
    "totalCount": commentPage { page, _, _ in .int(page.total) },
    "edges": commentPage { page, _, _ in
      .list(
        ResolvedList(count: page.generated + page.added.count) { index in
          index < page.generated
            ? .object(.commentEdge(Post(number: page.post).comment(index)))
            : .object(.addedCommentEdge(page.added[index - page.generated]))
        })
    },
    "pageInfo": commentPage { page, _, _ in
      let last =
        page.added.last?.cursor
        ?? (page.generated == 0
          ? nil : Post(number: page.post).comment(page.generated - 1).cursor.text)
      let count = page.generated + page.added.count
      return .object(.pageInfo(PageInfo(hasNextPage: count < page.total, endCursor: last)))
    },
  ]

  static let commentEdgeFields: [String: FieldBehaviour] = [
    "cursor": commentEdge(
      generated: { .string($0.cursor.text) }, added: { .string($0.cursor) }),
    "node": commentEdge(
      generated: { .object(.comment($0)) }, added: { .object(.addedComment($0)) }),
  ]

  static let commentFields: [String: FieldBehaviour] = [
    "id": comment(generated: { .string($0.id) }, added: { .string($0.id) }),
    "body": comment(generated: { .text($0.body) }, added: { .string($0.body) }),
    "createdAt": comment(
      generated: { .string($0.createdAt) }, added: { _ in .string("2026-11-20T00:00:00.000Z") }),
    "author": comment(
      generated: { .object(.user($0.author)) }, added: { _ in .object(.user(User(number: 1))) }),
    "score": comment(generated: { .int($0.score) }, added: { _ in .int(0) }),
  ]

  static let pageInfoFields: [String: FieldBehaviour] = [
    "hasNextPage": pageInfo { info, _, _ in .boolean(info.hasNextPage) },
    "endCursor": pageInfo { info, _, _ in .optional(info.endCursor) },
  ]

  static let userFields: [String: FieldBehaviour] = [
    "id": user { user, _, _ in .string(user.id) },
    "login": user { user, _, _ in .string(user.login) },
    "name": user { user, _, _ in .optional(user.name) },
    "bio": user { user, _, _ in .text(user.bio) },
    "avatarUrl": user { user, _, _ in .string(user.avatarUrl) },
    "followers": user { user, _, _ in .int(user.followers) },
    "reputation": user { user, _, _ in .float(user.reputation) },
    "role": user { user, _, _ in .string(user.role) },
  ]

  static let tagFields: [String: FieldBehaviour] = [
    "id": tag { tag, _, _ in .string(tag.id) },
    "name": tag { tag, _, _ in .string(tag.name) },
    "color": tag { tag, _, _ in .optional(tag.color) },
  ]

  /// An error if `first` is negative.
  @Sendable static func negativeFirst(_ arguments: Arguments) -> RequestError? {
    guard let first = arguments["first"]?.intValue, first < 0 else { return nil }
    return RequestError(
      .badUserInput, "Argument \"first\" must be at least 0; it is \(first).")
  }

  private static let likeCount = post { post, _, context in
    .int(post.likeCount + context.edits.likes(of: post.number))
  }

  private typealias Body<Parent> =
    @Sendable (Parent, Arguments, inout ResolverContext) -> Resolved

  private static func postPage(_ body: @escaping Body<Range<Int>>) -> FieldBehaviour {
    FieldBehaviour(of: { if case .postPage(let page) = $0 { page } else { nil } }, body)
  }

  private static func postEdge(_ body: @escaping Body<Post>) -> FieldBehaviour {
    FieldBehaviour(of: { if case .postEdge(let post) = $0 { post } else { nil } }, body)
  }

  private static func post(_ body: @escaping Body<Post>) -> FieldBehaviour {
    FieldBehaviour(of: { if case .post(let post) = $0 { post } else { nil } }, body)
  }

  private static func commentPage(_ body: @escaping Body<CommentPage>) -> FieldBehaviour {
    FieldBehaviour(of: { if case .commentPage(let page) = $0 { page } else { nil } }, body)
  }

  private static func commentEdge(
    generated: @escaping @Sendable (Comment) -> Resolved,
    added: @escaping @Sendable (FeedEdits.AddedComment) -> Resolved
  ) -> FieldBehaviour {
    FieldBehaviour(of: { entity -> Resolved? in
      switch entity {
      case .commentEdge(let comment): generated(comment)
      case .addedCommentEdge(let comment): added(comment)
      default: nil
      }
    }) { resolved, _, _ in resolved }
  }

  private static func comment(
    generated: @escaping @Sendable (Comment) -> Resolved,
    added: @escaping @Sendable (FeedEdits.AddedComment) -> Resolved
  ) -> FieldBehaviour {
    FieldBehaviour(of: { entity -> Resolved? in
      switch entity {
      case .comment(let comment): generated(comment)
      case .addedComment(let comment): added(comment)
      default: nil
      }
    }) { resolved, _, _ in resolved }
  }

  private static func pageInfo(_ body: @escaping Body<PageInfo>) -> FieldBehaviour {
    FieldBehaviour(of: { if case .pageInfo(let info) = $0 { info } else { nil } }, body)
  }

  private static func user(_ body: @escaping Body<User>) -> FieldBehaviour {
    FieldBehaviour(of: { if case .user(let user) = $0 { user } else { nil } }, body)
  }

  private static func tag(_ body: @escaping Body<Tag>) -> FieldBehaviour {
    FieldBehaviour(of: { if case .tag(let tag) = $0 { tag } else { nil } }, body)
  }
}

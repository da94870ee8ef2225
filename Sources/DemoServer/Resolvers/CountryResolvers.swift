import GQLRunJSON

extension Resolvers {
  static let continentFields = fields(
    of: { entity -> Continent? in if case .continent(let value) = entity { value } else { nil } },
    [
      "code": { continent, _, _ in .string(continent.code) },
      "name": { continent, _, _ in .string(continent.name) },
      "countries": { continent, _, context in
        .list(context.geography.countries(of: continent)) { .object(.country($0)) }
      },
    ])

  static let countryFields = fields(
    of: { entity -> Country? in if case .country(let value) = entity { value } else { nil } },
    [
      "code": { country, _, _ in .string(country.code) },
      "name": { country, arguments, context in
        .string(context.geography.name(of: country, in: arguments["lang"]?.stringValue))
      },
      "native": { country, _, _ in .string(country.native) },
      "phone": { country, _, _ in .string(country.phone) },
      "phones": { country, _, _ in .list(country.phones, ResolvedValue.string) },
      "capital": { country, _, _ in .optional(country.capital) },
      "currency": { country, _, _ in .optional(country.currency) },
      "currencies": { country, _, _ in .list(country.currencies, ResolvedValue.string) },
      "continent": { country, _, context in
        .optional(context.geography.continent(country.continent).map(Entity.continent))
      },
      "languages": { country, _, context in
        .list(country.languages.compactMap(context.geography.language)) { .object(.language($0)) }
      },
      "emoji": { country, _, _ in .string(country.emoji) },
      "emojiU": { country, _, _ in .string(country.emojiCodePoints) },
      "states": { country, _, _ in .list(country.states) { .object(.state($0)) } },
      "subdivisions": { country, _, _ in
        .list(country.states) { .object(.subdivision($0)) }
      },
    ])

  static let languageFields = fields(
    of: { entity -> Language? in if case .language(let value) = entity { value } else { nil } },
    [
      "code": { language, _, _ in .string(language.code) },
      "name": { language, _, _ in .string(language.name) },
      "native": { language, _, _ in .string(language.native) },
      "rtl": { language, _, _ in .boolean(language.isRightToLeft) },
      "countries": { language, _, context in
        .list(context.geography.countries(speaking: language)) { .object(.country($0)) }
      },
    ])

  static let stateFields = fields(
    of: { entity -> Subdivision? in if case .state(let value) = entity { value } else { nil } },
    [
      "code": { state, _, _ in .string(state.code) },
      "name": { state, _, _ in .string(state.name) },
      "country": { state, _, context in
        .optional(context.geography.country(state.countryCode).map(Entity.country))
      },
    ])

  static let subdivisionFields = fields(
    of: { entity -> Subdivision? in if case .subdivision(let value) = entity { value } else { nil }
    },
    [
      "code": { state, _, _ in .string(state.code) },
      "name": { state, _, _ in .string(state.name) },
      "emoji": { state, _, _ in .optional(state.emoji) },
    ])
}

extension Resolvers {
  static let postFields = fields(
    of: { entity -> Post? in if case .post(let value) = entity { value } else { nil } },
    refusals: ["comments": { $0.refusal(of: "first") ?? badCursor($0, isPost: false) }],
    [
      "id": { post, _, _ in .string(post.id) },
      "title": { post, _, _ in .text(post.title) },
      "body": { post, _, _ in .text(post.body) },
      "publishedAt": { post, _, _ in .string(post.publishedAt) },
      "likeCount": likeCount,
      "likes": likeCount,
      "ratio": { post, _, _ in .float(post.ratio) },
      "isPinned": { post, _, _ in .boolean(post.isPinned) },
      "author": { post, _, _ in .object(.user(post.author)) },
      "tags": { post, _, _ in .list(post.tags) { .object(.tag($0)) } },
      "comments": { post, arguments, context in
        let first = max(arguments["first"]?.intValue ?? 0, 0)
        let generated: [any FeedComment] = (0..<Feed.commentsPerPost).map(post.comment)
        let all = generated + context.edits.comments(of: post.number)
        let after = arguments["after"]?.stringValue.flatMap(Cursor.init)
        // After a comment of another post there is none.
        let start =
          after.map { after in
            all.firstIndex { $0.cursor == after }.map { $0 + 1 } ?? all.count
          } ?? 0
        let end = start + min(first, all.count - start)
        return .object(
          .page(
            ResolvedPage(elementType: "Comment", total: all.count, positions: start..<end) {
              .comment(all[$0])
            }))
      },
    ])

  static let commentFields = fields(
    of: { entity -> (any FeedComment)? in
      if case .comment(let value) = entity { value } else { nil }
    },
    [
      "id": { comment, _, _ in .string(comment.id) },
      "body": { comment, _, _ in comment.text },
      "createdAt": { comment, _, _ in .string(comment.createdAt) },
      "author": { comment, _, _ in .object(.user(comment.author)) },
      "score": { comment, _, _ in .int(comment.score) },
    ])

  static let userFields = fields(
    of: { entity -> User? in if case .user(let value) = entity { value } else { nil } },
    [
      "id": { user, _, _ in .string(user.id) },
      "login": { user, _, _ in .string(user.login) },
      "name": { user, _, _ in .optional(user.name) },
      "bio": { user, _, _ in .text(user.bio) },
      "avatarUrl": { user, _, _ in .string(user.avatarUrl) },
      "followers": { user, _, _ in .int(user.followers) },
      "reputation": { user, _, _ in .float(user.reputation) },
      "role": { user, _, _ in .string(user.role) },
    ])

  static let tagFields = fields(
    of: { entity -> Tag? in if case .tag(let value) = entity { value } else { nil } },
    [
      "id": { tag, _, _ in .string(tag.id) },
      "name": { tag, _, _ in .string(tag.name) },
      "color": { tag, _, _ in .optional(tag.color) },
    ])

  private static let likeCount: FieldBody<Post> = { post, _, context in
    .int(post.likeCount + context.edits.likes(of: post.number))
  }
}

/// A comment of a post: a generated one, or one that a mutation has added.
protocol FeedComment: Sendable {
  var id: String { get }
  var text: ResolvedValue { get }
  var createdAt: String { get }
  var author: User { get }
  var score: Int { get }
  var cursor: Cursor { get }
}

extension Comment: FeedComment {
  var text: ResolvedValue { .text(body) }
}

extension FeedEdits.AddedComment: FeedComment {
  var text: ResolvedValue { .string(body) }
  var createdAt: String { "2026-11-20T00:00:00.000Z" }
  var author: User { User(number: 1) }
  var score: Int { 0 }
}

import GQLRunJSON

/// A page of a connection, whose elements are created when they are written.
struct ResolvedPage: Sendable {
  /// The name of the elements' type, such as `Post`.
  let elementType: String
  /// The number of elements on all pages.
  let total: Int
  /// The number of elements on the page.
  let count: Int
  let hasNextPage: Bool
  /// The element at a position of the page.
  let element: @Sendable (Int) -> Entity
}

/// An element of a connection.
struct ResolvedEdge: Sendable {
  /// The name of the edge's type, such as `PostEdge`.
  let typeName: String
  let node: Entity
}

/// Whether a list has a next page, and its cursor.
struct PageInfo: Sendable {
  let hasNextPage: Bool
  let endCursor: String?
}

extension Entity {
  /// The cursor of an element of a connection.
  fileprivate var cursor: String? {
    switch self {
    case .post(let post): post.cursor.text
    case .comment(let comment): comment.cursor.text
    case .listed(let object): object.cursor
    default: nil
    }
  }
}

extension Resolvers {
  /// The fields of connections of ``ListedObject``.
  static let connectionFields = fields(
    of: connection,
    [
      "nodes": { page, _, _ in
        .list(ResolvedList(count: page.count) { .object(page.element($0)) })
      }
    ], others: pageFields)

  /// The fields of all connections.
  static let pageFields = fields(
    of: connection,
    [
      "totalCount": { page, _, _ in .int(page.total) },
      "edges": { page, _, _ in
        let typeName = "\(page.elementType)Edge"
        return .list(
          ResolvedList(count: page.count) {
            .object(.edge(ResolvedEdge(typeName: typeName, node: page.element($0))))
          })
      },
      "pageInfo": { page, _, _ in
        let last = page.count > 0 ? page.element(page.count - 1) : nil
        return .object(
          .pageInfo(PageInfo(hasNextPage: page.hasNextPage, endCursor: last?.cursor)))
      },
    ])

  @Sendable private static func connection(_ entity: Entity) -> ResolvedPage? {
    if case .page(let value) = entity { value } else { nil }
  }

  static let edgeFields = fields(
    of: { entity -> ResolvedEdge? in if case .edge(let value) = entity { value } else { nil } },
    [
      "cursor": { edge, _, _ in .optional(edge.node.cursor) },
      "node": { edge, _, _ in .object(edge.node) },
    ])

  static let pageInfoFields = fields(
    of: { entity -> PageInfo? in if case .pageInfo(let value) = entity { value } else { nil } },
    [
      "hasNextPage": { info, _, _ in .boolean(info.hasNextPage) },
      "endCursor": { info, _, _ in .optional(info.endCursor) },
    ])
}

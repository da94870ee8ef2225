/// A page of a connection, whose elements are created when they are written.
struct ResolvedPage: Sendable {
  /// The name of the elements' type, such as `Post`.
  let elementType: String
  /// The number of elements on all pages.
  let total: Int
  /// The positions of the page's elements among those of all pages.
  let positions: Range<Int>
  /// The element at a position.
  let element: @Sendable (Int) -> Entity

  func list(_ make: @escaping @Sendable (Entity) -> ResolvedValue) -> ResolvedValue {
    .list(ResolvedList(count: positions.count) { make(element(positions.lowerBound + $0)) })
  }
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
    of: connection, ["nodes": { page, _, _ in page.list { .object($0) } }], others: pageFields)

  /// The fields of all connections.
  static let pageFields = fields(
    of: connection,
    [
      "totalCount": { page, _, _ in .int(page.total) },
      "edges": { page, _, _ in
        let typeName = "\(page.elementType)Edge"
        return page.list { .object(.edge(typeName: typeName, node: $0)) }
      },
      "pageInfo": { page, _, _ in .object(.pageInfo(page)) },
    ])

  @Sendable private static func connection(_ entity: Entity) -> ResolvedPage? {
    if case .page(let value) = entity { value } else { nil }
  }

  static let edgeFields = fields(
    of: { entity -> Entity? in if case .edge(_, let node) = entity { node } else { nil } },
    [
      "cursor": { node, _, _ in .optional(node.cursor) },
      "node": { node, _, _ in .object(node) },
    ])

  static let pageInfoFields = fields(
    of: { entity -> ResolvedPage? in if case .pageInfo(let value) = entity { value } else { nil } },
    [
      "hasNextPage": { page, _, _ in .boolean(page.positions.upperBound < page.total) },
      "endCursor": { page, _, _ in .optional(page.positions.last.map(page.element)?.cursor) },
    ])
}

import GQLRunCache
import GQLRunPipeline

/// Finds connections in the results of an operation that have more pages than its tasks request.
///
/// A task with such a connection fails: its output would be incomplete without a sign of it.
struct CompletenessCheck: Sendable {
  /// The beginning of the messages of tasks that are incomplete, by which reports count them.
  static let prefix = "incomplete: "

  private let pages: UnreadPages
  private let pagination: Pagination?
  private let emit: ResultPath?
  /// The response keys of the connection whose pages are those of the task.
  private let followed: [String]?

  /// Creates the check of an operation; `nil` if it selects no `hasNextPage`.
  init?(_ operation: BatchOperation) {
    var fields = operation.template.connectionFields()
    var followed: [String]?
    switch operation.pagination?.style {
    case .connection(let path, _)?: followed = path.keys
    case .offset(_, let items)?:
      // Its pages are requested until one is empty.
      fields.removeAll { Self.lists(items, of: $0.keys) }
    case nil: break
    }
    guard !fields.isEmpty else { return nil }
    pages = UnreadPages(fields)
    pagination = operation.pagination
    emit = operation.emit
    self.followed = followed
  }

  /// Whether the path leads to a list, or to the list of a connection, with these response keys.
  static func lists(_ items: ResultPath, of keys: [String]) -> Bool {
    items.keys == keys || items.keys.dropLast() == keys[...]
  }

  /// The paths of the connections whose further pages the operation does not request.
  var openPaths: [String] {
    let nested = (pagination?.nested ?? []).map { (emit?.keys ?? []) + $0.path.keys }
    return pages.connections.map(\.field)
      .filter { $0.keys != followed && !nested.contains($0.keys) }.map(\.path)
  }

  /// The message about the connections of a page that have more pages; `nil` if there are none.
  ///
  /// - Parameters:
  ///   - isAnnounced: Whether the page before has announced this one.
  ///   - hasMore: Whether the next page of the task is requested.
  ///   - hasErrors: Whether the page has GraphQL errors, which may be the reason of a value that is null.
  func problem(
    in data: any ResultData, isAnnounced: Bool, hasMore: Bool, hasErrors: Bool
  ) throws -> String? {
    var pages = pages
    pages.beginResult()
    try data.forEachChunk { pages.read($0) }
    var notes = pages.unread.compactMap { connection -> String? in
      let isFollowed = hasMore && connection.field.keys == followed
      let unread = connection.unread - (isFollowed ? 1 : 0)
      guard unread > 0 else { return nil }
      return
        "`\(connection.field.path)` has more pages (hasNextPage is true in \(unread) of "
        + "\(connection.count)): \(advice(connection))"
    }
    if !hasErrors {
      notes += pages.unknown.map(\.unknownNote)
      notes += pages.connections.filter {
        isAnnounced && $0.field.keys == followed && $0.count == 0 && $0.unknown == 0
      }.map { "a page of `\($0.field.path)` is null, and the page before it has a next one" }
    }
    return notes.isEmpty ? nil : Self.prefix + notes.joined(separator: "; ")
  }

  /// What would request the further pages, or accept a result without them.
  ///
  /// Depends on the shape of the result alone, so that tasks with the same reason have the same message.
  private func advice(_ connection: UnreadPages.Connection) -> String {
    let field = connection.field
    let base = emit?.keys ?? []
    let isInRecord = field.keys.count > base.count && field.keys.starts(with: base)
    let isInList = connection.lists.contains { $0 > 0 }
    if isInList, isInRecord, connection.lists.last == 0 {
      let path = connection.resultPath(dropping: base.count)
      return
        "complete it with `nested: [{ path: \(path), type: … }]` of `paginate`; if the first page is enough, do "
        + "not select its `hasNextPage`"
    }
    guard pagination?.style == nil, !isInList else {
      return
        "request it in another operation; if the first page is enough, do not select its `hasNextPage`"
    }
    let name = field.keys.last ?? ""
    let cursor = field.variable.map { $0 == "after" ? "" : ", cursor: \($0)" } ?? ""
    let follow = "follow it with `paginate: { connection: \(field.path)\(cursor) }`"
    let last = "; if the first page is enough, add `paginate: none`"
    guard field.variable != nil else {
      return "pass a variable as its cursor, such as `\(name)(after: $after)`, and \(follow)\(last)"
    }
    if field.hasAlias {
      return "select its `pageInfo { hasNextPage endCursor }` without aliases, and \(follow)\(last)"
    }
    return (field.endCursor.isEmpty ? "select its `endCursor`, and " : "") + follow + last
  }
}

extension ConnectionField {
  /// Whether the document has only other names for what `paginate` reads: `pageInfo { hasNextPage endCursor }`.
  var hasAlias: Bool {
    !hasNextPage.contains(["pageInfo", "hasNextPage"])
      || !endCursor.isEmpty && !endCursor.contains(["pageInfo", "endCursor"])
  }
}

import GQLRunJSON
import GQLRunLanguage

/// How the pages of a field are joined into one stored list; without a policy, each page replaces
/// the stored one.
public enum PagePolicy: String, Sendable, Hashable, CaseIterable {
  /// Pages of a connection, joined by cursor: a page `after` the stored end is appended, one
  /// `before` the stored start is prepended, one with neither replaces the list. A page that is not
  /// adjacent is ignored with a warning.
  ///
  /// https://relay.dev/graphql/connections.htm
  case connection
  /// Pages that start at the argument `offset` (or `skip`): their elements replace those from that
  /// index on. A page that would leave a gap is ignored with a warning.
  case offset
  /// Every page is appended, without entities that the list already contains.
  case append

  /// The arguments that select a page; they are not part of the stored field name.
  var pageArguments: Set<String> {
    switch self {
    case .connection: ["first", "last", "after", "before"]
    case .offset: ["offset", "skip", "limit", "first", "take"]
    case .append:
      ["first", "last", "after", "before", "offset", "skip", "limit", "take", "page", "cursor"]
    }
  }
}

/// One page that an operation selects, with its arguments.
struct PageRule: Sendable, Hashable {
  var policy: PagePolicy
  /// The field name that all pages share.
  var storedKey: String
  var after: String?
  var before: String?
  /// The index of the first element; `nil` if the argument is no index.
  var offset: Int? = 0

  /// The page that `field` selects; `nil` if it is the whole list or its start, which replaces the
  /// stored list.
  init?(_ policy: PagePolicy, _ field: Field, storedKey: String, variables: JSONObject) {
    func argument(_ names: String...) -> JSONValue? {
      for name in names {
        let given = field.arguments.first { $0.name.value == name }
        let value = given.flatMap { JSONValue($0.value, variables: variables) }
        if let value, value != .null { return value }
      }
      return nil
    }
    self.policy = policy
    self.storedKey = storedKey
    switch policy {
    case .connection:
      after = argument("after")?.identifier
      before = argument("before")?.identifier
      if after == nil && before == nil { return nil }
    case .offset:
      guard let value = argument("offset", "skip") else {
        // A limited number of elements, from the start.
        if argument("limit", "first", "take") == nil { return nil }
        return
      }
      offset = value.identifier.flatMap { Int($0) }.flatMap { $0 < 0 ? nil : $0 }
    case .append: break
    }
  }

  /// The quoted names of the lists of a connection.
  static let lists = ["\"edges\"", "\"nodes\""].map { Array($0.utf8) }

  /// The prefix of a page's name in records of a response that is not committed.
  static let mark: StaticString = "\"$page"

  /// The name under which the page of the rule with `index` is stored until the commit.
  static func waitingKey(_ index: Int, _ storedKey: String) -> String {
    "$page\(index):\(storedKey)"
  }
}

extension JSONValue {
  /// A cursor or an id as text; some servers use numbers.
  var identifier: String? {
    switch self {
    case .string(let text): text
    case .number(let number): number.text
    default: nil
    }
  }
}

/// The records of a batch with pages to join.
struct Paging: Sendable {
  let rules: [PageRule]
  let keys: [[UInt8]]
}

extension RecordBatch {
  /// The batch, with the keys of its records that contain pages.
  func noting(pagesOf plan: OperationPlan) -> RecordBatch {
    guard !plan.pages.isEmpty else { return self }
    var keys: [[UInt8]] = []
    for index in table.live where !Segments.isSegment(key: table.key(at: index)) {
      // The elements of a segmented list may contain pages as well.
      if Self.mayHoldPages(table.text(at: index)) { keys.append(table.key(at: index).array) }
    }
    guard !keys.isEmpty else { return self }
    var result = self
    result.paging = Paging(rules: plan.pages, keys: keys)
    return result
  }

  static func mayHoldPages(_ text: Bytes) -> Bool {
    text.contains(PageRule.mark, or: "\"$segments\":")
  }
}

import GQLRunJSON
import GQLRunLanguage

/// How the pages of a field become one stored list, instead of each replacing what was there.
public enum PagePolicy: String, Sendable, Hashable, CaseIterable {
  /// Pages of a connection, told apart by cursors: one that is asked for `after` the stored end is
  /// appended, one `before` the stored start is prepended, and one with neither begins anew. A page
  /// that is not adjacent is left out, with a warning.
  ///
  /// https://relay.dev/graphql/connections.htm
  case connection
  /// Pages that begin at the argument `offset` (or `skip`): their elements take the places from there
  /// on. A page that would leave a gap is left out, with a warning.
  case offset
  /// Every page is appended. Entities that are in the list already are not repeated.
  case append

  /// The arguments that choose a page; they do not take part in the name of the stored field.
  var pageArguments: Set<String> {
    switch self {
    case .connection: ["first", "last", "after", "before"]
    case .offset: ["offset", "skip", "limit", "first", "take"]
    case .append:
      ["first", "last", "after", "before", "offset", "skip", "limit", "take", "page", "cursor"]
    }
  }
}

/// One page that an operation asks for, with its arguments.
struct PageRule: Sendable, Hashable {
  var policy: PagePolicy
  /// The name of the field that all pages share.
  var storedKey: String
  var after: String?
  var before: String?
  var offset = 0

  /// The page that `field` asks for; `nil` when what it brings is the whole list, or its beginning, and
  /// replaces what is stored.
  init?(_ policy: PagePolicy, _ field: Field, storedKey: String, variables: JSONObject) {
    func argument(_ names: String...) -> JSONValue? {
      for name in names {
        guard let given = field.arguments.first(where: { $0.name.value == name }) else { continue }
        let value: JSONValue? =
          if case .variable(let variable) = given.value {
            variables[variable.value]
          } else {
            JSONValue(constant: given.value)
          }
        if let value, value != .null { return value }
      }
      return nil
    }
    self.policy = policy
    self.storedKey = storedKey
    switch policy {
    case .connection:
      after = argument("after")?.cursorText
      before = argument("before")?.cursorText
      if after == nil && before == nil { return nil }
    case .offset:
      guard let value = argument("offset", "skip") else {
        // Only the first so many, from the start.
        if argument("limit", "first", "take") == nil { return nil }
        return
      }
      guard case .number(let number) = value, let start = Int(number.text), start >= 0 else {
        return nil
      }
      offset = start
    case .append: break
    }
  }

  /// Stands before the stored name in records of a response that has not been committed.
  static let mark: StaticString = "\"$page"

  /// The name under which the page of the rule numbered `index` waits for its commit.
  static func waitingKey(_ index: Int, _ storedKey: String) -> String {
    "$page\(index):\(storedKey)"
  }
}

extension JSONValue {
  /// A cursor as text; numbers are cursors on some servers.
  fileprivate var cursorText: String? {
    switch self {
    case .string(let text): text
    case .number(let number): number.text
    default: nil
    }
  }
}

/// Which records of a batch hold pages that wait to be joined.
struct Paging: Sendable {
  let rules: [PageRule]
  let keys: [[UInt8]]
}

extension RecordBatch {
  /// The batch, with those of its records noted that hold pages.
  func noting(pagesOf plan: OperationPlan) -> RecordBatch {
    guard !plan.pages.isEmpty else { return self }
    var keys: [[UInt8]] = []
    for index in table.live where !Segments.isSegment(key: table.key(at: index)) {
      // The elements of a list in segments may hold some, too.
      if Self.mayHoldPages(table.text(at: index)) { keys.append(table.key(at: index).array) }
    }
    guard !keys.isEmpty else { return self }
    var result = self
    result.paging = Paging(rules: plan.pages, keys: keys)
    return result
  }

  static func mayHoldPages(_ text: Bytes) -> Bool {
    let dollar = UInt8(ascii: "$")
    var position = 1
    while position < text.count {
      if text.start[position] == dollar {
        let rest = text[(position - 1)..<text.count]
        if rest.hasPrefix(PageRule.mark) || rest.hasPrefix("\"$segments\"") { return true }
      }
      position += 1
    }
    return false
  }
}

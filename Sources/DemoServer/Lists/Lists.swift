/// The generated lists in lists: customers with orders with lines, and repositories with issues with comments.
struct Lists: Sendable {
  /// The number of customers.
  let customers: Int

  static let maxCustomers = 10_000_000
  /// For 120 customers, 1,780 orders and 12,629 lines.
  static let orders = Shares(1780, of: 120, kind: .customer)
  static let lines = Shares(12_629, of: 1780, kind: .order)
  static let comments = Shares(1500, of: issueCount, kind: .issue)

  static let repositories: [(name: String, issues: Range<Int>)] = [
    ("app", 0..<240), ("server", 240..<335), ("docs", 335..<issueCount),
  ]
  static let labels = ["bug", "docs", "feature", "good first issue", "help wanted", "question"]
  private static let issueCount = 366
  /// The time between the last changes of two customers or issues.
  private static let interval = 7200

  init(customers: Int) {
    self.customers = min(max(customers, 0), Self.maxCustomers)
  }

  /// Whether there is such an object.
  func contains(_ object: ListedObject) -> Bool { object.number < count(of: object.kind) }

  private func count(of kind: ListedObject.Kind) -> Int {
    switch kind {
    case .customer: customers
    case .order: Self.orders.count(ofFirst: customers)
    case .line: Self.lines.count(ofFirst: count(of: .order))
    case .repository: Self.repositories.count
    case .issue: Self.issueCount
    case .issueComment: Self.comments.count(ofFirst: Self.issueCount)
    case .label: Self.repositories.count * Self.labels.count
    }
  }

  /// When an object changed last, in ``DemoTime``. Of two objects, that with the higher number changed later, until a
  /// mutation changes one.
  func updatedAt(_ object: ListedObject, _ edits: ListEdits) -> Int {
    if let change = edits.changes[object] {
      return (count(of: object.kind) + change.number) * Self.interval
    }
    return object.number * Self.interval + object.draw(62).below(Self.interval / 2)
  }

  /// The objects among `range` that changed after a time; all without one.
  ///
  /// - Parameter inclusive: Whether a change at this time counts.
  func changed(
    _ kind: ListedObject.Kind, in range: Range<Int>, after time: Double?, inclusive: Bool,
    edits: ListEdits
  ) -> NumberList {
    guard let time else { return NumberList(rest: range) }
    func isLater(_ number: Int) -> Bool {
      let updated = Double(updatedAt(ListedObject(kind, number), edits))
      return inclusive ? updated >= time : updated > time
    }
    var start = Int(min(max(time / Double(Self.interval), 0), Double(range.upperBound)))
    start = min(max(start, range.lowerBound), range.upperBound)
    if range.contains(start), !isLater(start) { start += 1 }
    let single = edits.changes.keys
      .filter { $0.kind == kind && range.lowerBound <= $0.number && $0.number < start }
      .map(\.number).filter(isLater).sorted()
    return NumberList(single: single, rest: start..<range.upperBound)
  }

  /// The labels of an issue, among those of its repository.
  static func labels(of issue: ListedObject) -> NumberList {
    let first = repository(of: issue) * labels.count
    let chosen = issue.draw(0).below(64) & issue.draw(1).below(64)
    return NumberList(
      single: labels.indices.filter { chosen >> $0 & 1 == 1 }.map { first + $0 }, rest: 0..<0)
  }

  /// The number of the repository of an issue.
  static func repository(of issue: ListedObject) -> Int {
    repositories.firstIndex { $0.issues.contains(issue.number) } ?? 0
  }

  /// When a comment was written; the last one when the issue changed.
  func createdAt(comment: ListedObject) -> Int {
    let issue = Self.comments.owner(of: comment.number)
    let number = comment.number - Self.comments.numbers(of: issue).lowerBound
    return createdAt(issue: ListedObject(.issue, issue)) + (number + 1) * 600
  }

  func createdAt(issue: ListedObject) -> Int {
    let all = Self.comments.numbers(of: issue.number).count
    return updatedAt(issue, ListEdits()) - (all + 1) * 600
  }

  /// When an order was placed: before the last change of its customer.
  func placedAt(_ order: ListedObject) -> Int {
    let customer = Self.orders.owner(of: order.number)
    let left = Self.orders.numbers(of: customer).upperBound - order.number
    return updatedAt(ListedObject(.customer, customer), ListEdits()) - left * 86_400
  }

  /// The total of an order in cents.
  static func total(of order: ListedObject) -> Int {
    lines.numbers(of: order.number).reduce(0) { total, number in
      let line = ListedObject(.line, number)
      return total + quantity(of: line) * price(of: line)
    }
  }

  static func quantity(of line: ListedObject) -> Int { 1 + line.draw(1).below(5) }

  /// The price of a line's product in cents.
  static func price(of line: ListedObject) -> Int { 199 + product(of: line) * 7919 % 19_800 }

  /// The number of a line's product.
  static func product(of line: ListedObject) -> Int { line.draw(0).below(200) }
}

/// The changes of customers and issues by mutations.
struct ListEdits: Sendable {
  /// The last change of an object.
  struct Change: Sendable {
    /// The number among all changes, from 0.
    let number: Int
    /// The new name of a customer.
    var name: String?
  }

  /// The maximum number of changed objects, and the maximum length of a name in bytes.
  static let maxObjects = 10_000
  static let maxName = 1000

  private(set) var changes: [ListedObject: Change] = [:]
  private var count = 0

  mutating func change(_ object: ListedObject, name: String? = nil) throws(RequestError) {
    guard changes[object] != nil || changes.count < Self.maxObjects else {
      throw RequestError(
        .badUserInput, "The demo server keeps changes of \(Self.maxObjects) objects only.")
    }
    guard (name?.utf8.count ?? 0) <= Self.maxName else {
      throw RequestError(.badUserInput, "A name has at most \(Self.maxName) bytes.")
    }
    changes[object] = Change(number: count, name: name)
    count += 1
  }
}

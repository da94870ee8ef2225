import GQLRunCache
import GQLRunJSON

/// The pages of one task that are still to be requested: what a journal must have to continue after a crash.
///
/// Packs in flight belong to it until their rows are recorded. A pack is full, or nothing that could fill it is left, so
/// that there are few requests; deeper connections come first as soon as there are more than a bound, so that memory
/// depends on the page, the pack and the concurrency.
struct TableFrontier: Sendable {
  /// The number of requests for a page that fails.
  static let maxFailures = 3
  /// The maximum length of the reason that a text has of a failed page, in Unicode scalars.
  private static let maxReason = 1_000

  /// First pages without the others, of one connection of the plan.
  struct Lack: Sendable, Equatable {
    /// The number of objects that have such a page.
    var objects = 0
    /// The number of elements that the pages lack, where the server counts them.
    var elements = 0
  }

  private let plan: TablePlan
  /// What a text is written for. Its continuations name connections by their index.
  private let mark: String
  private let concurrency: Int
  /// The number of waiting continuations from which deeper connections come first.
  private let bound: Int
  /// The number of connections that each connection is in.
  private let depths: [Int]
  /// By index of the connection, in the order of their arrival.
  private var waiting: [[Continuation]]
  /// Those that have failed, each of which is a request by itself.
  private var retries: [Continuation] = []
  private var inFlight: [Int: ContinuationPack] = [:]
  /// By index of the connection.
  private var limits: [PackLimits]
  private var number = 0
  /// The continuations that failed for good.
  private(set) var failed: [Continuation] = []
  /// The connections that nothing finds again, which `allow_partial` accepts, by index. Their number is not limited, and no
  /// run requests them: they are only counted.
  private(set) var lacks: [Int: Lack] = [:]

  /// Begins with a response to the operation itself.
  init(_ plan: TablePlan, pack: Int, concurrency: Int) {
    self.plan = plan
    mark = Self.mark(of: plan)
    self.concurrency = max(concurrency, 1)
    bound = pack * self.concurrency
    var depths: [Int] = []
    for connection in plan.connections {
      depths.append(connection.parent.map { depths[$0] + 1 } ?? 0)
    }
    self.depths = depths
    waiting = plan.connections.map { _ in [] }
    limits = plan.connections.map { connection in
      PackLimits(
        pack: connection.holder == .path ? 1 : max(pack, 1), pageSize: connection.pageSize,
        hasSize: connection.sizeArgument != nil)
    }
  }

  /// Continues where a journal has recorded it. Requests those that failed once more.
  ///
  /// - Parameter text: The value of ``text``.
  /// - Throws: ``TaskProblem`` for a text that this plan did not write.
  init(_ plan: TablePlan, pack: Int, concurrency: Int, resuming text: String) throws(TaskProblem) {
    self.init(plan, pack: pack, concurrency: concurrency)
    let value: JSONValue
    do {
      value = try JSONValue(parsing: text)
    } catch {
      throw Self.unreadable(error.message)
    }
    guard let open = value["open"]?.arrayValue, let failed = value["failed"]?.arrayValue else {
      throw Self.unreadable("it has no continuations")
    }
    guard value["of"]?.stringValue == mark else {
      throw Self.unreadable(
        "the document has other connections, or other fields find their objects")
    }
    for value in value["lacks"]?.arrayValue ?? [] {
      guard let index = value[0]?.intValue, plan.connections.indices.contains(index),
        let objects = value[1]?.intValue, let elements = value[2]?.intValue
      else { throw Self.unreadable("it has a connection without numbers") }
      lacks[index] = Lack(
        objects: Continuation.bounded(objects), elements: Continuation.bounded(elements))
    }
    for element in open + failed {
      guard var continuation = Continuation(element),
        plan.connections.indices.contains(continuation.connection)
      else { throw Self.unreadable("it has a connection that the document does not have") }
      if continuation.problem != nil { continuation.retry() }
      add(continuation)
    }
    for (index, value) in (value["limits"]?.arrayValue ?? []).enumerated()
    where index < limits.count { limits[index].read(value) }
  }

  private static func unreadable(_ reason: String) -> TaskProblem {
    TaskProblem(
      "the journal's state of the task cannot be read: \(reason); start a new run, which requests all of its pages "
        + "again")
  }

  private static func mark(of plan: TablePlan) -> String {
    plan.connections.map { connection in
      let arguments = connection.values.map(\.argument).joined(separator: " ")
      return connection.keys.joined(separator: ".") + (arguments.isEmpty ? "" : "(\(arguments))")
    }.joined(separator: " ")
  }

  /// The frontier as the journal records it.
  var text: String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("of", mark)
    writer.key("open")
    writer.beginArray()
    for pack in inFlight.sorted(by: { $0.key < $1.key }) {
      for continuation in pack.value.continuations { continuation.write(to: &writer) }
    }
    for continuation in retries { continuation.write(to: &writer) }
    for continuation in waiting.joined() { continuation.write(to: &writer) }
    writer.endArray()
    writer.key("failed")
    writer.beginArray()
    for continuation in failed { continuation.write(to: &writer) }
    writer.endArray()
    if !lacks.isEmpty {
      writer.key("lacks")
      writer.beginArray()
      for (index, lack) in lacks.sorted(by: { $0.key < $1.key }) {
        writer.beginArray()
        for number in [index, lack.objects, lack.elements] { writer.writeNumber(number) }
        writer.endArray()
      }
      writer.endArray()
    }
    if limits.contains(where: { !$0.isInitial }) {
      writer.key("limits")
      writer.beginArray()
      for limit in limits { limit.write(to: &writer) }
      writer.endArray()
    }
    writer.endObject()
    return writer.text
  }

  /// Whether nothing is to be requested, and nothing in flight.
  var isEmpty: Bool { inFlight.isEmpty && retries.isEmpty && waiting.allSatisfy(\.isEmpty) }

  // MARK: Packs

  /// Takes the next pack to request; `nil` while there is none, or as many are in flight as may be.
  mutating func next() -> ContinuationPack? {
    guard inFlight.count < concurrency else { return nil }
    let taken: [Continuation]
    if !retries.isEmpty {
      taken = [retries.removeFirst()]
    } else if let connection = nextConnection() {
      taken = take(from: connection)
    } else {
      return nil
    }
    number += 1
    let pack = ContinuationPack(
      continuations: taken, pageSize: limits[taken[0].connection].pageSize, number: number)
    inFlight[number] = pack
    return pack
  }

  /// The connection of the next pack: one with a full pack, or one whose pack nothing can fill.
  private func nextConnection() -> Int? {
    let full = waiting.indices.filter { waiting[$0].count >= limits[$0].pack }
    let isLarge = waiting.reduce(0) { $0 + $1.count } > bound
    let first = full.min { (isLarge ? depths[$1] < depths[$0] : depths[$0] < depths[$1]) }
    if let first { return first }
    return waiting.indices.first { !waiting[$0].isEmpty && !mayGrow($0) }
  }

  /// Whether more continuations of a connection may arrive from what is in flight or waiting.
  private func mayGrow(_ connection: Int) -> Bool {
    var outer: Int? = connection
    while let index = outer {
      if index != connection, !waiting[index].isEmpty { return true }
      if inFlight.values.contains(where: { $0.continuations[0].connection == index }) {
        return true
      }
      outer = plan.connections[index].parent
    }
    return false
  }

  /// Takes a pack; of more than one pack those with the most elements left, because the pages of one connection cannot
  /// be in one request.
  private mutating func take(from connection: Int) -> [Continuation] {
    let count = limits[connection].pack
    let all = waiting[connection]
    guard all.count > count else {
      waiting[connection] = []
      return all
    }
    var order = Array(all.indices)
    if all.contains(where: { $0.total != nil }) {
      let left = all.map { max(($0.total ?? 0) - $0.count, 0) }
      order.sort { (left[$1], $0) < (left[$0], $1) }
    }
    let chosen = Set(order.prefix(count))
    waiting[connection] = all.indices.filter { !chosen.contains($0) }.map { all[$0] }
    return order.prefix(count).map { all[$0] }
  }

  // MARK: The operation itself

  /// The sizes of pages in the operation itself that differ from those of the document, by index of the connection.
  var firstSizes: [Int: Int] {
    var sizes: [Int: Int] = [:]
    for (index, connection) in plan.connections.enumerated() where connection.holder == .path {
      sizes[index] = limits[index].pageSize
    }
    return sizes
  }

  /// Makes the pages of the operation itself smaller, because it costs too much; returns `false` if they cannot be.
  mutating func shrinkFirst() -> Bool {
    var isSmaller = false
    for (index, connection) in plan.connections.enumerated() where connection.holder == .path {
      if limits[index].shrinkPage() { isSmaller = true }
    }
    return isSmaller
  }

  // MARK: Responses

  /// Adds the connections of the first response.
  mutating func begin(_ page: TablePage) {
    for continuation in page.open { add(continuation) }
  }

  /// Ends a pack with what its response contributes to each of its continuations.
  mutating func end(_ pack: ContinuationPack, _ pages: [Result<TablePage, TaskProblem>]) {
    guard inFlight.removeValue(forKey: pack.number) != nil else { return }
    var isGood = true
    for (var continuation, page) in zip(pack.continuations, pages) {
      switch page {
      case .success(let page): begin(page)
      case .failure(let problem):
        isGood = false
        continuation.failures += 1
        if continuation.failures >= Self.maxFailures {
          continuation.problem = String(
            String.UnicodeScalarView(problem.message.unicodeScalars.prefix(Self.maxReason)))
          limits[continuation.connection].restore()
        }
        add(continuation)
      }
    }
    if isGood, let first = pack.continuations.first {
      limits[first.connection].grow(after: pack)
    }
  }

  /// Returns a pack that has no response; a pack that costs too much is split, and its pages become smaller.
  mutating func giveBack(_ pack: ContinuationPack, isTooCostly: Bool) {
    guard inFlight.removeValue(forKey: pack.number) != nil, let first = pack.continuations.first
    else { return }
    if isTooCostly, !limits[first.connection].shrink(after: pack) {
      limits[first.connection].restore()
      for var continuation in pack.continuations {
        continuation.problem = "the server refuses its next page as too costly, however small"
        add(continuation)
      }
    } else if first.failures > 0 {
      retries += pack.continuations
    } else {
      // Before those that arrived after it.
      waiting[first.connection].insert(contentsOf: pack.continuations, at: 0)
    }
  }

  private mutating func add(_ continuation: Continuation) {
    if case .none = plan.connections[continuation.connection].holder {
      var lack = lacks[continuation.connection] ?? Lack()
      lack.objects += 1
      lack.elements += max((continuation.total ?? 0) - continuation.count, 0)
      lacks[continuation.connection] = lack
    } else if continuation.problem != nil {
      failed.append(continuation)
    } else if continuation.failures > 0 {
      retries.append(continuation)
    } else {
      waiting[continuation.connection].append(continuation)
    }
  }
}

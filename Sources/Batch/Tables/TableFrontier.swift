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
  private let concurrency: Int
  /// The number of waiting continuations from which deeper connections come first.
  private let bound: Int
  private let depths: [Int]
  /// By index of the connection, in the order of their arrival.
  private var waiting: [[Continuation]]
  /// Those that have failed, each of which is a request by itself.
  private var retries: [Continuation] = []
  private var inFlight: [Int: ContinuationPack] = [:]
  /// By index of the connection.
  private var limits: [PackLimits]
  private var number = 0
  /// The number of the next continuation.
  private var nextNumber = 0
  /// The numbers of the continuations that are not left any more, and the new ones by number, since the last part.
  private var closed: [Int] = []
  private var opened: [Int: Continuation] = [:]
  /// The number of the last part, and the lengths of the whole text and of the changes that the parts have; `nil` before
  /// the first part.
  private var parts: (last: Int, whole: Int, changes: Int)?
  /// The continuations that failed for good.
  private(set) var failed: [Continuation] = []
  /// The connections that nothing finds again, which `allow_partial` accepts, by index. Their number is not limited, and no
  /// run requests them: they are only counted.
  private(set) var lacks: [Int: Lack] = [:]

  /// Begins with a response to the operation itself.
  init(_ plan: TablePlan, pack: Int, concurrency: Int) {
    self.plan = plan
    self.concurrency = max(concurrency, 1)
    bound = pack * self.concurrency
    depths = plan.depths
    waiting = plan.connections.map { _ in [] }
    limits = plan.connections.map { connection in
      PackLimits(
        pack: connection.holder == .path ? 1 : max(pack, 1), pageSize: connection.pageSize,
        hasSize: connection.sizeArgument != nil)
    }
  }

  /// Continues where a journal has recorded it. Requests those that failed once more.
  ///
  /// - Parameter text: The value of ``text``, or the texts of ``takePart()`` since the last whole one.
  /// - Throws: ``TaskProblem`` for a text that this plan did not write.
  init(_ plan: TablePlan, pack: Int, concurrency: Int, resuming text: String) throws(TaskProblem) {
    self.init(plan, pack: pack, concurrency: concurrency)
    var left: [Int: Continuation] = [:]
    var last = JSONValue.null
    for (index, line) in text.split(separator: "\n").enumerated() {
      do {
        last = try JSONValue(parsing: String(line))
      } catch {
        throw Self.unreadable(error.message)
      }
      guard index > 0 || last["of"]?.stringValue == mark else {
        throw Self.unreadable(
          "the document has other connections, or other fields find their objects")
      }
      guard let open = last["open"]?.arrayValue else {
        throw Self.unreadable("it has no continuations")
      }
      for number in last["closed"]?.arrayValue ?? [] {
        guard let number = number.intValue, left.removeValue(forKey: number) != nil else {
          throw Self.unreadable("a part of it is missing")
        }
      }
      // Texts of older versions have those that failed by themselves, and no numbers.
      let added = open + (last["failed"]?.arrayValue ?? [])
      for (index, element) in added.enumerated() {
        guard let continuation = Continuation(element),
          plan.connections.indices.contains(continuation.connection)
        else { throw Self.unreadable("it has a connection that the document does not have") }
        left[element["n"] == nil ? index : continuation.number] = continuation
      }
    }
    guard !last.isNull else { throw Self.unreadable("it has no continuations") }
    for value in last["lacks"]?.arrayValue ?? [] {
      guard let index = value[0]?.intValue, plan.connections.indices.contains(index),
        let objects = value[1]?.intValue, let elements = value[2]?.intValue
      else { throw Self.unreadable("it has a connection without numbers") }
      lacks[index] = Lack(
        objects: Continuation.bounded(objects), elements: Continuation.bounded(elements))
    }
    for (_, known) in left.sorted(by: { $0.key < $1.key }) {
      var continuation = known
      if continuation.problem != nil { continuation.retry() }
      add(continuation)
    }
    for (index, value) in (last["limits"]?.arrayValue ?? []).enumerated()
    where index < limits.count { limits[index].read(value) }
  }

  private static func unreadable(_ reason: String) -> TaskProblem {
    TaskProblem(
      "the journal's state of the task cannot be read: \(reason); start a new run, which requests all of its pages "
        + "again")
  }

  /// What a text is written for. Its continuations name connections by their index.
  private var mark: String {
    plan.connections.map { connection in
      let arguments = connection.values.map(\.argument).joined(separator: " ")
      return connection.path + (arguments.isEmpty ? "" : "(\(arguments))")
    }.joined(separator: " ")
  }

  /// The frontier as the journal records it.
  var text: String {
    let flying = inFlight.sorted { $0.key < $1.key }.flatMap(\.value.continuations)
    return json(of: flying + retries + waiting.joined() + failed)
  }

  /// The next part of the text for the journal, which appends it to the parts before.
  ///
  /// A part has what has changed since the one before. The part 0 is the whole text and replaces all others: it comes
  /// first, and again as soon as the changes are longer than the whole text was. So all parts together are about as long
  /// as what changed, and a text that is read is at most about twice as long as the whole one.
  mutating func takePart() -> (number: Int, text: String) {
    defer { (closed, opened) = ([], [:]) }
    guard let known = parts, known.changes <= known.whole else {
      let whole = text
      parts = (0, whole.utf8.count, 0)
      return (0, whole)
    }
    let new = opened.sorted { $0.key < $1.key }.map(\.value)
    let change = "\n" + json(of: new, closed: closed)
    parts = (known.last + 1, known.whole, known.changes + change.utf8.count)
    return (known.last + 1, change)
  }

  /// - Parameter closed: Those that are not left any more; `nil` for a whole text.
  private func json(of continuations: [Continuation], closed: [Int]? = nil) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    if let closed {
      writer.member("closed", .numbers(closed))
    } else {
      writer.member("of", mark)
    }
    writer.key("open")
    writer.beginArray()
    for continuation in continuations { continuation.write(to: &writer) }
    writer.endArray()
    if !lacks.isEmpty {
      let lacks = lacks.sorted { $0.key < $1.key }
      writer.member(
        "lacks", .array(lacks.map { .numbers([$0.key, $0.value.objects, $0.value.elements]) }))
    }
    if limits.contains(where: { !$0.isInitial }) {
      writer.member("limits", .array(limits.map(\.value)))
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
      if inFlight.values.contains(where: { $0.connection == index }) { return true }
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
      close(continuation)
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
    if isGood { limits[pack.connection].grow(after: pack) }
  }

  /// Returns a pack that has no response; a pack that costs too much is split, and its pages become smaller.
  mutating func giveBack(_ pack: ContinuationPack, isTooCostly: Bool) {
    guard inFlight.removeValue(forKey: pack.number) != nil else { return }
    if isTooCostly, !limits[pack.connection].shrink(after: pack) {
      limits[pack.connection].restore()
      for var continuation in pack.continuations {
        close(continuation)
        continuation.problem = "the server refuses its next page as too costly, however small"
        add(continuation)
      }
    } else if pack.continuations[0].failures > 0 {
      retries += pack.continuations
    } else {
      // Before those that arrived after it.
      waiting[pack.connection].insert(contentsOf: pack.continuations, at: 0)
    }
  }

  private mutating func close(_ continuation: Continuation) {
    if opened.removeValue(forKey: continuation.number) == nil {
      closed.append(continuation.number)
    }
  }

  private mutating func add(_ given: Continuation) {
    var continuation = given
    if case .none = plan.connections[continuation.connection].holder {
      var lack = lacks[continuation.connection] ?? Lack()
      lack.objects += 1
      lack.elements += max((continuation.total ?? 0) - continuation.count, 0)
      lacks[continuation.connection] = lack
      return
    }
    continuation.number = nextNumber
    nextNumber += 1
    opened[continuation.number] = continuation
    if continuation.problem != nil {
      failed.append(continuation)
    } else if continuation.failures > 0 {
      retries.append(continuation)
    } else {
      waiting[continuation.connection].append(continuation)
    }
  }
}

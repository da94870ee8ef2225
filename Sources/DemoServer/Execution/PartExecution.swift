import GQLRunJSON

/// The formats of responses in several parts.
enum PartFormat: String, Sendable, CaseIterable {
  /// Parts name a fragment by an id that was announced as pending.
  ///
  /// https://github.com/graphql/defer-stream-wg/discussions/69
  case ids = "incrementalspec=v0.2"
  /// Parts name a fragment by its path.
  ///
  /// https://github.com/graphql/graphql-spec/pull/742
  case paths = "deferspec=20220824"

  /// The preferred format of an `Accept` field, the first one of equal quality; `nil` if the client
  /// accepts none.
  static func preferred(accept: [AcceptedRange]?) -> Self? {
    accept?.preferred { range in
      range.pattern == "multipart/mixed"
        ? allCases.first { range.has($0.rawValue) } : nil
    }
  }

  var contentType: String {
    switch self {
    case .ids: "multipart/mixed; boundary=\"graphql\"; incrementalSpec=v0.2"
    case .paths: "multipart/mixed; boundary=\"graphql\"; deferSpec=20220824"
    }
  }
}

/// A deferred fragment or the elements of a streamed list, to be executed later.
struct PartWork: Sendable {
  enum Content: Sendable {
    case fragment(Entity, PlannedObject)
    case elements(ResolvedList, Range<Int>, PlannedField)
  }

  /// The path of the object or list.
  let path: [JSONValue]
  let label: String?
  var content: Content
}

/// An operation in execution, whose response has several parts: first what is not deferred, then one
/// fragment or some elements of a list at a time.
///
/// Like ``OperationExecution``, it needs the memory of one chunk. The number of fragments and lists that wait
/// is limited; beyond ``maxWork``, the directives have no effect.
struct PartExecution: Sendable {
  /// The maximum number of fragments and lists that wait.
  static let maxWork = 1000
  /// The number of list elements in a part.
  static let elementsPerPart = 25

  /// Some bytes of the response.
  struct Chunk {
    var bytes: [UInt8]
    /// Whether they end a part.
    var endsPart = false
  }

  private enum State {
    case start(OperationExecution)
    case first(OperationExecution)
    case between
    case part(OperationExecution, Pending)
    case end
  }

  private struct Pending {
    let id: Int
    var work: PartWork

    /// The elements of a list that do not fit in the next part; `nil` if there are none.
    mutating func takeRest() -> Pending? {
      guard case .elements(let list, let range, let field) = work.content,
        range.count > PartExecution.elementsPerPart
      else { return nil }
      let middle = range.lowerBound + PartExecution.elementsPerPart
      var rest = self
      rest.work.content = .elements(list, middle..<range.upperBound, field)
      work.content = .elements(list, range.lowerBound..<middle, field)
      return rest
    }
  }

  private let format: PartFormat
  private var context: ResolverContext
  private var state: State
  private var waiting: [Pending] = []
  private var nextID = 0

  init(_ operation: PlannedOperation, as format: PartFormat, context: ResolverContext) {
    self.format = format
    self.context = context
    state = .start(OperationExecution(operation, root: .root(operation.type), context: context))
  }

  /// The next bytes of the multipart body; `nil` after the last ones.
  mutating func next() -> Chunk? {
    switch state {
    case .start(let execution):
      state = .first(execution)
      return Chunk(bytes: Array("\r\n--graphql\(Self.head)".utf8))
    case .first(var execution):
      let piece = execution.next() ?? []
      guard execution.isFinished else {
        state = .first(execution)
        return Chunk(bytes: piece)
      }
      context = execution.context
      // Further members follow, before the closing brace.
      return end(of: execution, Array(piece.dropLast()))
    case .between: return begin(waiting.removeFirst())
    case .part(var execution, let pending):
      guard let piece = execution.next() else {
        return end(of: execution, tail(of: execution, pending))
      }
      state = .part(execution, pending)
      return Chunk(bytes: piece)
    case .end: return nil
    }
  }

  // MARK: Parts

  private static let head = "\r\nContent-Type: application/json; charset=utf-8\r\n\r\n"

  private mutating func begin(_ pending: Pending) -> Chunk {
    var pending = pending
    let rest = pending.takeRest()
    var execution = OperationExecution(
      pending.work, maxWork: Self.maxWork - waiting.count - 1, context: context)
    let piece = execution.next() ?? []
    if execution.isRootNull, format == .ids {
      // The rest of a list that has failed is not delivered.
      let errors = execution.errorList ?? Array("[]".utf8)
      let id = Self.id(pending)
      return end(
        of: execution,
        Array("\(Self.head){\"completed\":[{\(id),\"errors\":".utf8) + errors
          + Array("}]".utf8))
    }
    if let rest, !execution.isRootNull { waiting.append(rest) }
    state = .part(execution, pending)
    return Chunk(bytes: Array("\(Self.head){\"incremental\":[{".utf8) + member(pending) + piece)
  }

  /// The members before the value of a part, and the name of the value.
  private func member(_ pending: Pending) -> [UInt8] {
    var text = ""
    var name = "data"
    var path = pending.work.path
    if case .elements(_, let range, _) = pending.work.content {
      name = "items"
      path.append(.number(JSONNumber(range.lowerBound)))
    }
    switch format {
    case .ids: text = Self.id(pending)
    case .paths: text = Self.members(path: path, label: pending.work.label)
    }
    return Array("\(text),\"\(name)\":".utf8)
  }

  private func tail(of execution: OperationExecution, _ pending: Pending) -> [UInt8] {
    var bytes: [UInt8] = []
    if let errors = execution.errorList { bytes += Array(",\"errors\":".utf8) + errors }
    bytes += Array("}]".utf8)
    if format == .ids, !waiting.contains(where: { $0.id == pending.id }) {
      bytes += Array(",\"completed\":[{\(Self.id(pending))}]".utf8)
    }
    return bytes
  }

  /// Ends a part, and announces what it has left for later.
  private mutating func end(of execution: OperationExecution, _ tail: [UInt8]) -> Chunk {
    let new = execution.work.map { work in
      defer { nextID += 1 }
      return Pending(id: nextID, work: work)
    }
    waiting += new
    var text = ""
    if format == .ids, !new.isEmpty {
      let all = new.map {
        "{\(Self.id($0)),\(Self.members(path: $0.work.path, label: $0.work.label))}"
      }
      text += ",\"pending\":[\(all.joined(separator: ","))]"
    }
    text += ",\"hasNext\":\(!waiting.isEmpty)}\r\n--graphql"
    if waiting.isEmpty { text += "--\r\n" }
    state = waiting.isEmpty ? .end : .between
    return Chunk(bytes: tail + Array(text.utf8), endsPart: true)
  }

  private static func id(_ pending: Pending) -> String { "\"id\":\"\(pending.id)\"" }

  private static func members(path: [JSONValue], label: String?) -> String {
    let label = label.map { ",\"label\":\(JSONValue.string($0).jsonText())" } ?? ""
    return "\"path\":\(JSONValue.array(path).jsonText())\(label)"
  }
}

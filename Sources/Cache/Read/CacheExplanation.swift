import GQLRunJSON

/// Field by field, how a store answers an operation.
public struct CacheExplanation: Sendable, Hashable {
  /// How much of long lists is included.
  public enum Detail: Sendable, Hashable {
    /// Every element.
    case everything
    /// The first element, and up to this number of other elements with missing or stale fields. The
    /// others are counted.
    case problems(Int)
  }

  /// The status of a field.
  public enum Status: String, Sendable, Hashable {
    /// The field is in the cache.
    case hit
    /// Older than its `max_age`, but accepted by `max_stale`.
    case accepted
    /// Older than its `max_age`.
    case stale
    /// The field is not in the cache.
    case missing
    /// A missing field of a fragment, which without a schema is assumed not to apply.
    case leftOut = "left-out"
    /// The field failed, and is read as null; only with another policy than ``ErrorReadPolicy/refuse``.
    case errored
  }

  /// The stored error of a field, or of a value inside it.
  public struct StoredError: Sendable, Hashable {
    /// The response path of the field, with the stored names of the fields in it.
    public var path: String
    /// The message of the server.
    public var message: String
    /// When it was received, in seconds since 1970.
    public var received: Int
    /// Seconds since then; `nil` if the time is in the future.
    public var age: Int?
  }

  /// One selected field.
  public struct Field: Sendable, Hashable {
    /// The response path.
    public var path: String
    /// The alias of the field, or its name.
    public var responseKey: String
    /// The key of the record that contains the field.
    public var recordKey: String
    /// The stored name of the field, with its arguments.
    public var field: String
    /// Whether the field is in the cache, and fresh.
    public var status: Status
    /// When the field was received, in seconds since 1970; `nil` if it is missing.
    public var received: Int?
    /// Seconds since then; `nil` if it is missing or the time is in the future.
    public var age: Int?
    /// The max age in seconds, if a rule applies.
    public var maxAge: Int?
    /// The cache keys of the records that a redirect leads to; empty if the field has no redirect, or is
    /// answered from its stored value.
    public var redirect: [String] = []
    /// The stored errors of the field and of what its record has in it.
    public var errors: [StoredError] = []
    /// What the field contains.
    public var value = Value.leaf
    /// The selected fields of an object.
    public var fields: [Field] = []

    /// Whether the field or one below it is missing or stale.
    public var hasProblem: Bool {
      status == .missing || status == .stale || fields.contains(where: \.hasProblem)
        || value.hasProblem
    }
  }

  /// The content of a field.
  public indirect enum Value: Sendable, Hashable {
    /// A scalar or enum value, or null.
    case leaf, null
    /// An object without identity, stored in its parent.
    case object
    /// An object in a separate record, with its key.
    case reference(String)
    /// A reference to a missing record, with its key.
    case missingRecord(String)
    /// A list: its length, the included elements, and the number of omitted complete ones.
    case list(count: Int, elements: [Element], leftOut: Int)
    /// A value that cannot have the selected fields.
    case unfit

    var hasProblem: Bool {
      switch self {
      case .missingRecord, .unfit: true
      case .list(_, let elements, _): elements.contains(where: \.hasProblem)
      default: false
      }
    }
  }

  /// An element of a list.
  public struct Element: Sendable, Hashable {
    /// The index in the list.
    public var index: Int
    /// What the element contains.
    public var value: Value
    /// The selected fields of an object.
    public var fields: [Field]

    var hasProblem: Bool { value.hasProblem || fields.contains(where: \.hasProblem) }
  }

  /// The fields of the root.
  public var fields: [Field] = []
  /// The number of fields of each status, included or not; a missing record counts as one missing
  /// field.
  public var counts: [Status: Int] = [:]
  /// The number of incomplete list elements that are not included.
  public var omittedProblems = 0
  /// Redirects that would answer missing fields, because the records that their arguments identify are stored.
  public var proposals: [RedirectProposal] = []
  /// The policies with which a read answers the operation from the cache; empty if no field has stored errors.
  public var policies: Set<ErrorReadPolicy> = []
  /// The policy that is explained.
  public var policy = ErrorReadPolicy.refuse
  /// Whether a field has stored errors.
  public var hasErrors = false

  /// Whether a read answers the operation from the cache.
  public var isHit: Bool {
    hasErrors
      ? policies.contains(policy)
      : counts[.missing, default: 0] + counts[.stale, default: 0] == 0
  }
}

/// Follows an operation through the records like ``RecordReader``, and collects its findings.
/// Continues after a miss, and is not optimized for speed.
struct RecordExplainer<Source: RecordSource>: ~Copyable {
  private typealias Field = CacheExplanation.Field
  private typealias Value = CacheExplanation.Value

  private var source: Source
  private var table: PlanTable
  private var limits: AgeLimits
  private let detail: CacheExplanation.Detail
  private var explanation = CacheExplanation()
  private var failure: CacheError?
  private let types: ConcreteTypes
  /// Whether the source has records with errors.
  private let hasErrors: Bool
  /// How often a redirect was looked for, by type and field.
  private var proposed: [String: Int] = [:]
  /// The number of missing values of one field for which a redirect is looked for.
  private static var attempts: Int { 10 }

  /// - Parameter types: The concrete types that the store has met.
  init(
    _ plan: OperationPlan, source: Source, types: ConcreteTypes, options: ReadOptions,
    detail: CacheExplanation.Detail
  ) {
    self.source = source
    hasErrors = source.hasErrors
    self.detail = detail
    table = PlanTable(plan)
    self.types = types
    table.learn(types)
    limits = AgeLimits(options: options, facts: plan.facts)
  }

  mutating func explain() throws(CacheError) -> CacheExplanation {
    let root = table.plans[Int(table.root)]
    let type = Array(table.plan.rootType.utf8)
    for index in 0..<root.fieldCount where root.fields[index].isAsked {
      let plan = root.fields[index]
      var field = described(plan, recordKey: RootRecord.queryKey, path: "")
      if let record = source.text(key: plan.rootKey, depth: 0)?.array {
        let times = source.times(depth: 0)
        record.withBytes { text in
          var cursor = FieldCursor(text)
          guard let entry = cursor.next() else { return fail(plan.rootKey) }
          let time = times.time(of: text[entry.key])
          type.withBytes {
            judge(&field, index: index, plan: table.root, typename: $0, time: time)
          }
          fill(
            &field, plan: plan, value: text[entry.value], time: time,
            recordKey: plan.rootKey.string, depth: 1)
        }
      } else {
        field.status = plan.fragments >= 0 ? .leftOut : .missing
      }
      addErrors(to: &field, plan, errors(of: plan.rootKey.array, depth: 1))
      redirect(&field, index, of: table.root, typename: table.plan.rootType, depth: 1)
      explanation.counts[field.status, default: 0] += 1
      explanation.fields.append(field)
    }
    if let failure = failure ?? source.failure { throw failure }
    return explanation
  }

  private func described(_ plan: FieldPlan, recordKey: String, path: String) -> Field {
    let key = plan.key.string
    return Field(
      path: path.isEmpty ? key : "\(path).\(key)", responseKey: key, recordKey: recordKey,
      field: plan.storedName, status: .hit)
  }

  /// Determines the age of a field, and whether it is stale.
  private mutating func judge(
    _ field: inout Field, index: Int, plan: Int32, typename: Bytes, time: UInt32
  ) {
    field.received = Int(time)
    field.age = limits.options.age(of: time)
    field.maxAge = limits.limit(
      of: index, in: table.plans[Int(plan)], numbered: plan, typename: typename)
    if let limit = field.maxAge,
      let found = limits.options.staleness(of: time, limit: limit)
    {
      field.status = found.isAccepted ? .accepted : .stale
    }
  }

  // MARK: Redirects

  /// Fills a missing or stale field from the records that its redirect leads to, if all of them are stored;
  /// without a redirect, proposes one.
  private mutating func redirect(
    _ field: inout Field, _ index: Int, of plan: Int32, typename: String, depth: Int
  ) {
    guard field.status == .missing || field.status == .stale, field.value != .unfit else { return }
    let object = table.plans[Int(plan)]
    guard object.fields[index].child >= 0 else { return }
    guard let target = object.redirects[index] else {
      if field.status == .missing { propose(for: field, in: typename, depth: depth) }
      return
    }
    field.redirect = target.keys.map { String(decoding: $0, as: UTF8.self) }
    guard isStored(target, depth: depth) else { return }
    field.status = .hit
    (field.received, field.age, field.maxAge) = (nil, nil, nil)
    (field.value, field.fields) = target.value.withBytes {
      composite(
        $0, node: object.fields[index].child, RecordTimes(received: 0),
        recordKey: field.recordKey, path: field.path, depth: depth)
    }
  }

  private mutating func isStored(_ target: RedirectTarget, depth: Int) -> Bool {
    target.keys.allSatisfy { key in
      source.text(key: key, depth: depth)
        .map { target.accepts(RecordText.typename(of: $0)) } ?? false
    }
  }

  /// Proposes a redirect for a missing field if it leads to records that are stored.
  private mutating func propose(for field: Field, in type: String, depth: Int) {
    var candidates = RedirectProposals(
      field: field.field, in: type, plan: table.plan, types: types)
    guard proposed[candidates.coordinate, default: 0] < Self.attempts else { return }
    proposed[candidates.coordinate, default: 0] += 1
    candidates.keep { isStored($0, depth: depth) }
    guard let proposal = candidates.best else { return }
    proposed[candidates.coordinate] = Self.attempts
    explanation.proposals.append(proposal)
  }

  // MARK: Values

  private mutating func fill(
    _ field: inout Field, plan: FieldPlan, value: Bytes, time: UInt32, recordKey: String,
    depth: Int
  ) {
    if RecordText.kind(value) == .errored {
      field.value = .null
      if field.status == .hit { field.status = .errored }
      return
    }
    guard plan.child >= 0 else {
      let kind = RecordText.kind(value)
      switch kind {
      case .null: field.value = .null
      case .object, .reference, .list, .segments:
        // The stored value is an object, but this operation selects the field as a leaf.
        field.status = .missing
        field.value = .unfit
      case .values:
        for key in Segments.keys(of: value)?.keys ?? []
        where source.text(key: key, depth: depth) == nil { field.status = .missing }
      default: break
      }
      return
    }
    (field.value, field.fields) = composite(
      value, node: plan.child, RecordTimes(received: time), recordKey: recordKey,
      path: field.path, depth: depth)
  }

  private mutating func composite(
    _ value: Bytes, node: Int32, _ times: RecordTimes, recordKey: String, path: String, depth: Int
  ) -> (Value, [Field]) {
    switch RecordText.kind(value) {
    case .null, .errored: return (.null, [])
    case .object:
      return (
        .object,
        fields(of: value, node: node, times, recordKey: recordKey, path: path, depth: depth)
      )
    case .reference: return reference(value, node: node, path: path, depth: depth)
    case .list, .segments:
      return (
        list(value, node: node, times, recordKey: recordKey, path: path, depth: depth), []
      )
    case .scalar, .opaque, .values:
      explanation.counts[.missing, default: 0] += 1
      return (.unfit, [])
    }
  }

  private mutating func reference(
    _ value: Bytes, node: Int32, path: String, depth: Int
  ) -> (Value, [Field]) {
    guard let key = RecordText.referencedKey(value) else {
      fail(value)
      return (.unfit, [])
    }
    let name = String(decoding: key, as: UTF8.self)
    guard let text = source.text(key: key, depth: depth) else {
      explanation.counts[.missing, default: 0] += 1
      return (.missingRecord(name), [])
    }
    let times = source.times(depth: depth)
    return (
      .reference(name),
      fields(
        of: text, node: node, times, recordKey: name, path: path, depth: depth + 1, isRecord: true)
    )
  }

  private mutating func list(
    _ value: Bytes, node: Int32, _ times: RecordTimes, recordKey: String, path: String, depth: Int
  ) -> Value {
    var count = 0
    var elements: [CacheExplanation.Element] = []
    var leftOut = 0
    var problems = 0
    for segment in texts(ofList: value.array, depth: depth) {
      guard let segment else {
        explanation.counts[.missing, default: 0] += 1
        return .missingRecord("a part of the list at \(path)")
      }
      segment.withBytes { text in
        var cursor = ElementCursor(text)
        while let range = cursor.next() {
          let (value, fields) = composite(
            text[range], node: node, times, recordKey: recordKey,
            path: "\(path)[\(count)]", depth: depth + 1)
          let element = CacheExplanation.Element(index: count, value: value, fields: fields)
          count += 1
          switch detail {
          case .everything: elements.append(element)
          case .problems(let limit):
            let isBad = element.hasProblem
            if isBad && problems >= limit {
              explanation.omittedProblems += 1
            } else if isBad || count == 1 {
              elements.append(element)
            } else {
              leftOut += 1
            }
            if isBad { problems += 1 }
          }
        }
        if cursor.isMalformed { fail(text) }
      }
    }
    return .list(count: count, elements: elements, leftOut: leftOut)
  }

  /// The texts of a list's segments, or that of the list itself; `nil` for a segment that is missing.
  private mutating func texts(ofList list: [UInt8], depth: Int) -> [[UInt8]?] {
    guard RecordText.kind(list) == .segments else { return [list] }
    let keys = list.withBytes { Segments.keys(of: $0)?.keys } ?? []
    return keys.map { source.text(key: $0, depth: depth)?.array }
  }

  // MARK: Objects

  private mutating func fields(
    of text: Bytes, node: Int32, _ times: RecordTimes, recordKey: String, path: String, depth: Int,
    isRecord: Bool = false
  ) -> [Field] {
    let errors = isRecord ? errors(of: Array(recordKey.utf8), depth: depth) : nil
    let typename = RecordText.typename(of: text)
    let number = table.variant(of: node, typename: typename)
    let object = table.plans[Int(number)]
    var stored: [[UInt8]: Range<Int>] = [:]
    var cursor = FieldCursor(text)
    while let field = cursor.next() { stored[text[field.key].array] = field.value }
    if cursor.isMalformed { fail(text) }
    let undecided = table.undecidedFragments(of: number) { index in
      stored[object.fields[index].storedKey] != nil
    }
    var fields: [Field] = []
    for index in 0..<object.fieldCount where object.fields[index].isAsked {
      let plan = object.fields[index]
      var field = described(plan, recordKey: recordKey, path: path)
      if plan.fragments >= 0,
        undecided.omit(table.fragmentLists[Int(plan.fragments)])
      {
        field.status = .leftOut
      } else if let value = stored[plan.storedKey] {
        let time = plan.storedKey.withBytes { times.time(of: $0) }
        judge(&field, index: index, plan: number, typename: typename, time: time)
        fill(&field, plan: plan, value: text[value], time: time, recordKey: recordKey, depth: depth)
      } else {
        field.status = .missing
      }
      addErrors(to: &field, plan, errors)
      redirect(&field, index, of: number, typename: typename.string, depth: depth)
      explanation.counts[field.status, default: 0] += 1
      fields.append(field)
    }
    return fields
  }

  // MARK: Errors

  /// The errors of a record and their times, by the quoted stored key of their field; `nil` if it has none.
  private mutating func errors(
    of record: [UInt8], depth: Int
  ) -> [[UInt8]: [(position: StoredErrors.Position, time: UInt32)]]? {
    guard hasErrors,
      let text = source.text(
        key: record.withBytes { ErrorRecord.key(of: $0) }, depth: depth)
    else { return nil }
    return source.times(depth: depth).withFields { time in
      StoredErrors(text).positions.reduce(into: [:]) { fields, position in
        guard case .field(let key)? = position.steps.first else { return }
        let name = StoredErrors.quotedName(of: position.steps)
        fields[key, default: []].append((position, name.withBytes { time($0) }))
      }
    }
  }

  private mutating func addErrors(
    to field: inout Field, _ plan: FieldPlan,
    _ errors: [[UInt8]: [(position: StoredErrors.Position, time: UInt32)]]?
  ) {
    guard let errors else { return }
    for (position, time) in errors[plan.storedKey] ?? [] {
      let path = field.path + Self.text(position.steps.dropFirst())
      addErrors(in: position.value, path: path, received: Int(time), to: &field.errors)
    }
    if !field.errors.isEmpty { explanation.hasErrors = true }
  }

  /// Adds the errors in the value of a position.
  private mutating func addErrors(
    in value: [UInt8], path: String, received: Int, to errors: inout [CacheExplanation.StoredError]
  ) {
    switch RecordText.kind(value) {
    case .errored:
      let entries = value.withBytes { value -> [JSONValue] in
        var cursor = FieldCursor(value)
        return cursor.next().flatMap { try? JSONValue(parsing: value[$0.value].array).arrayValue }
          ?? []
      }
      let unknown: JSONValue = ["message": "an error that could not be stored"]
      for entry in entries.isEmpty ? [unknown] : entries {
        let below = entry["path"].flatMap { PathStep.path($0) } ?? []
        let dot = if case .field? = below.first { "." } else { "" }
        errors.append(
          CacheExplanation.StoredError(
            path: below.isEmpty ? path : path + dot + PathStep.text(below),
            message: entry["message"]?.stringValue ?? "an error without a message",
            received: received, age: limits.options.age(of: UInt32(clamping: received))))
      }
    case .object:
      for entry in ObjectText(value).entries {
        let step = Self.text([.field(entry.key)])
        addErrors(in: entry.value, path: path + step, received: received, to: &errors)
      }
    case .list, .segments:
      var index = 0
      for case let text? in texts(ofList: value, depth: 0) {
        guard var elements = ListReader(text, access: nil) else { continue }
        while let element = elements.next() {
          addErrors(in: element, path: "\(path)[\(index)]", received: received, to: &errors)
          index += 1
        }
      }
    case .null, .scalar, .opaque, .reference, .values: break
    }
  }

  private static func text(_ steps: some Sequence<RecordStep>) -> String {
    steps.map { step in
      switch step {
      case .field(let key):
        var scratch = ByteStack(capacity: 64)
        return key.withBytes { key in
          "." + RecordText.withUnescaped(key, scratch: &scratch) { $0.string }
        }
      case .element(let index): return "[\(index)]"
      }
    }.joined()
  }

  private mutating func fail(_ key: Bytes) { failure = failure ?? .damagedRecord(key) }
}

extension RecordScan {
  /// Explains how the records answer an operation.
  func explain(
    _ plan: OperationPlan, types: ConcreteTypes, options: ReadOptions,
    detail: CacheExplanation.Detail
  ) throws(CacheError) -> CacheExplanation {
    let timed = TimedSource(source)
    func explanation(of source: some RecordSource) throws(CacheError) -> CacheExplanation {
      var explainer = RecordExplainer(
        plan, source: source, types: types, options: options, detail: detail)
      return try explainer.explain()
    }
    var explained =
      options.errors == .refuse
      ? try explanation(of: timed) : try explanation(of: ErrorSource(timed))
    explained.policy = options.errors
    guard explained.hasErrors else { return explained }
    for policy in ErrorReadPolicy.allCases {
      var options = options
      options.errors = policy
      let answer =
        policy == .refuse
        ? try RecordReader(plan, source: timed, types: types, options: options).read()
        : try RecordReader(plan, source: ErrorSource(timed), types: types, options: options).read()
      if case .hit = answer.result { explained.policies.insert(policy) }
    }
    return explained
  }
}

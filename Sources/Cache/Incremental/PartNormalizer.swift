import GQLRunJSON

/// Normalizes the later messages of a response that arrives in parts, one after the other: any number of objects and lists
/// that a message extends, for one transaction.
final class PartNormalizer {
  private let operation: PreparedOperation
  private let options: ResponseNormalizer.Options
  private let types: ConcreteTypes?
  private var parsing: JSONParser.Options
  private let memory: NormalizerMemory
  private var state: UnsafeMutablePointer<NormalizerState> { memory.state }
  private var deltas: [RecordDelta] = []
  private var hasErrors = false
  private(set) var bytes = 0

  /// - Parameter segmentSeed: That of the store.
  init(
    _ operation: PreparedOperation, types: ConcreteTypes?, segmentSeed: UInt64,
    options: ResponseNormalizer.Options
  ) {
    self.operation = operation
    self.options = options
    self.types = types
    parsing = options.parsing
    // A part is passed to the parser as a whole.
    parsing.minimumPiece = 1
    memory = NormalizerMemory(
      operation.plan, segmentSeed: segmentSeed, types: types, wantsResult: true, options: options)
  }

  /// Begins a message; discards records of the one before that were not taken.
  func beginMessage() {
    // Staging skips what it has staged; so it must not remember records that were discarded.
    if !state.pointee.staging.table.isEmpty { _ = state.pointee.staging.release() }
    // So that what earlier messages have reported is reported again.
    state.pointee.keys = KeyBuilder()
    // The store may have learned types since, also those of the first part.
    if let types { state.pointee.table.learn(types) }
    deltas = []
    hasErrors = false
    bytes = 0
  }

  /// What was found in one object or list.
  struct Found {
    /// The text for the caller, with exactly the selected fields.
    var result: [UInt8]
    /// The objects and lists that later parts may extend.
    var anchors: [Anchor]
    /// The number of elements of a list, with those before.
    var count: Int
    var areAnchorsTooMany: Bool
  }

  /// Reads the new fields of an object, or the new elements of a list.
  ///
  /// - Parameters:
  ///   - text: The JSON text: an object or a list.
  ///   - anchor: The object or list; `nil` for the root.
  ///   - earlier: The anchors of the parts before.
  ///   - errors: The errors of this text, with paths from the root.
  func read(
    _ text: [UInt8], at anchor: Anchor?, after earlier: [[PathStep]: Anchor],
    errors: [JSONValue]
  ) throws(CacheError) -> Found {
    bytes += text.count
    hasErrors = hasErrors || !errors.isEmpty
    begin(anchor)
    state.pointee.partHasErrors = !errors.isEmpty
    state.pointee.earlierAnchors = earlier
    // The caller changes its anchors, which then must have no other owner.
    defer { state.pointee.earlierAnchors = [:] }
    try parse(text, at: anchor)
    state.pointee.containers.pop()
    let found = Found(
      result: state.pointee.result.buffer.all.array, anchors: state.pointee.anchors.known,
      count: state.pointee.partCount, areAnchorsTooMany: state.pointee.anchors.isTooLong)
    resolve(errors, at: anchor)
    return found
  }

  private func begin(_ anchor: Anchor?) {
    memory.context.pointee.scope = JSONEventScope(limits: options.limits.json)
    state.pointee.mode = .envelope
    state.pointee.text.buffer.truncate(to: 0)
    state.pointee.text.needsComma = false
    state.pointee.result.reset()
    state.pointee.envelope = Envelope()
    state.pointee.anchors = AnchorList()
    state.pointee.part = anchor
    state.pointee.partText = nil
    state.pointee.partCount = 0
    // The value is `data` of a response, without the object around it.
    state.pointee.envelope.begin(Bytes("data"))
    state.pointee.containers.push(OpenContainer(.envelope))
  }

  private func parse(_ text: [UInt8], at anchor: Anchor?) throws(CacheError) {
    do {
      var parser = try memory.parser(parsing)
      try text.withUnsafeBytes { bytes in
        state.pointee.text.setChunk(bytes)
        defer { state.pointee.text.setChunk(nil) }
        try parser.feed(bytes)
      }
      try parser.finish()
    } catch {
      if let own = state.pointee.error { throw own }
      let json = error as? JSONError
      throw CacheError(
        .invalidJSON,
        "the part of the response for \(PathStep.text(anchor?.path ?? [])) "
          + "\(json?.verdict ?? "is not valid JSON"): \(json?.message ?? "\(error)")")
    }
  }

  /// Reverts nulls that are caused by errors, and prepares the change of a value inside a record.
  private func resolve(_ errors: [JSONValue], at anchor: Anchor?) {
    var text = state.pointee.partText
    if options.errorPolicy == .skipErrored, !errors.isEmpty {
      let resolution = NullResolution(
        plan: operation.plan,
        paths: ErrorPaths(errors, below: anchor?.path ?? [], firstIndex: anchor?.count),
        concreteConditions: state.pointee.table.concreteConditions,
        hidesSecrets: options.hidesSecrets)
      let access = state.pointee.staging.records
      if !resolution.isEmpty {
        if let staged = text, let anchor {
          text = resolution.resolved(staged, at: anchor, access)
          // A list with an unknown element is unknown.
          if text == nil { return remove(anchor) }
        } else if let anchor, let owner = anchor.owner {
          resolution.run(access, record: owner, selection: anchor.parts)
        } else if anchor == nil {
          resolution.run(access)
        }
      }
    }
    guard let text, let anchor, let owner = anchor.owner else { return }
    let change: RecordDelta.Change =
      anchor.count.map { .elements(text, $0..<max($0, state.pointee.partCount)) } ?? .fields(text)
    deltas.append(RecordDelta(owner: owner, steps: anchor.steps, change: change))
  }

  /// Removes a list whose rest failed: it is not the value of its field.
  func remove(_ anchor: Anchor) {
    guard anchor.count != nil, let owner = anchor.owner, options.errorPolicy == .skipErrored else {
      return
    }
    deltas.append(RecordDelta(owner: owner, steps: anchor.steps, change: .removal))
  }

  /// The records of everything that was read; `nil` if there are none.
  func pendingWrite(to store: any RecordStore, epoch: Int) -> PendingWrite? {
    if hasErrors && options.errorPolicy == .discard { return nil }
    var batch = state.pointee.release().noting(pagesOf: operation.plan)
    batch.deltas = deltas
    guard !batch.table.isEmpty || !deltas.isEmpty else { return nil }
    return PendingWrite(content: .staged(batch), store: store, epoch: epoch)
  }

  /// Notices about objects without identity.
  var diagnostics: [CacheDiagnostic] { state.pointee.diagnostics }
}

/// Later parts of a response: the fields of one object, or the elements of one list.
extension NormalizerState {
  /// Starts the object that a later part extends.
  mutating func beginPart(_ part: Anchor) -> Bool {
    let node = table.node(of: part.parts)
    openObject(.object, node: node)
    containers.top.pointee.isPart = true
    if !part.typename.isEmpty {
      setPlan(part.typename.withBytes { table.variant(of: node, typename: $0) })
    } else if !table.nodes[Int(node)].isConditional {
      setPlan(table.nodes[Int(node)].union)
    }
    result.open(UInt8(ascii: "{"))
    return true
  }

  /// Starts the elements that a later part adds to a list.
  mutating func beginPartList(_ part: Anchor) -> Bool {
    result.open(UInt8(ascii: "["))
    let isBegun = beginList(node: part.parts.isEmpty ? -1 : table.node(of: part.parts))
    containers.top.pointee.isPart = true
    // The stored list is cut, not the elements that are added to it.
    containers.top.pointee.segmentStart = Int.max / 2
    containers.top.pointee.elementCount = part.count ?? 0
    return isBegun
  }

  /// Ends the object that a later part extends: a change of a record, or of a value in one.
  @inline(never)
  mutating func endPart() -> Bool {
    if awaitsTypename { return wrongTypename() }
    guard let part else { return false }
    let object = containers.top
    let start = object.pointee.textStart
    guard hasSameIdentity(object, as: part) else { return false }
    if object.pointee.typenameStart < 0, !part.typename.isEmpty {
      text.separate()
      text.buffer.append(utf8: "\"__typename\":")
      text.append(string: String(decoding: part.typename, as: UTF8.self))
    }
    text.buffer.append(UInt8(ascii: "}"))
    if object.pointee.plan >= 0, table.plans[Int(object.pointee.plan)].hasStoredDuplicates {
      foldDuplicates(object)
      guard hasSameIdentity(object, as: part) else { return false }
    }
    if let owner = part.owner, part.steps.isEmpty {
      owner.withBytes { staging.stage(key: $0, text: text.buffer.bytes(start..<text.count)) }
    } else {
      partText = text.buffer.bytes(start..<text.count).array
    }
    return endPart(part, start)
  }

  /// Whether the type and the key fields of an object that a later part extends are those of the earlier parts, as far
  /// as the later one has them; fails otherwise.
  private mutating func hasSameIdentity(
    _ object: UnsafeMutablePointer<OpenContainer>, as part: Anchor
  ) -> Bool {
    guard object.pointee.plan >= 0, !part.typename.isEmpty else { return true }
    if object.pointee.typenameStart >= 0 {
      let found = text.buffer.bytes(
        (object.pointee.typenameStart + 1)..<(object.pointee.typenameEnd - 1))
      guard found.equals(part.typename) else {
        return contradicts(
          part.path, field: "__typename", found: found.string, expected: part.typename)
      }
    }
    guard let owner = part.owner, part.steps.isEmpty else { return true }
    let difference = part.typename.withBytes {
      keys.difference(
        of: object, in: containers, &table, from: owner, typename: $0, &text.buffer)
    }
    guard let difference, !(partHasErrors && difference.found == "null") else { return true }
    return contradicts(
      part.path, field: difference.field, found: difference.found, expected: difference.expected)
  }

  /// Fails because a part has another type or key field of an object than an earlier one.
  @inline(never)
  mutating func contradicts(
    _ path: [PathStep], field: String, found: String, expected: [UInt8]
  ) -> Bool {
    let place = PathStep.text(path)
    let expected = String(decoding: expected.prefix(80), as: UTF8.self)
    return fail(
      CacheError(
        .malformedResponse,
        "a later part of the response says that the \(field) of the object at \(place) is "
          + "\(found.prefix(80)); expected \(expected), as in an earlier part: a part must not change the type or "
          + "the key fields of an object", path: place))
  }

  /// Ends the elements that a later part adds to a list.
  @inline(never)
  mutating func endPartList() -> Bool {
    guard let part else { return false }
    let list = containers.top
    text.buffer.append(UInt8(ascii: "]"))
    partText = text.buffer.bytes(list.pointee.textStart..<text.count).array
    partCount = list.pointee.elementCount
    return endPart(part, list.pointee.textStart)
  }

  private mutating func endPart(_ part: Anchor, _ start: Int) -> Bool {
    anchors.adopt(under: part.path[...], steps: 0, owner: part.owner, extra: part.steps)
    text.buffer.truncate(to: start)
    result.close(containers.top.pointee.kind == .list ? UInt8(ascii: "]") : UInt8(ascii: "}"))
    containers.pop()
    return valueEnded()
  }
}

extension StoredText {
  fileprivate mutating func append(string: String) {
    Array(string.utf8).withBytes { append(string: $0) }
  }
}

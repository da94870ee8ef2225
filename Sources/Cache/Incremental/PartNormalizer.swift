import GQLRunJSON

/// Normalizes one message of a response that arrives in parts: any number of objects and lists that it extends, for
/// one transaction.
final class PartNormalizer {
  private let operation: PreparedOperation
  private let options: ResponseNormalizer.Options
  private let state: UnsafeMutablePointer<NormalizerState>
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
    state = .allocate(capacity: 1)
    state.initialize(
      to: NormalizerState(
        plan: operation.plan,
        staging: Staging(segmentSeed: segmentSeed, received: Seconds.stored(options.received)),
        wantsResult: true, storesRoot: options.writesRoots, limits: options.limits,
        separatesPages: options.joinsPages))
    if let types { state.pointee.table.learn(types) }
  }

  deinit {
    var table = PlanTable()
    swap(&table, &state.pointee.table)
    operation.plan.tables.give(table)
    state.deinitialize(count: 1)
    state.deallocate()
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
    state.pointee.scope = JSONEventScope(limits: options.limits.json)
    state.pointee.mode = .envelope
    state.pointee.text.buffer.truncate(to: 0)
    state.pointee.text.needsComma = false
    state.pointee.result = ResultWriter(isWanted: true)
    state.pointee.envelope = Envelope()
    state.pointee.anchors.removeAll()
    state.pointee.part = anchor
    state.pointee.partText = nil
    state.pointee.partCount = 0
    // The value is `data` of a response, without the object around it.
    let member: StaticString = "data"
    state.pointee.envelope.begin(
      Bytes(start: member.utf8Start, count: member.utf8CodeUnitCount))
    state.pointee.containers.push(OpenContainer(.envelope))
  }

  private func parse(_ text: [UInt8], at anchor: Anchor?) throws(CacheError) {
    let place = PathStep.text(anchor?.path ?? [])
    do {
      var parser = try JSONParser(
        handlers: normalizerHandlers, context: UnsafeMutableRawPointer(state),
        options: options.parsing)
      try text.withUnsafeBytes { bytes in
        state.pointee.text.setChunk(bytes)
        defer { state.pointee.text.setChunk(nil) }
        try parser.feed(bytes)
      }
      try parser.finish()
    } catch {
      if let own = state.pointee.error { throw own }
      throw CacheError(
        .invalidJSON,
        "the part of the response for \(place) is not valid JSON: "
          + ((error as? JSONError)?.message ?? "\(error)"))
    }
  }

  /// Reverts nulls that are caused by errors, and prepares the change of a value inside a record.
  private func resolve(_ errors: [JSONValue], at anchor: Anchor?) {
    var text = state.pointee.partText
    if options.errorPolicy == .skipErrored, !errors.isEmpty {
      let resolution = NullResolution(
        plan: operation.plan,
        paths: ErrorPaths(errors, below: anchor?.path ?? [], firstIndex: anchor?.count),
        concreteConditions: state.pointee.table.concreteConditions)
      let access = StagedRecords(
        state.pointee.staging.segments, table: state.pointee.staging.table)
      if !resolution.isEmpty {
        if let staged = text, let anchor {
          text = resolution.resolved(staged, selection: anchor.parts, access)
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
      anchor.count.map { .elements(text, count: $0) } ?? .fields(text)
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
    var batch = state.pointee.staging.release().noting(pagesOf: operation.plan)
    batch.shapes = state.pointee.table.shapes()
    batch.deltas = deltas
    guard !batch.table.isEmpty || !deltas.isEmpty else { return nil }
    return PendingWrite(store: store, batch: batch, epoch: epoch)
  }

  /// Notices about objects without identity.
  var diagnostics: [CacheDiagnostic] {
    state.pointee.keys.diagnostics.sorted {
      ($0.typename, $0.keyField) < ($1.typename, $1.keyField)
    }
  }
}

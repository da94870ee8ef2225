package import GQLRunJSON

/// Reads a response that arrives in parts, as with `@defer` and `@stream`: each part into records, and into a result
/// that grows.
///
/// ``IncrementalReader`` finds the messages in the bytes of a body.
///
/// The path of a later part is resolved through the references of the parts before it, not through the store, which
/// other requests change. Only what is new is written, in one transaction for each part. Memory does not grow with
/// the response, apart from the merged data if it is wanted, and from the objects that later parts may extend.
package final class IncrementalResponse {
  /// Whether the data of all parts is merged for the caller.
  private let mergesData: Bool
  private let operation: PreparedOperation
  private let store: CacheStore?
  private let options: ResponseNormalizer.Options
  /// The clearings of the store when the response was requested.
  private let epoch: Int
  private var merged: MergeLog?
  private var anchors: [[PathStep]: Anchor] = [:]
  /// The number of anchors after those that cannot be used any more were removed.
  private var usedAnchors = 1024
  private var pending = PendingLog()
  /// Reads the later parts; `nil` before the first one.
  private var normalizer: PartNormalizer?
  private var format: IncrementalMessage.Format?
  /// The text of the data of the first part, then the data of all parts as the server sent it; only for operations whose
  /// records need the whole response.
  private var firstText: [UInt8] = []
  private var whole: JSONValue?
  private let keepsWhole: Bool
  /// Whether a list of objects has grown, and whether a fragment or the rest of a list has failed.
  private var hasGrown = false
  private var hasFailed = false
  private var errors: [JSONValue] = []
  private var extensions: JSONObject?
  private var hasNext: Bool?
  private var hasBegun = false

  /// - Parameter mergesData: Whether every result has the data of all parts so far.
  package init(
    _ operation: PreparedOperation, store: CacheStore?, mergesData: Bool = true,
    options: ResponseNormalizer.Options = .init()
  ) {
    self.operation = operation
    self.store = store
    self.options = options
    self.mergesData = mergesData
    keepsWhole = store != nil && operation.plan.repeatsStreamedLists
    epoch = store?.records.activity.epoch ?? 0
  }

  /// Whether everything that was announced has arrived, and the server has not said that more follows.
  private var isComplete: Bool { hasBegun && hasNext != true && pending.isEmpty }

  /// Whether the server has said that nothing follows, and everything that was announced has arrived.
  package var hasEnded: Bool { isComplete && hasNext == false }

  /// Checks that the response may end here.
  package func finish() throws(CacheError) {
    if isComplete { return }
    guard hasBegun else {
      throw CacheError(.truncatedResponse, "the response ended before its first part")
    }
    let missing = pending.fragments.prefix(5).map { title($0) }.joined(separator: ", ")
    throw CacheError(
      .truncatedResponse,
      "the response ended before all its parts had arrived"
        + (missing.isEmpty ? "" : "; missing: \(missing)"))
  }

  private func title(_ fragment: PendingFragment) -> String {
    (fragment.label.map { "\($0) at " } ?? "") + PathStep.text(fragment.path)
  }

  // MARK: - First part

  /// Creates the normalizer of the first part. It expects a whole response.
  package func firstPart() throws(CacheError) -> ResponseNormalizer {
    try ResponseNormalizer(operation, store: store, options: options)
  }

  /// Takes bytes of the first part's data, beside the normalizer.
  package func note(firstData bytes: UnsafeRawBufferPointer) {
    if keepsWhole { firstText += bytes }
  }

  /// The result of the first part.
  ///
  /// - Parameters:
  ///   - normalizer: The normalizer from ``firstPart()``, which has read the part.
  ///   - members: The members of the message beside `data`.
  package func result(
    of normalizer: ResponseNormalizer, _ members: [(key: [UInt8], value: [UInt8])]
  ) async throws(CacheError) -> [IncrementalResult] {
    let message = try IncrementalMessage(members, isFirst: true)
    var parsed = try await normalizer.finish()
    hasBegun = true
    let found = normalizer.takeAnchors()
    do {
      try add(found.known, areTooMany: found.isTooLong)
      if mergesData, let data = parsed.data {
        merged = MergeLog(try JSONValue(parsing: data.bytes()), limits: options.limits.json)
      }
      if keepsWhole, !firstText.isEmpty {
        whole = try options.value(firstText)
        firstText = []
      }
      try note(message)
    } catch {
      await parsed.write?.rollback()
      throw error as? CacheError ?? CacheError(.invalidJSON, "\(error)")
    }
    errors = parsed.errors
    extensions = parsed.extensions
    let delivered = DeliveredFragment(path: [], data: parsed.data)
    if message.deltas.isEmpty, message.completed.isEmpty { settle(message) }
    parsed.data = nil
    if writesWholeOnly, !isComplete || !message.deltas.isEmpty {
      await parsed.write?.rollback()
      parsed.write = nil
    }
    let result = IncrementalResult(
      data: merged?.data, firstData: delivered.data,
      errors: errors, extensions: extensions, write: parsed.write, delivered: [delivered],
      announced: pending.result(), hasNext: !isComplete || !message.deltas.isEmpty,
      bytes: parsed.statistics.bytes, diagnostics: parsed.diagnostics, warnings: parsed.warnings,
      storeFailure: parsed.storeFailure)
    guard !message.deltas.isEmpty || !message.completed.isEmpty else { return [result] }
    // A transaction of its own: the first part may be too large to be held back.
    do {
      return [result, try await later(message)]
    } catch {
      await parsed.write?.rollback()
      throw error
    }
  }

  private func note(_ message: IncrementalMessage) throws(CacheError) {
    try IncrementalMessage.checkFormat(message.format, format)
    format = format ?? message.format
    if let hasNext = message.hasNext { self.hasNext = hasNext }
    for new in message.pending {
      guard pending.add(new.id, new.fragment) else {
        throw CacheError(
          .malformedResponse,
          "the response announces the id \"\(new.id.prefix(40))\" twice; it is still pending")
      }
    }
    var ended: Set<String> = []
    for end in message.completed where pending[end.id] == nil || !ended.insert(end.id).inserted {
      throw notPending(end.id)
    }
  }

  private func notPending(_ id: String) -> CacheError {
    CacheError(
      .malformedResponse,
      "the response has a part with the id \"\(id.prefix(40))\", which is not pending")
  }

  // MARK: - Later parts

  /// The result of a later part; `nil` for a message without content.
  package func result(
    of members: [(key: [UInt8], value: [UInt8])]
  ) async throws(CacheError) -> IncrementalResult? {
    if members.isEmpty { return nil }
    let message = try IncrementalMessage(members, isFirst: false)
    if hasNext == false, message.format != nil {
      throw CacheError(
        .malformedResponse,
        "the response continues after the message with `hasNext: false`, which is the last one")
    }
    try note(message)
    return try await later(message)
  }

  private func later(_ message: IncrementalMessage) async throws(CacheError) -> IncrementalResult {
    let normalizer =
      self.normalizer
      ?? PartNormalizer(
        operation, types: store?.records.activity.concreteTypes,
        segmentSeed: store?.records.segmentSeed ?? processSeed, options: options)
    self.normalizer = normalizer
    normalizer.beginMessage()
    var delivered: [DeliveredFragment] = []
    for delta in message.deltas { delivered.append(try read(delta, normalizer)) }
    errors += message.errors
    for end in message.completed {
      guard !end.errors.isEmpty else { continue }
      errors += end.errors
      hasFailed = true
      if let failed = pending[end.id], let anchor = anchors[failed.path] {
        normalizer.remove(anchor)
      }
    }
    add(message.extensions)
    settle(message)
    var result = IncrementalResult(
      data: merged?.data, errors: errors, extensions: extensions,
      delivered: delivered, announced: pending.result(), hasNext: !isComplete,
      bytes: normalizer.bytes, diagnostics: normalizer.diagnostics)
    guard let store else { return result }
    if let write = try await wholeWrite() {
      result.write = write
    } else if !writesWholeOnly {
      result.write = normalizer.pendingWrite(to: store.records, epoch: epoch)
    }
    return result
  }

  /// Whether no part is written by itself: in a list that is shorter under another response key, the null of an error
  /// may not be found, and would be stored as a fact.
  private var writesWholeOnly: Bool { keepsWhole && !errors.isEmpty }

  /// The records of the whole response, with its last part; `nil` unless they differ from those of its parts.
  ///
  /// A list of objects without identity that one part extends and another one has completely, under another response
  /// key or for the same object, cannot be joined by position before its end is known: the parts replace each
  /// other's elements.
  private func wholeWrite() async throws(CacheError) -> PendingWrite? {
    guard isComplete, hasGrown || writesWholeOnly, !hasFailed, let data = whole.take() else {
      return nil
    }
    var options = options
    options.wantsResult = false
    let normalizer = try ResponseNormalizer(operation, store: store, options: options)
    var response = JSONObject()
    response["data"] = data
    if !errors.isEmpty { response["errors"] = .array(errors) }
    let text = JSONValue.object(response).jsonBytes()
    try text.withBytes { (text) throws(CacheError) in try normalizer.feed(text.raw) }
    return try await normalizer.finish().write?.requested(at: epoch)
  }

  private func add(_ more: JSONObject?) {
    guard let more else { return }
    var all = extensions ?? JSONObject()
    for member in more { all[member.key] = member.value }
    extensions = all
  }

  /// Forgets what is complete.
  private func settle(_ message: IncrementalMessage) {
    for end in message.completed { pending.end(end.id) }
    pending = pending.compacted()
    if isComplete { anchors = [:] }
    guard format == .withIDs, anchors.count > 2 * usedAnchors else { return }
    // Those at or below the object of a pending fragment, and pending lists.
    let paths = Set(pending.fragments.map(\.path))
    anchors = anchors.filter { path, anchor in
      if paths.contains(path) { return true }
      return path.indices.contains { end in
        let prefix = Array(path[..<end])
        return paths.contains(prefix) && anchors[prefix]?.count == nil
      }
    }
    usedAnchors = max(anchors.count, 1024)
  }

  private func read(
    _ delta: IncrementalMessage.Delta, _ normalizer: PartNormalizer
  ) throws(CacheError) -> DeliveredFragment {
    let (target, label) = try target(of: delta)
    errors += delta.errors
    add(delta.extensions)
    let anchor = anchors[target.path]
    switch delta.content {
    case .none:
      // Before 2022, an element came alone, at its index.
      if format == .before2022, let anchor, let count = anchor.count, delta.isNullData,
        target.index == count
      {
        return try append(
          Array("[null]".utf8), to: anchor, label: label, delta: delta, normalizer: normalizer)
      }
      hasFailed = true
      if let anchor { normalizer.remove(anchor) }
      return DeliveredFragment(path: target.path, label: label, firstIndex: target.index)
    case .fields(let text):
      guard let anchor, let count = anchor.count else {
        return try merge(text, at: target.path, label: label, delta: delta, normalizer: normalizer)
      }
      if let index = target.index, format != .before2022 || index < count, try isEmptyObject(text) {
        // A fragment that selects nothing of the element is not planned for. Before 2022, `data` at the index behind the
        // last element is the next one.
        return DeliveredFragment(
          path: target.path + [.element(index)], label: label, data: ResultBody(memory: text))
      }
      guard format == .before2022, target.index != nil else {
        throw CacheError(
          .malformedResponse,
          "the response has a part with `data` for the list \(PathStep.text(target.path)); the elements of a list "
            + "arrive as `items`", path: PathStep.text(target.path))
      }
      try checkIndex(target, anchor)
      let list = [UInt8(ascii: "[")] + text + [UInt8(ascii: "]")]
      return try append(list, to: anchor, label: label, delta: delta, normalizer: normalizer)
    case .elements(let text):
      guard let anchor, anchor.count != nil, delta.subPath.isEmpty else {
        throw unknown(target.path, "elements of a list")
      }
      try checkIndex(target, anchor)
      return try append(text, to: anchor, label: label, delta: delta, normalizer: normalizer)
    }
  }

  private func checkIndex(
    _ target: (path: [PathStep], index: Int?), _ anchor: Anchor
  ) throws(CacheError) {
    guard let index = target.index, let count = anchor.count, index != count else { return }
    throw CacheError(
      .malformedResponse,
      "the response continues the list \(PathStep.text(target.path)) at index \(index), "
        + "but \(count) elements have arrived")
  }

  private func isEmptyObject(_ text: [UInt8]) throws(CacheError) -> Bool {
    try options.value(text).objectValue?.isEmpty == true
  }

  /// The path that a delta belongs to; of a list, without the index of its next element.
  private func target(
    of delta: IncrementalMessage.Delta
  ) throws(CacheError) -> (target: (path: [PathStep], index: Int?), label: String?) {
    if let id = delta.id {
      guard let known = pending[id] else { throw notPending(id) }
      return ((known.path + delta.subPath, nil), known.label)
    }
    let path = delta.path ?? []
    if anchors[path] == nil, case .element(let index)? = path.last,
      anchors[Array(path.dropLast())]?.count != nil
    {
      return ((Array(path.dropLast()), index), delta.label)
    }
    return ((path, nil), delta.label)
  }

  private func merge(
    _ text: [UInt8], at path: [PathStep], label: String?, delta: IncrementalMessage.Delta,
    normalizer: PartNormalizer
  ) throws(CacheError) -> DeliveredFragment {
    let anchor = anchors[path]
    guard path.isEmpty || anchor != nil else {
      // A fragment that selects nothing of the object is not planned for.
      if try isEmptyObject(text) {
        return DeliveredFragment(path: path, label: label, data: ResultBody(memory: text))
      }
      throw unknown(path, "fields of an object")
    }
    let found = try normalizer.read(
      text, at: path.isEmpty ? nil : anchor, after: anchors, errors: delta.errors)
    try add(found.anchors, areTooMany: found.areAnchorsTooMany)
    let merge = ResultMerge(keepsValues: !delta.errors.isEmpty)
    merged?.add(.init(path: path, text: found.result, content: .fields(merge)))
    try changeWhole { (data) throws(CacheError) in
      merge.merge(try options.value(text), into: &data, at: path[...])
    }
    return DeliveredFragment(
      path: path, label: label, data: ResultBody(memory: found.result))
  }

  private func append(
    _ text: [UInt8], to anchor: Anchor, label: String?, delta: IncrementalMessage.Delta,
    normalizer: PartNormalizer
  ) throws(CacheError) -> DeliveredFragment {
    let found = try normalizer.read(text, at: anchor, after: anchors, errors: delta.errors)
    anchors[anchor.path]?.count = found.count
    try add(found.anchors, areTooMany: found.areAnchorsTooMany)
    merged?.add(.init(path: anchor.path, text: found.result, content: .elements))
    hasGrown = hasGrown || !anchor.parts.isEmpty
    try changeWhole { (data) throws(CacheError) in
      ResultMerge.append(try options.value(text).arrayValue ?? [], to: &data, at: anchor.path[...])
    }
    return DeliveredFragment(
      path: anchor.path, label: label, firstIndex: anchor.count,
      data: ResultBody(memory: found.result))
  }

  /// Changes the whole data without a copy of it, unless it is absent or null.
  private func changeWhole(
    _ body: (inout JSONValue) throws(CacheError) -> Void
  ) throws(CacheError) {
    guard var value = whole.take() else { return }
    defer { whole = value }
    if !value.isNull { try body(&value) }
  }

  private func add(_ found: [Anchor], areTooMany: Bool) throws(CacheError) {
    for anchor in found { anchors[anchor.path] = anchor }
    guard areTooMany || anchors.count > AnchorList.limit * 2 else { return }
    throw CacheError(
      .malformedResponse,
      "more than \(AnchorList.limit) objects of the response wait for deferred fragments; request fewer "
        + "objects, or fewer deferred fragments")
  }

  private func unknown(_ path: [PathStep], _ what: String) -> CacheError {
    CacheError(
      .malformedResponse,
      "the response has a part with \(what) at \(PathStep.text(path)), where the operation defers "
        + "nothing, or where no value has arrived", path: PathStep.text(path))
  }
}

/// The result of one part of a response.
package struct IncrementalResult: Sendable {
  /// The data of all parts so far; `nil` if the response has none, or if it is not merged.
  package var data: MergedData?
  /// The data of the first part; `nil` if it has none, and for later ones.
  package var firstData: ResultBody?
  /// The errors of all parts so far.
  package var errors: [JSONValue]
  /// The members of `extensions` of all parts so far.
  package var extensions: JSONObject?
  /// The records of the part; `nil` if there are none.
  package var write: PendingWrite?
  /// What the part has added.
  package var delivered: [DeliveredFragment]
  /// What the server has announced and not sent; empty for formats without announcements.
  package var announced: PendingFragments
  /// Whether more parts follow.
  package var hasNext: Bool
  package var bytes: Int
  package var diagnostics: [CacheDiagnostic]
  package var warnings: [String] = []
  package var storeFailure: CacheError?
}

import GQLRunJSON
import GQLRunLanguage

/// The state of normalizing one response, which gets the events of its JSON text.
///
/// It forwards each event, depending on its ``Mode``, to the parts that do the work:
/// ``OpenContainers`` knows the objects and lists that are open, ``StoredText`` collects their
/// text, ``KeyBuilder`` builds the keys under which finished objects are staged, ``ResultWriter``
/// writes the caller's result, ``Capture`` and ``Envelope`` follow the values that are not
/// normalized. All of them are plain values behind one pointer, without classes or allocations per
/// event.
struct NormalizerState: ~Copyable {
  /// What the next event belongs to.
  enum Mode: UInt8 {
    /// A member of the response, of a normalized object, or an element of a list.
    case envelope, object, list
    /// A value that is stored unchanged, or not at all.
    case capture, skip
  }

  var mode = Mode.envelope
  /// The field of the next value; `nil` if the value is skipped.
  var current: UnsafeMutablePointer<FieldPlan>?
  /// Whether the next value is the `__typename` that determines the plan of the innermost object.
  var awaitsTypename = false

  var containers: OpenContainers
  var text = StoredText()
  var keys = KeyBuilder()
  var result: ResultWriter
  var capture = Capture()
  var envelope = Envelope()

  /// Whether the objects and lists that later parts may extend are noted in ``anchors``.
  let collectsAnchors: Bool
  var anchors = AnchorList()
  /// The anchors of the parts before.
  var earlierAnchors: [[PathStep]: Anchor] = [:]
  /// The object or list that a later part extends, while one is read; `nil` for the whole data.
  var part: Anchor?
  /// The text of the value that was read for ``part``, if it is not a record itself, and the number of its elements.
  var partText: [UInt8]?
  var partCount = 0
  /// Whether the server names errors of ``part``, so that a null may replace any value.
  var partHasErrors = false

  var table: PlanTable
  var staging: Staging
  let storesRoot: Bool
  let maxOpaqueBytes: Int

  var objects = 0
  var fields = 0
  var unknownFields = 0
  /// Why a handler cancelled the parse.
  private(set) var error: CacheError?

  init(
    plan: OperationPlan, staging: consuming Staging, wantsResult: Bool, storesRoot: Bool,
    limits: ResponseLimits, separatesPages: Bool
  ) {
    collectsAnchors = !plan.deliveries.isEmpty
    table = plan.tables.take(for: plan, separatesPages: separatesPages)
    self.staging = staging
    self.storesRoot = storesRoot && plan.operationType == .query
    maxOpaqueBytes = limits.maxOpaqueBytes
    containers = OpenContainers(maxDepth: Int(limits.json.maxDepth) + 2)
    result = ResultWriter(isWanted: wantsResult)
  }

  /// Takes the staged records at the end of the response, or of one of its parts.
  mutating func release() -> RecordBatch {
    var batch = staging.release()
    if let types = table.responseTypes() { batch.types = [types] }
    return batch
  }

  /// Notices about objects without identity.
  var diagnostics: [CacheDiagnostic] {
    keys.diagnostics.sorted { ($0.typename, $0.keyField) < ($1.typename, $1.keyField) }
  }

  /// Sets the plan of the innermost object.
  @inline(__always)
  mutating func setPlan(_ plan: Int32) {
    containers.setPlan(plan, table.plans + Int(plan))
  }

  // MARK: Errors

  /// Stops the parse with `error`.
  @inline(never)
  mutating func fail(_ error: CacheError) -> Bool {
    if self.error == nil { self.error = error }
    return false
  }

  @inline(never)
  mutating func duplicateKey(_ key: Bytes) -> Bool {
    current = nil
    let name = String(key.string.prefix(80))
    return malformed(
      "the response has the key \(JSONValue.string(name).canonicalText) twice in one object at "
        + "\(location); JSON objects need different keys")
  }

  @inline(never)
  mutating func wrongTypename() -> Bool {
    malformed("the response has a __typename at \(location) that is not a string")
  }

  @inline(never)
  mutating func wrongShape(_ found: StaticString) -> Bool {
    malformed(
      "the response has \(found) at \(location), where the operation selects the fields of an "
        + "object")
  }

  /// Stops the parse because of the current value.
  @inline(never)
  mutating func malformed(_ message: String) -> Bool {
    fail(CacheError(.malformedResponse, message, path: path))
  }

  /// The response path of the current value, for messages.
  var location: String {
    let path = path
    return path.isEmpty ? "the top" : path
  }

  /// The response path of the current value: `feed.edges[3].node`.
  private var path: String {
    var parts = part.map { $0.path.isEmpty ? "" : PathStep.text($0.path) } ?? ""
    for index in 0..<containers.depth {
      let container = containers[index]
      switch container.kind {
      case .envelope: continue
      case .list: parts += "[\(container.elementCount)]"
      case .root, .object:
        let field = index == containers.depth - 1 ? current : container.field
        guard let field else { continue }
        parts += (parts.isEmpty ? "" : ".") + field.pointee.key.string
      }
    }
    return parts
  }
}

/// The memory of a ``NormalizerState``, and of the context of parsers.
///
/// Sendable: the thread that reads the response uses it, or, between two calls of ``EventTape/settle()``, the queue of the
/// tape uses the state and the result, and that thread only the context.
final class NormalizerMemory: @unchecked Sendable {
  let state: UnsafeMutablePointer<NormalizerState>
  let context: UnsafeMutablePointer<EventContext>
  private let plan: OperationPlan
  private var spool = ResultSpool()

  /// - Parameters:
  ///   - segmentSeed: That of the store.
  ///   - types: The concrete types that the store has met.
  init(
    _ plan: OperationPlan, segmentSeed: UInt64, types: ConcreteTypes?, wantsResult: Bool,
    options: ResponseNormalizer.Options
  ) {
    self.plan = plan
    state = .allocate(capacity: 1)
    state.initialize(
      to: NormalizerState(
        plan: plan,
        // Times are stored in the range from 1970 to 2106.
        staging: Staging(segmentSeed: segmentSeed, received: UInt32(clamping: options.received)),
        wantsResult: wantsResult, storesRoot: options.writesRoots, limits: options.limits,
        separatesPages: options.joinsPages))
    if let types { state.pointee.table.learn(types) }
    context = .allocate(capacity: 1)
    context.initialize(
      to: EventContext(scope: JSONEventScope(limits: options.limits.json), state: state))
  }

  deinit {
    let last = state.move()
    plan.tables.give(last.table)
    state.deallocate()
    context.deallocate()
  }

  func parser(_ options: JSONParser.Options) throws(JSONError) -> JSONParser {
    try JSONParser(
      handlers: .normalizing, context: UnsafeMutableRawPointer(context), options: options)
  }

  /// Moves the caller's result out of the state, if it is large. Returns false as ``spoolResult(isLast:)``.
  func spoolLargeResult() -> Bool {
    state.pointee.result.buffer.count <= 64 << 10 || spoolResult(isLast: false)
  }

  /// Moves the caller's result out of the state. Returns false if that fails, with ``NormalizerState/error``.
  func spoolResult(isLast: Bool) -> Bool {
    do throws(CacheError) {
      try spool.take(&state.pointee.result.buffer, isLast: isLast)
      return true
    } catch {
      return state.pointee.fail(error)
    }
  }

  /// The caller's result, whose end was spooled.
  func takeResult() throws(CacheError) -> ResultBody {
    var taken = ResultSpool()
    swap(&taken, &spool)
    return try taken.finish()
  }
}

/// The events of the parser, forwarded by the mode.
extension NormalizerState {
  @inline(__always)
  mutating func onKey(_ key: Bytes) -> Bool {
    switch mode {
    case .object: return objectKey(key)
    case .capture: return capturedKey(key)
    case .skip: return capture.add(key) || duplicateKey(key)
    case .envelope: return envelopeKey(key)
    case .list: return true
    }
  }

  @inline(__always)
  mutating func onString(_ string: Bytes) -> Bool {
    // Only the value of an object's field is awaited.
    if awaitsTypename { return typename(string) }
    return onScalar("a string") { $0.append(string: string) }
  }

  @inline(__always)
  mutating func onLiteral(_ literal: Bytes, _ shape: StaticString) -> Bool {
    if awaitsTypename { return wrongTypename() }
    return onScalar(shape) { $0.buffer.append(literal) }
  }

  @inline(__always)
  mutating func onBoolean(_ value: Bool) -> Bool {
    onLiteral(Bytes(value ? "true" : "false"), "a boolean")
  }

  @inline(__always)
  mutating func onNull() -> Bool {
    if awaitsTypename { return wrongTypename() }
    return onScalar(nil) { $0.buffer.append(utf8: "null") }
  }

  /// Processes a scalar, which `append` adds to the text; an object or a list may be null, which has no `shape`.
  @inline(__always)
  private mutating func onScalar(
    _ shape: StaticString?, append: (inout StoredText) -> Void
  ) -> Bool {
    switch mode {
    case .object:
      guard let field = current else { return true }
      if let shape, field.pointee.child >= 0 { return wrongShape(shape) }
      let start = text.count
      append(&text)
      return scalarEnded(field, start)
    case .list:
      if let shape, containers.top.pointee.node >= 0 { return wrongShape(shape) }
      text.separate()
      let start = text.count
      append(&text)
      return leafElementEnded(start)
    case .capture:
      text.separate()
      append(&text)
      return capturedScalarEnded()
    case .skip: return true
    case .envelope:
      if let shape { return envelopeScalar(shape) }
      return envelopeNull()
    }
  }

  @inline(__always)
  mutating func onStartObject() -> Bool {
    let opening = UInt8(ascii: "{")
    switch mode {
    case .object:
      if awaitsTypename { return wrongTypename() }
      guard let field = current else { return beginSkip(opening) }
      guard field.pointee.child >= 0 else { return beginCapture(.leaf, opening) }
      result.open(opening, as: field)
      containers.top.pointee.field = field
      return beginObject(node: field.pointee.child)
    case .list:
      let node = containers.top.pointee.node
      text.separate()
      guard node >= 0 else { return beginCapture(.element, opening) }
      result.open(opening)
      return beginObject(node: node)
    case .capture: return capturedContainer(opening)
    case .skip:
      capture.begin(opening)
      return true
    case .envelope: return envelopeObject()
    }
  }

  @inline(__always)
  mutating func onEndObject() -> Bool {
    switch mode {
    case .object: return containers.top.pointee.kind == .root ? endRoot() : endObject()
    case .capture: return capturedContainerEnded(UInt8(ascii: "}"))
    case .skip: return skippedContainerEnded(UInt8(ascii: "}"))
    case .envelope, .list: return true
    }
  }

  @inline(__always)
  mutating func onStartArray() -> Bool {
    let opening = UInt8(ascii: "[")
    switch mode {
    case .object:
      if awaitsTypename { return wrongTypename() }
      guard let field = current else { return beginSkip(opening) }
      if field.pointee.isTypename { return wrongTypename() }
      // Only the cache selects the field, as a key: a list is no key, and not in the result.
      guard field.pointee.isAsked else { return beginCapture(.leaf, opening) }
      result.open(opening, as: field)
      containers.top.pointee.field = field
      return beginList(node: field.pointee.child)
    case .list:
      let node = containers.top.pointee.node
      text.separate()
      guard node >= 0 else { return beginCapture(.element, opening) }
      result.open(opening)
      return beginList(node: node)
    case .capture: return capturedContainer(opening)
    case .skip:
      capture.begin(opening)
      return true
    case .envelope: return envelopeArray()
    }
  }

  @inline(__always)
  mutating func onEndArray() -> Bool {
    switch mode {
    case .list: return endList()
    case .capture: return capturedContainerEnded(UInt8(ascii: "]"))
    case .skip: return skippedContainerEnded(UInt8(ascii: "]"))
    case .object, .envelope: return true
    }
  }
}

/// Objects: their keys, scalar fields, type and end.
extension NormalizerState {
  // MARK: Keys

  @inline(__always)
  mutating func objectKey(_ key: Bytes) -> Bool {
    let object = containers.top
    if object.pointee.plan < 0 { return firstKey(key) }
    let plan = table.plans + Int(object.pointee.plan)
    let words = keyWords(key)
    var index = object.pointee.next
    if !(index < plan.pointee.fieldCount
      && matches(plan.pointee.fields + index, key: key, words: words))
    {
      index = search(plan, key: key, words: words, from: index)
      if index < 0 {
        current = nil
        unknownFields &+= 1
        return containers.addUnknownKey(key) || duplicateKey(key)
      }
    }
    object.pointee.next = index &+ 1
    guard containers.markSeen(index, of: object) else { return duplicateKey(key) }
    let field = plan.pointee.fields + index
    current = field
    fields &+= 1
    text.separate()
    text.buffer.append(field.pointee.storedPrefix.start, field.pointee.storedPrefix.count)
    return true
  }

  @inline(__always)
  private func matches(
    _ field: UnsafeMutablePointer<FieldPlan>, key: Bytes, words: (head: UInt64, tail: UInt64)
  ) -> Bool {
    field.pointee.key.count == key.count && field.pointee.head == words.head
      && field.pointee.tail == words.tail
      && (key.count <= 16
        || compareBytes(field.pointee.key.start + 8, b: key.start + 8, count: key.count &- 16))
  }

  @inline(never)
  private func search(
    _ plan: UnsafeMutablePointer<ObjectPlan>, key: Bytes, words: (head: UInt64, tail: UInt64),
    from start: Int
  ) -> Int {
    let count = plan.pointee.fieldCount
    var index = start
    for _ in 0..<count {
      if index >= count { index = 0 }
      if matches(plan.pointee.fields + index, key: key, words: words) { return index }
      index &+= 1
    }
    return -1
  }

  /// Processes the first key of an object whose type determines its fields.
  @inline(never)
  private mutating func firstKey(_ key: Bytes) -> Bool {
    if key.equals(Self.typenameKey) {
      awaitsTypename = true
      text.buffer.append(utf8: "\"__typename\":")
      return true
    }
    let union = table.nodes[Int(containers.top.pointee.node)].union
    // Without a union, the key's meaning depends on the type, which comes later.
    guard union >= 0 else { return deferObject(key) }
    setPlan(union)
    return objectKey(key)
  }

  // MARK: Values

  /// Ends a scalar of the current field, which is in the text from `start` on.
  @inline(__always)
  mutating func scalarEnded(_ field: UnsafeMutablePointer<FieldPlan>, _ start: Int) -> Bool {
    let object = containers.top
    text.needsComma = true
    if field.pointee.candidate >= 0 {
      containers.setCandidate(
        field.pointee.candidate, of: object, start: start, end: text.count)
    }
    if field.pointee.isTypename {
      guard text.buffer[start] == UInt8(ascii: "\"") else { return wrongTypename() }
      object.pointee.typenameStart = start
      object.pointee.typenameEnd = text.count
    }
    result.append(field, in: text, from: start)
    if object.pointee.kind == .root { stageRootField(object, field) }
    current = nil
    return true
  }

  /// Processes the value that determines the type of the innermost object.
  @inline(never)
  mutating func typename(_ string: Bytes) -> Bool {
    awaitsTypename = false
    let object = containers.top
    let index = table.variant(of: object.pointee.node, typename: string)
    setPlan(index)
    let start = text.count
    text.append(string: string)
    object.pointee.typenameStart = start
    object.pointee.typenameEnd = text.count
    text.needsComma = true
    fields &+= 1
    let plan = table.plans + Int(index)
    let key = Bytes(Self.typenameKey)
    let fieldIndex = search(plan, key: key, words: keyWords(key), from: 0)
    guard fieldIndex >= 0 else { return true }
    object.pointee.next = fieldIndex &+ 1
    _ = containers.markSeen(fieldIndex, of: object)
    let field = plan.pointee.fields + fieldIndex
    if field.pointee.candidate >= 0 {
      containers.setCandidate(
        field.pointee.candidate, of: object, start: start, end: text.count)
    }
    result.append(field, in: text, from: start)
    return true
  }

  static var typenameKey: StaticString { "__typename" }

  /// Ends a value that is not a scalar: its container continues.
  @inline(__always)
  mutating func valueEnded() -> Bool {
    text.needsComma = true
    let container = containers.top
    switch container.pointee.kind {
    case .object:
      mode = .object
      current = nil
      return true
    case .list:
      mode = .list
      return elementEnded(container)
    case .root:
      mode = .object
      if let field = container.pointee.field { stageRootField(container, field) }
      current = nil
      return true
    case .envelope:
      mode = .envelope
      return true
    }
  }

  // MARK: Start and end

  /// Opens an object; its plan is set after that, once it is known.
  @inline(__always)
  mutating func openObject(_ kind: OpenContainer.Kind, node: Int32) {
    objects &+= 1
    var object = OpenContainer(kind)
    object.node = node
    object.textStart = text.count
    text.open(UInt8(ascii: "{"))
    current = nil
    containers.push(object)
    mode = .object
  }

  @inline(__always)
  mutating func beginObject(node: Int32) -> Bool {
    openObject(.object, node: node)
    // If the selection is conditional, the type or the first key determines the plan.
    if !table.nodes[Int(node)].isConditional { setPlan(table.nodes[Int(node)].union) }
    return true
  }

  /// Ends the innermost object: if it has an identity, it becomes a record and a reference.
  @inline(__always)
  mutating func endObject() -> Bool {
    let object = containers.top
    if object.pointee.isPart { return endPart() }
    if awaitsTypename { return wrongTypename() }
    text.buffer.append(UInt8(ascii: "}"))
    if object.pointee.plan >= 0 {
      if table.plans[Int(object.pointee.plan)].hasStoredDuplicates { foldDuplicates(object) }
      let end = text.count
      var key = keys.appendKey(of: object, in: containers, &table, to: &text.buffer)
      if key == nil, !earlierAnchors.isEmpty { key = appendEarlierKey(of: object) }
      if collectsAnchors, !noteAnchors(object, key: key) { return false }
      if let key {
        let start = object.pointee.textStart
        staging.stage(key: text.buffer.bytes(key), text: text.buffer.bytes(start..<end))
        text.replaceObject(at: start, byReferenceTo: key)
      }
    }
    result.close(UInt8(ascii: "}"))
    containers.pop()
    return valueEnded()
  }

  /// Rewrites an object so that each stored key occurs once; the later value wins.
  @inline(never)
  mutating func foldDuplicates(_ object: UnsafeMutablePointer<OpenContainer>) {
    let start = object.pointee.textStart
    let source = text.buffer.bytes(start..<text.count).array
    var folded = ByteStack(capacity: source.count + 64)
    let isTentative = source.withBytes {
      Merge.fold($0, access: staging.records, into: &folded)
    }
    if isTentative { staging.noteTentativeNulls() }
    text.buffer.truncate(to: start)
    text.buffer.append(folded.all)
    // The ranges of key field values moved, so they are searched again.
    let plan = table.plans + Int(object.pointee.plan)
    var cursor = FieldCursor(folded.all)
    while let found = cursor.next() {
      let key = folded.bytes(found.key)
      let (start, end) = (start + found.value.lowerBound, start + found.value.upperBound)
      for index in 0..<plan.pointee.fieldCount {
        let field = plan.pointee.fields[index]
        guard field.quotedKey.equals(key) else { continue }
        if field.candidate >= 0 {
          containers.setCandidate(field.candidate, of: object, start: start, end: end)
        }
        if field.isTypename {
          object.pointee.typenameStart = start
          object.pointee.typenameEnd = end
        }
      }
    }
  }

  // MARK: Root

  mutating func beginRoot() -> Bool {
    openObject(.root, node: -1)
    setPlan(table.root)
    result.open(UInt8(ascii: "{"))
    return true
  }

  /// Stages the root field that just ended as a separate record.
  @inline(__always)
  private mutating func stageRootField(
    _ root: UnsafeMutablePointer<OpenContainer>, _ field: UnsafeMutablePointer<FieldPlan>
  ) {
    let start = root.pointee.textStart
    text.buffer.append(UInt8(ascii: "}"))
    let record = text.buffer.bytes(start..<text.count)
    if storesRoot {
      staging.stage(key: field.pointee.rootKey, text: record)
    } else {
      staging.keepRoot(key: field.pointee.rootKey, text: record)
    }
    if collectsAnchors { adoptAnchors(ofRootField: field) }
    text.buffer.truncate(to: start)
    text.open(UInt8(ascii: "{"))
  }

  mutating func endRoot() -> Bool {
    text.buffer.truncate(to: containers.top.pointee.textStart)
    containers.pop()
    result.close(UInt8(ascii: "}"))
    mode = .envelope
    return true
  }
}

/// Lists, and the segments of long ones.
extension NormalizerState {
  @inline(__always)
  mutating func beginList(node: Int32) -> Bool {
    var list = OpenContainer(.list)
    list.node = node
    list.textStart = text.count
    // The space marks a list of leaf values as opaque: it is replaced, never merged.
    if node < 0 { text.buffer.append(UInt8(ascii: " ")) }
    text.open(UInt8(ascii: "["))
    list.segmentStart = text.count
    list.firstSegment = containers.segmentNames.count
    containers.push(list)
    mode = .list
    return true
  }

  /// Ends a scalar or null element that starts at `start`.
  @inline(__always)
  mutating func leafElementEnded(_ start: Int) -> Bool {
    text.needsComma = true
    result.appendElement(in: text, from: start)
    return elementEnded(containers.top)
  }

  @inline(__always)
  mutating func elementEnded(_ list: UnsafeMutablePointer<OpenContainer>) -> Bool {
    list.pointee.elementCount &+= 1
    if text.count &- list.pointee.segmentStart > Segments.size { cutSegment(list) }
    return true
  }

  /// Moves the elements since the last split to a segment record.
  @inline(never)
  private mutating func cutSegment(_ list: UnsafeMutablePointer<OpenContainer>) {
    let start = list.pointee.segmentStart
    let name = staging.stageSegment(elements: text.buffer.bytes(start..<text.count))
    containers.segmentNames.append(name)
    text.buffer.truncate(to: start)
    text.needsComma = false
  }

  @inline(__always)
  mutating func endList() -> Bool {
    let list = containers.top
    if list.pointee.isPart { return endPartList() }
    if collectsAnchors { noteListAnchor(list) }
    if containers.segmentNames.count > list.pointee.firstSegment {
      endSegmentedList(list)
    } else {
      text.buffer.append(UInt8(ascii: "]"))
    }
    result.close(UInt8(ascii: "]"))
    containers.pop()
    return valueEnded()
  }

  @inline(never)
  private mutating func endSegmentedList(_ list: UnsafeMutablePointer<OpenContainer>) {
    if text.count > list.pointee.segmentStart { cutSegment(list) }
    let first = list.pointee.firstSegment
    text.buffer.truncate(to: list.pointee.textStart)
    Segments.append(
      names: containers.segmentNames[first...], count: list.pointee.elementCount,
      isLeaf: list.pointee.node < 0, to: &text.buffer)
    containers.segmentNames.removeSubrange(first...)
  }
}

/// The members of the response around `data`.
extension NormalizerState {
  mutating func envelopeKey(_ key: Bytes) -> Bool {
    envelope.begin(key)
    return containers.addUnknownKey(key) || duplicateKey(key)
  }

  mutating func envelopeObject() -> Bool {
    if containers.depth == 0 {
      containers.push(OpenContainer(.envelope))
      return true
    }
    switch envelope.member {
    case .data:
      envelope.hasData = true
      guard let part else { return beginRoot() }
      return part.count == nil ? beginPart(part) : wrongMember("an object")
    case .extensions: return beginCapture(.extensions, UInt8(ascii: "{"))
    case .errors: return wrongMember("an object")
    case .other: return beginSkip(UInt8(ascii: "{"))
    }
  }

  mutating func envelopeArray() -> Bool {
    if containers.depth == 0 { return notAnObject("a list") }
    switch envelope.member {
    case .data:
      if let part, part.count != nil { return beginPartList(part) }
      return wrongMember("a list")
    case .extensions: return wrongMember("a list")
    case .errors: return beginCapture(.errors, UInt8(ascii: "["))
    case .other: return beginSkip(UInt8(ascii: "["))
    }
  }

  mutating func envelopeScalar(_ found: StaticString) -> Bool {
    if containers.depth == 0 { return notAnObject(found) }
    return envelope.member == .other || wrongMember(found)
  }

  mutating func envelopeNull() -> Bool {
    if containers.depth == 0 { return notAnObject("null") }
    if envelope.member == .data { envelope.dataIsNull = true }
    return true
  }

  private mutating func notAnObject(_ found: StaticString) -> Bool {
    fail(
      CacheError(
        .malformedResponse,
        "the response is \(found); a GraphQL response is an object with \"data\" or \"errors\""))
  }

  /// The member that is read has a value of another kind; members with other names have any.
  private mutating func wrongMember(_ found: StaticString) -> Bool {
    let (name, expected): (String, String) =
      switch envelope.member {
      case .data where part?.count != nil: ("items", "a list")
      case .data: ("data", "an object or null")
      case .errors: ("errors", "a list")
      case .extensions, .other: ("extensions", "an object")
      }
    return fail(
      CacheError(
        .malformedResponse,
        "\"\(name)\" of the response is \(found); GraphQL requires \(expected)"))
  }
}

/// Values that are stored unchanged (custom scalars, objects whose type comes late, `errors` and
/// `extensions`), and values that are skipped.
extension NormalizerState {
  mutating func beginCapture(_ target: Capture.Target, _ opening: UInt8) -> Bool {
    capture.begin(target, start: text.count, opening: opening)
    if target == .leaf { text.buffer.append(UInt8(ascii: " ")) }
    text.open(opening)
    mode = .capture
    return true
  }

  /// Captures the innermost object, of which `key` is the first key, until its type is known.
  mutating func deferObject(_ key: Bytes) -> Bool {
    capture.begin(
      .deferred, start: containers.top.pointee.textStart, opening: UInt8(ascii: "{"))
    mode = .capture
    return capturedKey(key)
  }

  mutating func capturedKey(_ key: Bytes) -> Bool {
    guard capture.add(key) else { return duplicateKey(key) }
    text.separate()
    text.append(string: key)
    text.buffer.append(UInt8(ascii: ":"))
    text.needsComma = false
    return checkCapture()
  }

  @inline(__always)
  mutating func capturedScalarEnded() -> Bool {
    text.needsComma = true
    return checkCapture()
  }

  mutating func capturedContainer(_ opening: UInt8) -> Bool {
    text.separate()
    text.open(opening)
    capture.begin(opening)
    return true
  }

  mutating func capturedContainerEnded(_ closing: UInt8) -> Bool {
    text.buffer.append(closing)
    text.needsComma = true
    guard capture.end(closing) else { return checkCapture() }
    switch capture.target {
    case .leaf:
      mode = .object
      guard let field = current else { return true }
      return scalarEnded(field, capture.start)
    case .element:
      mode = .list
      return leafElementEnded(capture.start)
    case .errors:
      envelope.errors = takeCapture()
      return true
    case .extensions:
      envelope.extensions = takeCapture()
      return true
    case .deferred: return replayDeferredObject()
    }
  }

  /// Removes the captured member of the response from the text.
  private mutating func takeCapture() -> [UInt8] {
    mode = .envelope
    let bytes = text.buffer.bytes(capture.start..<text.count).array
    text.buffer.truncate(to: capture.start)
    return bytes
  }

  @inline(__always)
  private mutating func checkCapture() -> Bool {
    text.count &- capture.start <= maxOpaqueBytes || captureTooLarge()
  }

  @inline(never)
  private mutating func captureTooLarge() -> Bool {
    malformed(
      "the value at \(location) is larger than \(maxOpaqueBytes) bytes, the limit for custom "
        + "scalars, errors, extensions and objects whose __typename comes late")
  }

  // MARK: Skipped values

  mutating func beginSkip(_ opening: UInt8) -> Bool {
    capture.begin(opening)
    mode = .skip
    return true
  }

  mutating func skippedContainerEnded(_ closing: UInt8) -> Bool {
    guard capture.end(closing) else { return true }
    switch containers.top.pointee.kind {
    case .envelope: mode = .envelope
    case .list: mode = .list
    case .root, .object: mode = .object
    }
    return true
  }
}

/// Objects whose type comes after fields whose meaning depends on it.
extension NormalizerState {
  /// Replays the object at the top of the stack, which was captured as text: its fields are
  /// processed as if its type, and that of every nested object, had come first.
  ///
  /// Takes two passes over the text without recursion, independent of depth.
  mutating func replayDeferredObject() -> Bool {
    let start = containers.top.pointee.textStart
    let raw = text.buffer.bytes(start..<text.count).array
    text.buffer.truncate(to: start)
    text.open(UInt8(ascii: "{"))
    mode = .object
    // The copy is outside the chunk: its strings are escaped again.
    return raw.withBytes { replay($0) }
  }

  private enum Replayed: UInt8 {
    case list, object
    /// An object whose `__typename` was read before its fields.
    case announced
  }

  private mutating func replay(_ raw: Bytes) -> Bool {
    let typenames = Self.typenames(in: raw)
    var scratch = ByteStack(capacity: 256)
    var nextObject = 1
    var open: [Replayed] = []
    guard announce(raw, typename: typenames[0], open: &open, scratch: &scratch) else {
      return false
    }
    var isKey = true
    var position = 1
    while let kind = open.last, position < raw.count {
      switch raw[position] {
      case UInt8(ascii: "\""):
        guard let end = RecordText.endOfString(raw, from: position) else { return false }
        let string = raw[position..<end]
        position = end
        if isKey, kind == .announced, string.equals("\"__typename\"") {
          // Already read; it is a string.
          guard let valueEnd = RecordText.endOfString(raw, from: end + 1) else { return false }
          position = valueEnd
        } else {
          let isAccepted = RecordText.withUnescaped(string, scratch: &scratch) {
            isKey ? onKey($0) : onString($0)
          }
          guard isAccepted else { return false }
          if isKey { position += 1 }
        }
        isKey = false
      case UInt8(ascii: "{"):
        guard onStartObject(),
          announce(raw, typename: typenames[nextObject], open: &open, scratch: &scratch)
        else {
          return false
        }
        nextObject += 1
        isKey = true
        position += 1
      case UInt8(ascii: "["):
        guard onStartArray() else { return false }
        open.append(.list)
        position += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        guard kind == .list ? onEndArray() : onEndObject() else { return false }
        open.removeLast()
        position += 1
      case UInt8(ascii: ","):
        isKey = kind != .list
        position += 1
      default:
        guard let end = RecordText.endOfScalar(raw, from: position),
          replayScalar(raw[position..<end])
        else { return false }
        position = end
      }
    }
    return true
  }

  /// Starts an object: processes its type first, if that determines its fields.
  private mutating func announce(
    _ raw: Bytes, typename: Int32, open: inout [Replayed], scratch: inout ByteStack
  ) -> Bool {
    open.append(.object)
    guard mode == .object, containers.top.pointee.kind == .object, containers.top.pointee.plan < 0
    else { return true }
    guard typename > 0 else {
      if table.nodes[Int(containers.top.pointee.node)].union < 0 {
        setPlan(table.variant(of: containers.top.pointee.node, typename: .empty))
      }
      return true
    }
    guard raw[Int(typename)] == UInt8(ascii: "\""),
      let end = RecordText.endOfString(raw, from: Int(typename))
    else { return wrongTypename() }
    open[open.count - 1] = .announced
    return onKey(Bytes(Self.typenameKey))
      && RecordText.withUnescaped(raw[Int(typename)..<end], scratch: &scratch) { onString($0) }
  }

  private mutating func replayScalar(_ scalar: Bytes) -> Bool {
    switch scalar[0] {
    case UInt8(ascii: "n"): onNull()
    case UInt8(ascii: "t"), UInt8(ascii: "f"): onLiteral(scalar, "a boolean")
    default: onLiteral(scalar, "a number")
    }
  }

  /// For each object of `raw`, in order of their start, the offset of the value of `__typename`; 0
  /// for objects without one.
  private static func typenames(in raw: Bytes) -> [Int32] {
    var typenames: [Int32] = []
    // The numbers of the open objects; -1 for lists.
    var open: [Int] = []
    var isKey = false
    var position = 0
    while position < raw.count {
      switch raw[position] {
      case UInt8(ascii: "\""):
        guard let end = RecordText.endOfString(raw, from: position) else { return typenames }
        if isKey, let object = open.last, raw[position..<end].equals("\"__typename\"") {
          typenames[object] = Int32(end + 1)
        }
        isKey = false
        position = end
        continue
      case UInt8(ascii: "{"):
        open.append(typenames.count)
        typenames.append(0)
        isKey = true
      case UInt8(ascii: "["): open.append(-1)
      case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = open.popLast()
      case UInt8(ascii: ","): isKey = (open.last ?? -1) >= 0
      default: break
      }
      position += 1
    }
    return typenames
  }
}

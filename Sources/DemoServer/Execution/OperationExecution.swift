import GQLRunJSON

/// An operation in execution, which produces its response in chunks on demand.
///
/// Neither recursive nor suspending: an explicit stack has the open objects and lists, and
/// ``next()`` continues from there until a chunk is full. The consumer of the chunks controls the
/// pace, so a response of any size needs the memory of one chunk.
///
/// A value that an error may still null is buffered until it is complete; such values are limited
/// to ``maxHeld`` bytes. `errors` follow `data`.
///
/// https://spec.graphql.org/September2025/#sec-Executing-Operations
struct OperationExecution: Sendable {
  /// The size of a chunk in bytes, exceeded only by its last value.
  static let pieceSize = 64 << 10
  /// The maximum size in bytes of values that are buffered because an error may null them.
  static let maxHeld = 8 << 20
  /// The maximum number of errors in a response.
  static let maxErrors = 1000

  /// An object or list whose end is not written yet.
  private struct Frame {
    enum Content {
      case object(Entity, PlannedObject)
      /// The elements of a list in a range.
      case list(ResolvedList, Range<Int>, PlannedField, OutputType)

      /// The first field or element.
      var first: Int { if case .list(_, let range, _, _) = self { range.lowerBound } else { 0 } }
    }

    let content: Content
    /// The offset of its start in the response.
    let start: Int
    /// Whether an error in it may make it null.
    let isNullable: Bool
    /// Whether it is buffered until it is complete.
    let isHeld: Bool
    /// The index of the next field or element.
    var begun: Int
  }

  private var buffer = ResponseBuffer()
  private var frames: [Frame] = []
  /// The context, with the changes by the operation.
  private(set) var context: ResolverContext
  private var held = 0
  private var errors = JSONWriter()
  private var errorCount = 0
  /// The field that is made to fail, once.
  private var failing: PlannedField?
  /// The position of the outermost value in the response.
  private let base: [JSONValue]
  /// Whether the bytes are a value without the members of a response.
  private let isPart: Bool
  /// The maximum number of fragments and lists that are left for later.
  private let maxWork: Int
  private var later: [(work: PartWork, start: Int)] = []

  /// Whether the response is complete; its last chunk may not be taken yet.
  private(set) var isComplete = false
  /// Whether the response is complete and all chunks are taken.
  var isFinished: Bool { isComplete && buffer.count == 0 }

  /// Starts the execution of an operation.
  ///
  /// - Parameter root: The root value: that of the operation type, or an event.
  init(_ operation: PlannedOperation, root: Entity, context: ResolverContext) {
    self.context = context
    base = []
    isPart = false
    maxWork = operation.hasParts ? PartExecution.maxWork : 0
    errors.beginArray()
    buffer.append(raw: "{\"data\":")
    if operation.failsOnce {
      failing = operation.plan.firstNullableField
      if failing == nil { report(Self.wantedFailure, path: nil) }
    }
    let plan = deferring(operation.plan, of: root)
    open(.object(root, plan), isNullable: true, isHeld: plan.escapes || operation.halts)
  }

  /// Starts the execution of a fragment or of elements of a list that were left for later.
  ///
  /// - Parameter maxWork: The maximum number of further fragments and lists that are left for later.
  init(_ work: PartWork, maxWork: Int, context: ResolverContext) {
    self.context = context
    self.maxWork = maxWork
    base = work.path
    isPart = true
    errors.beginArray()
    switch work.content {
    case .fragment(let entity, let whole):
      let plan = deferring(whole, of: entity)
      open(.object(entity, plan), isNullable: true, isHeld: plan.escapes)
    case .elements(let list, let range, let field):
      guard let element = field.type.element else {
        isRootNull = true
        return
      }
      open(
        .list(list, range, field, element), isNullable: true, isHeld: field.type.contentFails)
    }
  }

  /// Whether an error has nulled the outermost value.
  private(set) var isRootNull = false
  /// The fragments and lists left for later so far.
  var work: [PartWork] { later.map(\.work) }
  /// The errors of a complete execution as a JSON array; `nil` if there are none.
  var errorList: [UInt8]? { errorCount == 0 ? nil : errors.bytes + [UInt8(ascii: "]")] }

  /// The next chunk of the response; `nil` after the last one.
  mutating func next() -> [UInt8]? {
    while !isComplete, held > 0 || buffer.count < Self.pieceSize {
      if held > 0, buffer.count > Self.maxHeld { giveUpHeld() }
      step()
    }
    return buffer.count > 0 ? buffer.take() : nil
  }

  /// The rest of the response in one array; `nil` if it is larger than a number of bytes.
  consuming func rest(upTo limit: Int) -> [UInt8]? {
    var all: [UInt8] = []
    while let piece = next() {
      all += piece
      guard all.count <= limit else { return nil }
    }
    return all
  }

  // MARK: Steps

  /// Continues the innermost open value: writes fields or elements until one of them opens an
  /// object or list, the chunk is full, or the value ends.
  ///
  /// Takes the frame off the stack in the meantime, since modifying it in place would copy it each
  /// time.
  private mutating func step() {
    guard var frame = frames.popLast() else { return finish() }
    switch frame.content {
    case .object(let entity, let plan):
      while frame.begun < plan.fields.count {
        let field = plan.fields[frame.begun]
        if frame.begun > 0 { buffer.append(UInt8(ascii: ",")) }
        frame.begun += 1
        buffer.append(field.keyBytes)
        let value = resolve(field, of: entity)
        if writeLeaf(value), buffer.count < Self.pieceSize { continue }
        frames.append(frame)
        if !value.isLeaf { write(value, of: field.type, field) }
        return
      }
      close(frame, UInt8(ascii: "}"))
    case .list(let list, let range, let field, let type):
      while frame.begun < range.upperBound {
        let value = list.element(frame.begun)
        if frame.begun > range.lowerBound { buffer.append(UInt8(ascii: ",")) }
        frame.begun += 1
        if writeLeaf(value), buffer.count < Self.pieceSize { continue }
        frames.append(frame)
        if !value.isLeaf { write(value, of: type, field) }
        return
      }
      close(frame, UInt8(ascii: "]"))
    }
  }

  /// Writes a leaf value; returns `false` without writing for any other value.
  private mutating func writeLeaf(_ value: ResolvedValue) -> Bool {
    switch value {
    case .string(let text): buffer.append(string: text)
    case .int(let value): buffer.append(int: value)
    case .float(let value): buffer.append(float: value)
    case .boolean(let value): buffer.append(raw: value ? "true" : "false")
    case .text(let text): buffer.append(text: text)
    case .object, .list, .null, .failure: return false
    }
    return true
  }

  private mutating func resolve(_ field: PlannedField, of entity: Entity) -> ResolvedValue {
    if let refusal = field.refusal { return .failure(refusal) }
    if let failing, failing === field {
      self.failing = nil
      return .failure(Self.wantedFailure)
    }
    return field.behaviour.resolve(entity, field.arguments, &context)
  }

  /// Opens an object or list, or writes null.
  private mutating func write(_ value: ResolvedValue, of type: OutputType, _ field: PlannedField) {
    switch value {
    case .string, .int, .float, .boolean, .text: break
    case .object(let entity):
      guard let plan = field.plan(for: entity.typeName) else {
        return fail(RequestError(.internalServerError, "\(field.coordinate) has a wrong type."))
      }
      let kept = deferring(plan, of: entity)
      open(.object(entity, kept), isNullable: type.absorbsErrors, isHeld: type.mustBeHeld)
    case .list(let list):
      guard let element = type.element else {
        return fail(RequestError(.internalServerError, "\(field.coordinate) is not a list."))
      }
      let range = streaming(list, of: field, type)
      open(
        .list(list, range, field, element), isNullable: type.absorbsErrors, isHeld: type.mustBeHeld)
    case .null:
      if type.isNullable {
        buffer.append(raw: "null")
      } else {
        fail(
          RequestError(
            .internalServerError,
            "Cannot return null for non-nullable field \(field.coordinate)."))
      }
    case .failure(let error): fail(error)
    }

    /// Reports an error at this value, and propagates null to the nearest nullable value.
    func fail(_ error: RequestError) {
      var error = error
      error.locations = field.locations
      report(error, path: path)
      if type.absorbsErrors { buffer.append(raw: "null") } else { nullParent() }
    }
  }

  private mutating func open(_ content: Frame.Content, isNullable: Bool, isHeld: Bool) {
    frames.append(
      Frame(
        content: content, start: buffer.end, isNullable: isNullable, isHeld: isHeld,
        begun: content.first))
    if isHeld { held += 1 }
    switch content {
    case .object: buffer.append(UInt8(ascii: "{"))
    case .list: buffer.append(UInt8(ascii: "["))
    }
  }

  private mutating func close(_ frame: Frame, _ bracket: UInt8) {
    buffer.append(bracket)
    if frame.isHeld { held -= 1 }
  }

  private mutating func finish() {
    isComplete = true
    guard !isPart else { return }
    if let errors = errorList {
      buffer.append(raw: ",\"errors\":")
      buffer.append(errors)
    }
    buffer.append(UInt8(ascii: "}"))
  }

  // MARK: Parts

  /// Leaves the deferred fragments of an object for later; returns the plan of the rest.
  private mutating func deferring(_ plan: PlannedObject, of entity: Entity) -> PlannedObject {
    guard let whole = plan.whole else { return plan }
    guard later.count + plan.deferred.count <= maxWork else { return whole }
    let path = path
    for fragment in plan.deferred {
      let work = PartWork(
        path: path, label: fragment.label, content: .fragment(entity, fragment.plan))
      later.append((work, buffer.end))
    }
    return plan
  }

  /// Leaves elements of a streamed list for later; returns the range of the others.
  private mutating func streaming(
    _ list: ResolvedList, of field: PlannedField, _ type: OutputType
  ) -> Range<Int> {
    guard let stream = field.stream, type === field.type, list.count > stream.initialCount,
      later.count < maxWork
    else { return 0..<list.count }
    let content = PartWork.Content.elements(list, stream.initialCount..<list.count, field)
    later.append((PartWork(path: path, label: stream.label, content: content), buffer.end))
    return 0..<stream.initialCount
  }

  // MARK: Errors

  /// Nulls the innermost open nullable value.
  private mutating func nullParent() {
    while let frame = frames.popLast() {
      if frame.isHeld { held -= 1 }
      if frame.isNullable {
        buffer.cut(to: frame.start)
        buffer.append(raw: "null")
        later.removeAll { $0.start >= frame.start }
        isRootNull = frames.isEmpty
        return
      }
    }
  }

  /// Nulls the outermost buffered value, because it has become too large.
  private mutating func giveUpHeld() {
    guard let position = frames.firstIndex(where: \.isHeld) else { return }
    frames.removeLast(frames.count - position - 1)
    held = 1
    report(
      RequestError(
        .internalServerError,
        "The value is too large to be held back while an error may still null it."),
      path: Array(path.dropLast()))
    nullParent()
  }

  private mutating func report(_ error: RequestError, path: [JSONValue]?) {
    errorCount += 1
    guard errorCount <= Self.maxErrors else { return }
    error.json(path: path).write(to: &errors)
  }

  /// The path of the current value.
  private var path: [JSONValue] {
    base
      + frames.map { frame in
        switch frame.content {
        case .object(_, let plan): .string(plan.fields[max(0, frame.begun - 1)].responseKey)
        case .list: .number(JSONNumber(frame.begun - 1))
        }
      }
  }

  private static let wantedFailure = RequestError(
    code: "DEMO_ERROR", "This field fails because the request asked for errors.")
}

extension PlannedObject {
  /// The first nullable field, outer fields first; preferably one without a selection set.
  fileprivate var firstNullableField: PlannedField? {
    var level = fields
    var composite: PlannedField?
    for _ in 0..<Planner.maxDepth where !level.isEmpty {
      let nullable = level.filter(\.type.isNullable)
      if let leaf = nullable.first(where: \.isLeaf) { return leaf }
      composite = composite ?? nullable.first
      level = Array(level.flatMap(\.descendants).prefix(Planner.maxFields))
    }
    return composite
  }
}

/// The bytes of a response that are not sent yet.
///
/// Offsets count from the start of the response, so that they stay valid after bytes are sent.
struct ResponseBuffer: Sendable {
  private var bytes: [UInt8] = []
  private var sent = 0

  /// The number of bytes not sent yet.
  var count: Int { bytes.count }
  /// The offset of the next byte to be appended.
  var end: Int { sent + bytes.count }

  /// Removes and returns all bytes.
  mutating func take() -> [UInt8] {
    let taken = bytes
    sent += taken.count
    bytes = []
    bytes.reserveCapacity(taken.count)
    return taken
  }

  /// Removes the bytes from an offset to the end.
  mutating func cut(to position: Int) {
    bytes.removeLast(end - position)
  }

  mutating func append(_ byte: UInt8) { bytes.append(byte) }
  mutating func append(_ text: [UInt8]) { bytes.append(contentsOf: text) }
  /// Appends JSON text unchanged.
  mutating func append(raw text: StaticString) {
    text.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  mutating func append(int value: Int) { bytes.append(contentsOf: String(value).utf8) }

  mutating func append(float value: Double) {
    bytes.append(contentsOf: (JSONNumber(value)?.text ?? "null").utf8)
  }

  mutating func append(string text: String) {
    var text = text
    bytes.append(UInt8(ascii: "\""))
    text.withUTF8 { JSONWriter.appendEscaped(UnsafeRawBufferPointer($0), to: &bytes) }
    bytes.append(UInt8(ascii: "\""))
  }

  mutating func append(text: FeedText) {
    bytes.append(UInt8(ascii: "\""))
    text.appendEscaped(to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }
}

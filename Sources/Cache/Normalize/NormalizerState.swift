public import GQLRunJSON
import GQLRunLanguage

/// One open object or list of the response.
struct Frame {
  enum Kind: UInt8 { case envelope, root, object, list }

  var kind: Kind
  /// The object's plan, or -1 until its type is known; unused in lists.
  var plan: Int32 = -1
  /// The selection of the object, or of the list's elements; -1 for lists of leaf values.
  var node: Int32 = -1
  /// The field that is expected next.
  var next = 0
  /// Where the text begins: its `{` or `[`, or the mark before it.
  var textStart = 0
  /// Where its seen bits and candidate ranges begin.
  var wordsBase = 0
  var typenameStart = -1
  var typenameEnd = -1
  /// Whether the object has fields that the operation does not ask for.
  var hasUnknown = false
  /// The field whose value is being read, for paths in messages.
  var field: UnsafeMutablePointer<FieldPlan>?
  /// Lists: where the elements of the current segment begin, and how many there are in all.
  var segmentStart = 0
  var elementCount = 0
  /// Lists: the first of its segment names in ``NormalizerState/segmentNames``.
  var firstSegment = 0
}

/// The whole state of normalizing one response: what yajl's callbacks get as their context.
///
/// Plain fields behind one pointer; no classes and no allocation per event. Text grows on one stack:
/// fields are appended as they arrive, and when an object with an identity ends, its text becomes a
/// staged record and a reference takes its place.
struct NormalizerState: ~Copyable {
  /// Must stay first: the parser finds it there.
  var scope: JSONEventScope

  enum Mode: UInt8 { case envelope, object, list, capture, skip }
  enum CaptureTarget: UInt8 { case leaf, element, deferred, errors, extensions }
  enum Member: UInt8 { case data, errors, extensions, other }

  var mode = Mode.envelope
  var captureTarget = CaptureTarget.leaf
  /// Open containers inside a captured or skipped value.
  var nested = 0
  /// Whether a comma must come before the next value or key on the stack, and in the result.
  var needsComma = false
  var resultNeedsComma = false
  /// The field that the next value belongs to; `nil` when the value is to be skipped.
  var current: UnsafeMutablePointer<FieldPlan>?
  /// The next value is the `__typename` that decides the plan of the top frame.
  var awaitsTypename = false
  var member = Member.other

  // Most responses are small, and every one of them has these: they begin small, too.
  var text = ByteStack(capacity: 512)
  var result = ByteStack(capacity: 512)
  let wantsResult: Bool
  var frames: UnsafeMutablePointer<Frame>
  var depth = 0
  var frameCapacity = 8
  let mostFrames: Int
  var words: UnsafeMutablePointer<Int>
  var wordsCount = 0
  var wordsCapacity = 64

  var table: PlanTable
  var staging: Staging
  let storesRoot: Bool
  let limits: ResponseLimits

  /// The chunk being parsed: a string that lies inside it holds no escapes.
  var chunkStart = UInt(0)
  var chunkEnd = UInt(0)

  /// Names and element counts of the segments of open lists.
  var segmentNames: [UInt64] = []
  /// Hashes of the keys of each open captured or skipped object: finds duplicates.
  var capturedKeys: [Set<UInt64>] = []
  var captureLevel = 0
  /// The same for the keys that the operation does not ask for, by frame.
  var unknownKeys: [Set<UInt64>] = []
  var captureStart = 0

  var errorsText: [UInt8]?
  var extensionsText: [UInt8]?
  var hasData = false
  var dataIsNull = false
  var objects = 0
  var fields = 0
  var unknownFields = 0
  var diagnostics: Set<CacheDiagnostic> = []
  var hasToldOfMissingTypename = false
  /// Why a handler cancelled the parse.
  var error: CacheError?

  init(
    plan: OperationPlan, staging: consuming Staging, wantsResult: Bool, storesRoot: Bool,
    limits: ResponseLimits, separatesPages: Bool = true
  ) {
    scope = JSONEventScope(limits: limits.json)
    table = plan.tables.take(for: plan, separatesPages: separatesPages)
    self.staging = staging
    self.wantsResult = wantsResult
    self.limits = limits
    self.storesRoot = storesRoot && plan.operationType == .query
    mostFrames = Int(limits.json.maxDepth) + 2
    frames = .allocate(capacity: frameCapacity)
    words = .allocate(capacity: wordsCapacity)
  }

  deinit {
    frames.deallocate()
    words.deallocate()
  }

  @inline(__always)
  var top: UnsafeMutablePointer<Frame> {
    assert(depth > 0)
    return frames + (depth &- 1)
  }

  /// Stops the parse with `error`.
  @inline(never)
  mutating func fail(_ error: CacheError) -> Bool {
    if self.error == nil { self.error = error }
    scope.fail(JSONFailureCode(rawValue: JSONFailureCode.firstHandlerCode))
    return false
  }

  mutating func push(_ frame: Frame) {
    if depth == frameCapacity { growFrames() }
    (frames + depth).initialize(to: frame)
    depth &+= 1
  }

  @inline(never)
  private mutating func growFrames() {
    // The parser's depth limit comes first; a deferred object adds no depth of its own.
    precondition(depth < mostFrames, "more frames than the depth limit allows")
    frameCapacity *= 2
    let bigger = UnsafeMutablePointer<Frame>.allocate(capacity: frameCapacity)
    bigger.moveInitialize(from: frames, count: depth)
    frames.deallocate()
    frames = bigger
  }

  mutating func reserveWords(_ extra: Int) {
    guard wordsCapacity - wordsCount < extra else { return }
    var capacity = wordsCapacity
    while capacity - wordsCount < extra { capacity *= 2 }
    let bigger = UnsafeMutablePointer<Int>.allocate(capacity: capacity)
    bigger.update(from: words, count: wordsCount)
    words.deallocate()
    words = bigger
    wordsCapacity = capacity
  }

  /// The response path of the value being read, as people write it: `feed.edges[3].node`.
  func path() -> String {
    var parts = ""
    for index in 0..<depth {
      let frame = frames[index]
      switch frame.kind {
      case .envelope: continue
      case .list: parts += "[\(frame.elementCount)]"
      case .root, .object:
        let field = index == depth - 1 ? current : frame.field
        guard let field else { continue }
        parts += (parts.isEmpty ? "" : ".") + field.pointee.key.string
      }
    }
    return parts
  }
}

/// What a response may ask for before it is refused.
public struct ResponseLimits: Sendable, Hashable {
  /// Depth, string, key and number limits of the JSON text.
  public var json: JSONLimits
  /// The largest custom scalar value, `errors` or `extensions` member, in bytes. 16 MiB by default.
  public var maxOpaqueBytes: Int

  public init(json: JSONLimits = JSONLimits(), maxOpaqueBytes: Int = 16 << 20) {
    self.json = json
    self.maxOpaqueBytes = maxOpaqueBytes
  }
}

/// Something in a response that is not an error but that its reader may want to know.
public struct CacheDiagnostic: Sendable, Hashable, CustomStringConvertible {
  /// The type of the objects concerned; empty when they do not say it.
  public var typename: String
  /// The key field that is missing or null.
  public var keyField: String

  public var description: String {
    if typename.isEmpty {
      return
        "some objects have no \"__typename\", so they have no identity and are stored where they "
        + "stand; responses of operations that select it are told apart"
    }
    return "objects of type \(typename) have no \"\(keyField)\", so they have no identity and are "
      + "stored where they stand; name their key fields with keys: {\(typename): [field]}"
  }
}

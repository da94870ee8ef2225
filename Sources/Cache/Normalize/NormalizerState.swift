public import GQLRunJSON
import GQLRunLanguage

/// One open object or list of the response.
struct Frame {
  enum Kind: UInt8 { case envelope, root, object, list }

  var kind: Kind
  /// The object's plan, or -1 until its type is known; unused in lists.
  var plan: Int32 = -1
  /// The selection of the object or of the list's elements; -1 for lists of leaf values.
  var node: Int32 = -1
  /// The index of the field that is expected next.
  var next = 0
  /// The start of the text: its `{` or `[`, or the mark before it.
  var textStart = 0
  /// The start of its seen bits and candidate ranges.
  var wordsBase = 0
  var typenameStart = -1
  var typenameEnd = -1
  /// Whether the object has fields that the operation does not select.
  var hasUnknown = false
  /// The field whose value is being read, for paths in error messages.
  var field: UnsafeMutablePointer<FieldPlan>?
  /// Lists: the start of the current segment's elements, and the total number of elements.
  var segmentStart = 0
  var elementCount = 0
  /// Lists: the index of the first segment name in ``NormalizerState/segmentNames``.
  var firstSegment = 0
}

/// The state of normalizing one response: the context of yajl's callbacks.
///
/// Plain fields behind one pointer; no classes and no allocation per event. Text grows in one
/// buffer: fields are appended as they arrive, and when an object with an identity ends, its text
/// becomes a staged record and a reference replaces it.
struct NormalizerState: ~Copyable {
  /// Must be the first property: the parser reads it.
  var scope: JSONEventScope

  enum Mode: UInt8 { case envelope, object, list, capture, skip }
  enum CaptureTarget: UInt8 { case leaf, element, deferred, errors, extensions }
  enum Member: UInt8 { case data, errors, extensions, other }

  var mode = Mode.envelope
  var captureTarget = CaptureTarget.leaf
  /// Open containers inside a captured or skipped value.
  var nested = 0
  /// Whether the next value or key needs a comma, in the buffer and in the result.
  var needsComma = false
  var resultNeedsComma = false
  /// The field of the next value; `nil` if the value is skipped.
  var current: UnsafeMutablePointer<FieldPlan>?
  /// Whether the next value is the `__typename` that determines the plan of the top frame.
  var awaitsTypename = false
  var member = Member.other

  // Allocated for every response, most of which are small, so their initial size is small.
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

  /// The current chunk: a string inside it contains no escapes.
  var chunkStart = UInt(0)
  var chunkEnd = UInt(0)

  /// Names and element counts of the segments of open lists.
  var segmentNames: [UInt64] = []
  /// Hashes of the keys of each open captured or skipped object, to detect duplicates.
  var capturedKeys: [Set<UInt64>] = []
  var captureLevel = 0
  /// Hashes of the keys that the operation does not select, by frame.
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
    // The parser enforces the depth limit first; a deferred object adds no depth.
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

  /// The response path of the current value: `feed.edges[3].node`.
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

/// Limits of a response. A response that exceeds one is rejected.
public struct ResponseLimits: Sendable, Hashable {
  /// Limits of depth, strings, keys and numbers of the JSON text.
  public var json: JSONLimits
  /// The maximum size of a custom scalar value and of the `errors` and `extensions` members, in
  /// bytes. 16 MiB by default.
  public var maxOpaqueBytes: Int

  /// Creates limits.
  public init(json: JSONLimits = JSONLimits(), maxOpaqueBytes: Int = 16 << 20) {
    self.json = json
    self.maxOpaqueBytes = maxOpaqueBytes
  }
}

/// A notice about a response that is not an error.
public struct CacheDiagnostic: Sendable, Hashable, CustomStringConvertible {
  /// The type of the objects; empty if it is unknown.
  public var typename: String
  /// The key field that is missing or null.
  public var keyField: String

  /// The notice as a sentence.
  public var description: String {
    if typename.isEmpty {
      return
        "some objects have no \"__typename\", so they have no identity and are stored in their "
        + "parent; select it to store them as records"
    }
    return "objects of type \(typename) have no \"\(keyField)\", so they have no identity and are "
      + "stored in their parent; name their key fields with keys: {\(typename): [field]}"
  }
}

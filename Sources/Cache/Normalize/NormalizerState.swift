import GQLRunJSON
import GQLRunLanguage

/// The state of normalizing one response: the context of yajl's callbacks.
///
/// It forwards each event, depending on its ``Mode``, to the parts that do the work:
/// ``OpenContainers`` knows the objects and lists that are open, ``StoredText`` collects their
/// text, ``KeyBuilder`` builds the keys under which finished objects are staged, ``ResultWriter``
/// writes the caller's result, ``Capture`` and ``Envelope`` follow the values that are not
/// normalized. All of them are plain values behind one pointer, without classes or allocations per
/// event.
struct NormalizerState: ~Copyable {
  /// Must be the first property: the parser reads it.
  var scope: JSONEventScope

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
    limits: ResponseLimits, separatesPages: Bool = true
  ) {
    scope = JSONEventScope(limits: limits.json)
    collectsAnchors = !plan.deliveries.isEmpty
    table = plan.tables.take(for: plan, separatesPages: separatesPages)
    self.staging = staging
    self.storesRoot = storesRoot && plan.operationType == .query
    maxOpaqueBytes = limits.maxOpaqueBytes
    containers = OpenContainers(maxDepth: Int(limits.json.maxDepth) + 2)
    result = ResultWriter(isWanted: wantsResult)
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
    scope.fail(JSONFailureCode(rawValue: JSONFailureCode.firstHandlerCode))
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
    var parts = ""
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

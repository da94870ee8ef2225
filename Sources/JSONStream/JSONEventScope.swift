/// What parser and handlers share about one text: the first bytes of every handler context.
///
/// A handler context is memory that starts with a `JSONEventScope`. Each handler calls exactly one of
/// the methods below per event: it counts the event and enforces the limit that belongs to it, also
/// where the handler skips the value. The parser reads ``events`` and ``depth`` to bound a pending
/// token and to see the end of the text.
///
/// ```swift
/// struct Context {
///   var scope: JSONEventScope  // first
///   // …
/// }
/// let onString: JSONEventHandlers.OnString = { context, bytes, length in
///   let context = context.unsafelyUnwrapped.assumingMemoryBound(to: Context.self)
///   guard context.pointee.scope.checkString(length) else { return 0 }
///   return 1
/// }
/// ```
@frozen
public struct JSONEventScope: Sendable {
  /// How many events were delivered so far.
  public var events: Int
  /// How many objects and arrays are open.
  public var depth: Int32
  /// Why a handler returned 0. The first failure is kept by the methods of this type.
  public var failure: JSONFailureCode
  /// What the text may ask for.
  public var limits: JSONLimits

  @inlinable
  public init(limits: JSONLimits = JSONLimits()) {
    self.events = 0
    self.depth = 0
    self.failure = .none
    self.limits = limits
  }

  /// Counts the start of an object or array. Returns false, and sets ``failure``, when it is nested too deep.
  @inlinable
  public mutating func enter() -> Bool {
    events &+= 1
    depth &+= 1
    if depth <= limits.maxDepth { return true }
    return fail(.depthExceeded)
  }

  /// Counts the end of an object or array.
  @inlinable
  public mutating func leave() {
    events &+= 1
    depth &-= 1
  }

  /// Counts an event that has no limit: `null`, `true`, `false`.
  @inlinable
  public mutating func count() {
    events &+= 1
  }

  /// Counts a string value. Returns false, and sets ``failure``, when it is too long.
  @inlinable
  public mutating func checkString(_ length: Int) -> Bool {
    events &+= 1
    if length <= limits.maxStringBytes { return true }
    return fail(.stringTooLong)
  }

  /// Counts an object key. Returns false, and sets ``failure``, when it is too long.
  @inlinable
  public mutating func checkKey(_ length: Int) -> Bool {
    events &+= 1
    if length <= limits.maxKeyBytes { return true }
    return fail(.keyTooLong)
  }

  /// Counts a number. Returns false, and sets ``failure``, when its text is too long.
  @inlinable
  public mutating func checkNumber(_ length: Int) -> Bool {
    events &+= 1
    if length <= limits.maxNumberBytes { return true }
    return fail(.numberTooLong)
  }

  /// Notes why the handler is about to return 0. Always false, so that it can be returned.
  @inline(never)
  @discardableResult
  public mutating func fail(_ code: JSONFailureCode) -> Bool {
    if failure == .none { failure = code }
    return false
  }
}

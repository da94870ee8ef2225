/// The state that the parser and the handlers of one text share: the first bytes of every handler
/// context.
///
/// A handler context is memory that starts with a `JSONEventScope`. For each event, a handler calls
/// exactly one of the methods below, which counts the event and enforces its limit, even if the
/// handler skips the value. The parser reads ``events`` and ``depth`` to bound an unfinished token
/// and to detect the end of the text.
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
  /// The number of events delivered.
  public var events: Int
  /// The number of open objects and arrays.
  public var depth: Int32
  /// Why a handler returned 0. The methods of this type keep the first failure.
  public var failure: JSONFailureCode
  /// The limits of the text.
  public var limits: JSONLimits

  /// Creates the scope of one text, with no events.
  @inlinable
  public init(limits: JSONLimits = JSONLimits()) {
    self.events = 0
    self.depth = 0
    self.failure = .none
    self.limits = limits
  }

  /// Counts the start of an object or array. Returns false and sets ``failure`` if
  /// ``JSONLimits/maxDepth`` is exceeded.
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

  /// Counts a string value. Returns false and sets ``failure`` if ``JSONLimits/maxStringBytes`` is
  /// exceeded.
  @inlinable
  public mutating func checkString(_ length: Int) -> Bool {
    events &+= 1
    if length <= limits.maxStringBytes { return true }
    return fail(.stringTooLong)
  }

  /// Counts an object key. Returns false and sets ``failure`` if ``JSONLimits/maxKeyBytes`` is
  /// exceeded.
  @inlinable
  public mutating func checkKey(_ length: Int) -> Bool {
    events &+= 1
    if length <= limits.maxKeyBytes { return true }
    return fail(.keyTooLong)
  }

  /// Counts a number. Returns false and sets ``failure`` if ``JSONLimits/maxNumberBytes`` is
  /// exceeded.
  @inlinable
  public mutating func checkNumber(_ length: Int) -> Bool {
    events &+= 1
    if length <= limits.maxNumberBytes { return true }
    return fail(.numberTooLong)
  }

  /// Records why the handler is about to return 0. Returns false, for use in a `return` statement.
  @inline(never)
  @discardableResult
  public mutating func fail(_ code: JSONFailureCode) -> Bool {
    if failure == .none { failure = code }
    return false
  }
}

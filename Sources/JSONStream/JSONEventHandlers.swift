import CYajl

/// The functions that ``JSONParser`` calls for the events of a JSON text, with the signatures of
/// yajl's callbacks.
///
/// yajl calls them directly, without a layer in between. Each handler takes the context pointer
/// given to ``JSONParser/init(handlers:context:options:)`` and returns 0 to cancel or any other
/// value to continue. Text is unescaped UTF-8, not null-terminated, may contain U+0000, and is
/// valid only during the call. Each handler reports its event to the ``JSONEventScope`` at the
/// start of its context.
public struct JSONEventHandlers: Sendable {
  /// A handler of `null`, or of the start or end of a container.
  public typealias OnMark = @convention(c) (UnsafeMutableRawPointer?) -> Int32
  /// A handler of `true` (1) and `false` (0).
  public typealias OnBoolean = @convention(c) (UnsafeMutableRawPointer?, Int32) -> Int32
  /// A handler of a number, with the text as sent.
  public typealias OnNumber =
    @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, Int) -> Int32
  /// A handler of a string or a key. The pointer may be nil if the length is 0.
  public typealias OnString =
    @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<UInt8>?, Int) -> Int32

  /// Called for `null`.
  public var null: OnMark
  /// Called for `true` and `false`.
  public var boolean: OnBoolean
  /// Called for a number.
  public var number: OnNumber
  /// Called for a string value.
  public var string: OnString
  /// Called for `{`.
  public var startObject: OnMark
  /// Called for the key of a member, before its value.
  public var key: OnString
  /// Called for `}`.
  public var endObject: OnMark
  /// Called for `[`.
  public var startArray: OnMark
  /// Called for `]`.
  public var endArray: OnMark

  /// Creates a set of handlers, one for each event.
  public init(
    null: OnMark,
    boolean: OnBoolean,
    number: OnNumber,
    string: OnString,
    startObject: OnMark,
    key: OnString,
    endObject: OnMark,
    startArray: OnMark,
    endArray: OnMark
  ) {
    self.null = null
    self.boolean = boolean
    self.number = number
    self.string = string
    self.startObject = startObject
    self.key = key
    self.endObject = endObject
    self.startArray = startArray
    self.endArray = endArray
  }
}

extension yajl_callbacks {
  init(_ handlers: JSONEventHandlers) {
    self.init(
      yajl_null: handlers.null, yajl_boolean: handlers.boolean, yajl_integer: nil,
      yajl_double: nil, yajl_number: handlers.number, yajl_string: handlers.string,
      yajl_start_map: handlers.startObject, yajl_map_key: handlers.key,
      yajl_end_map: handlers.endObject, yajl_start_array: handlers.startArray,
      yajl_end_array: handlers.endArray)
  }
}

/// Where a parser is while it calls a handler.
package struct JSONPosition {
  let call: UnsafeMutablePointer<JSONParser.Call>

  /// The number of bytes of the text up to the end of the current token.
  @inline(__always)
  package var offset: Int {
    call.pointee.parsed &+ yajl_get_bytes_consumed(call.pointee.handle)
  }

  /// The same for a string, key or number that a handler received; `nil` if it is not in the bytes that the
  /// parser was given, because it had escapes or arrived in pieces.
  ///
  /// - Parameter quotes: The number of bytes of the token after `text`: 1 or 0.
  @inline(__always)
  package func offset(after text: UnsafePointer<UInt8>, count: Int, quotes: Int) -> Int? {
    let start = UnsafeRawPointer(text)
    guard let first = call.pointee.bytes.baseAddress, start >= first else { return nil }
    let distance = start - first
    guard distance < call.pointee.bytes.count else { return nil }
    return call.pointee.parsed &+ distance &+ count &+ quotes
  }
}

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

/// yajl alone, without handlers and guard: the lower bound for every parsing measurement.
///
/// For measurements only: it accepts text that the guard rejects.
package struct BareParser: ~Copyable {
  private let handle: OpaquePointer

  package init() throws(JSONError) {
    guard let handle = yajl_alloc(nil, nil, nil) else {
      throw JSONError(code: .outOfMemory, message: "no memory for a JSON parser", offset: 0)
    }
    self.handle = handle
  }

  deinit { yajl_free(handle) }

  /// Parses the next chunk. Returns false if yajl rejects the text.
  package mutating func feed(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress else { return true }
    return yajl_parse(handle, base.assumingMemoryBound(to: UInt8.self), bytes.count)
      == yajl_status_ok
  }

  /// Ends the text. Returns false if it is incomplete.
  package mutating func finish() -> Bool { yajl_complete_parse(handle) == yajl_status_ok }
}

extension JSONEventHandlers {
  /// Handlers that count events and enforce the limits. Their context is a ``JSONEventScope``.
  package static let counting = JSONEventHandlers(
    null: { scope($0)?.pointee.count() == nil ? 0 : 1 },
    boolean: { context, _ in scope(context)?.pointee.count() == nil ? 0 : 1 },
    number: { context, _, count in scope(context)?.pointee.checkNumber(count) == true ? 1 : 0 },
    string: { context, _, count in scope(context)?.pointee.checkString(count) == true ? 1 : 0 },
    startObject: { scope($0)?.pointee.enter() == true ? 1 : 0 },
    key: { context, _, count in scope(context)?.pointee.checkKey(count) == true ? 1 : 0 },
    endObject: { scope($0)?.pointee.leave() == nil ? 0 : 1 },
    startArray: { scope($0)?.pointee.enter() == true ? 1 : 0 },
    endArray: { scope($0)?.pointee.leave() == nil ? 0 : 1 })

  private static func scope(
    _ context: UnsafeMutableRawPointer?
  ) -> UnsafeMutablePointer<JSONEventScope>? {
    context?.assumingMemoryBound(to: JSONEventScope.self)
  }
}

/// Strict parsing without a consumer: the guard, yajl, and handlers that only count.
package struct CountingParser: ~Copyable {
  private let scope: UnsafeMutablePointer<JSONEventScope>
  private var parser: JSONParser

  package init(limits: JSONLimits = JSONLimits()) throws(JSONError) {
    scope = .allocate(capacity: 1)
    scope.initialize(to: JSONEventScope(limits: limits))
    do {
      parser = try JSONParser(handlers: .counting, context: scope)
    } catch {
      scope.deallocate()
      throw error
    }
  }

  deinit { scope.deallocate() }

  package mutating func feed(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
    try parser.feed(bytes)
  }

  package mutating func finish() throws(JSONError) { try parser.finish() }
}

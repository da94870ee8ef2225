import CYajl

/// A strict, streaming JSON parser: bytes in, events out, in bounded memory and linear time.
///
/// The text arrives in pieces of any size; ``finish()`` says that it ended. It is accepted exactly when
/// it is an RFC 8259 text in UTF-8 without a byte order mark, whichever way it was cut; limits are
/// those of the context's ``JSONEventScope``. After an error, every further call throws the same error.
///
/// yajl reads the text; around it stand three things it lacks. A `JSONGuard` refuses what yajl lets
/// pass. Small pieces are held back until they outweigh the token that yajl has not finished, because
/// yajl scans such a token again at every call. After the value only white space is accepted, by our own code.
public struct JSONParser: ~Copyable {
  /// How the parser reads.
  public struct Options: Hashable, Sendable {
    /// Pieces smaller than this are collected before they are parsed. 4 KiB by default.
    public var minimumPiece: Int
    /// How many bytes are checked and parsed in one go, so that they stay in the processor's cache.
    /// 64 KiB by default.
    public var slice: Int

    public init(minimumPiece: Int = 4 << 10, slice: Int = 64 << 10) {
      self.minimumPiece = max(minimumPiece, 1)
      self.slice = max(slice, 1)
    }
  }

  private let handle: OpaquePointer
  private let callbacks: UnsafeMutablePointer<yajl_callbacks>
  private let context: UnsafeMutableRawPointer
  private let options: Options
  private var textGuard = JSONGuard()
  private var held = HeldBytes()
  private var failed: JSONError?

  /// The bytes that yajl has read, or that we have read after the end of the value.
  private(set) var parsed = 0
  /// An upper bound of the token yajl has not finished, in bytes.
  private(set) var pending = 0
  /// A lower bound of it if it is a string, while it is long: the bytes read since the last event.
  private var certain = 0
  /// How much escapes took before `certain` began, and before the oldest held byte.
  private var certainOverhead = 0
  private var heldOverhead = 0

  /// How many bytes yajl has looked at, counting those it looked at again. For tests of the cost.
  private(set) var scanned = 0

  /// Whether the top-level value has ended, as far as the bytes were parsed; held bytes may change it.
  public private(set) var isComplete = false

  /// How many bytes of the text were taken in.
  public var bytesConsumed: Int { parsed + held.count }

  /// Creates a parser for one text.
  ///
  /// - Parameters:
  ///   - handlers: Called during ``feed(_:)`` and ``finish()``.
  ///   - context: Passed to the handlers. Starts with a ``JSONEventScope``, and outlives the parser.
  public init(
    handlers: JSONEventHandlers,
    context: UnsafeMutableRawPointer,
    options: Options = Options()
  ) throws(JSONError) {
    let callbacks = UnsafeMutablePointer<yajl_callbacks>.allocate(capacity: 1)
    callbacks.initialize(
      to: yajl_callbacks(
        yajl_null: handlers.null, yajl_boolean: handlers.boolean, yajl_integer: nil,
        yajl_double: nil, yajl_number: handlers.number, yajl_string: handlers.string,
        yajl_start_map: handlers.startObject, yajl_map_key: handlers.key,
        yajl_end_map: handlers.endObject, yajl_start_array: handlers.startArray,
        yajl_end_array: handlers.endArray))
    guard let handle = yajl_alloc(callbacks, nil, context) else {
      callbacks.deallocate()
      throw JSONError(code: .outOfMemory, message: "no memory for a JSON parser", offset: 0)
    }
    _ = gqlrun_yajl_enable(handle, yajl_dont_validate_strings)
    _ = gqlrun_yajl_enable(handle, yajl_allow_trailing_garbage)
    self.handle = handle
    self.callbacks = callbacks
    self.context = context
    self.options = options
  }

  deinit {
    yajl_free(handle)
    callbacks.deallocate()
  }

  /// Takes the next bytes of the text. They are not needed after the call.
  public mutating func feed(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
    if let failed { throw failed }
    var rest = bytes
    while rest.count > 0 {
      if isComplete { return try skipWhiteSpace(rest) }
      // A large piece after a large pending token is parsed where it is, without a copy.
      let size = held.isEmpty ? max(options.slice, pending) : options.slice
      let (piece, next) = rest.split(at: size)
      if held.isEmpty { heldOverhead = textGuard.escapeOverhead }
      let clean = textGuard.scan(piece)
      let (good, bad) = piece.split(at: clean)
      try take(good)
      if let byte = bad.first { throw try refusal(of: byte) }
      rest = next
    }
  }

  /// Says that the text has ended. Throws if it ended too early.
  public mutating func finish() throws(JSONError) {
    if let failed { throw failed }
    try parseHeld()
    if isComplete { return }
    scanned += pending + 1
    switch yajl_complete_parse(handle) {
    case yajl_status_ok:
      // What is cut within a character or an escape is cut within a string, which yajl misses the end of.
      assert(textGuard.isBetweenCharacters)
      isComplete = true
    case yajl_status_client_canceled: throw cancellation(at: parsed)
    default: throw endError()
    }
  }

  private var scope: UnsafeMutablePointer<JSONEventScope> {
    context.assumingMemoryBound(to: JSONEventScope.self)
  }
}

// MARK: - Holding back

extension JSONParser {
  /// Parses checked bytes, or holds them back until they are worth a call of yajl's.
  private mutating func take(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
    var rest = bytes
    while rest.count > 0 {
      if isComplete { return try skipWhiteSpace(rest) }
      let missing = max(options.minimumPiece, pending) - held.count
      if rest.count < missing { return held.append(rest) }
      if held.isEmpty { return try parse(rest) }
      let (last, next) = rest.split(at: missing)
      held.append(last)
      try parseHeld()
      rest = next
    }
  }

  private mutating func parseHeld() throws(JSONError) {
    guard !held.isEmpty else { return }
    let bytes = held.takeAll()
    try parse(bytes)
  }

  private mutating func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
    guard let base = bytes.baseAddress else { return }
    if isComplete { return try skipWhiteSpace(bytes) }
    let eventsBefore = scope.pointee.events
    scanned += pending + bytes.count
    let status = yajl_parse(handle, base.assumingMemoryBound(to: UInt8.self), bytes.count)
    let consumed = yajl_get_bytes_consumed(handle)
    guard status == yajl_status_ok else {
      if status == yajl_status_client_canceled { throw cancellation(at: parsed + consumed) }
      throw grammarError(in: bytes, end: consumed)
    }
    parsed += consumed
    let (events, depth) = (scope.pointee.events, scope.pointee.depth)
    if consumed < bytes.count || (events > 0 && depth == 0) {
      isComplete = true
      return try skipWhiteSpace(bytes.split(at: consumed).1)
    }
    if events != eventsBefore {
      pending = tokenBound(atEndOf: bytes)
      certain = 0
      certainOverhead = heldOverhead
    } else {
      pending += bytes.count
      certain += bytes.count
      try checkPending()
    }
  }

  /// An upper bound of the unfinished token at the end of bytes in which another token ended.
  ///
  /// The last quote that is not escaped either starts the token or comes before it.
  private func tokenBound(atEndOf bytes: UnsafeRawBufferPointer) -> Int {
    let farthest = max(bytes.count - options.minimumPiece, 1)
    var place = bytes.count - 1
    while place >= farthest {
      if bytes[place] == UInt8(ascii: "\"") && bytes[place - 1] != UInt8(ascii: "\\") {
        return bytes.count - place
      }
      place -= 1
    }
    return bytes.count
  }

  /// Refuses a token that is longer than a string may be before yajl has to hold it whole.
  private mutating func checkPending() throws(JSONError) {
    let limit = max(scope.pointee.limits.maxStringBytes, scope.pointee.limits.maxKeyBytes)
    guard certain > limit else { return }
    guard certain - (textGuard.escapeOverhead - certainOverhead) > limit else { return }
    scope.pointee.fail(.stringTooLong)
    throw fail(
      .limitExceeded, "a string or a run of white space is longer than the limit of \(limit) bytes",
      at: parsed)
  }

  /// Accepts only white space, after the end of the value.
  private mutating func skipWhiteSpace(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
    for byte in bytes {
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"):
        parsed += 1
      default:
        throw trailing(byte)
      }
    }
  }
}

// MARK: - Errors

extension JSONParser {
  /// The error for a byte that the guard refuses. What comes before it may be wrong earlier.
  private mutating func refusal(of byte: UInt8) throws(JSONError) -> JSONError {
    try parseHeld()
    if isComplete { return trailing(byte) }
    guard let finding = textGuard.finding else {
      preconditionFailure("the guard refuses with a finding")
    }
    return fail(finding.code, finding.explanation(of: byte, at: parsed), at: parsed)
  }

  private mutating func trailing(_ byte: UInt8) -> JSONError {
    fail(.trailingData, "\(byte.shownName) after the end of the value", at: parsed)
  }

  /// The error for a handler that returned 0.
  private mutating func cancellation(at offset: Int) -> JSONError {
    let scope = scope.pointee
    return fail(scope.failure.code, scope.failure.explanation(scope.limits), at: offset)
  }

  /// The error for what yajl refused, at the offending byte or the start of the offending token.
  private mutating func grammarError(in bytes: UnsafeRawBufferPointer, end: Int) -> JSONError {
    guard let complaint = complaint() else {
      return fail(.syntax, "not JSON", at: parsed + end)
    }
    let place = complaint.place(in: bytes, consumed: end)
    return fail(
      .syntax, complaint.explanation(in: bytes, at: place, end: end), at: parsed + place)
  }

  /// The error for a text that ended where yajl wanted more, or whose last number is out of place.
  private mutating func endError() -> JSONError {
    switch complaint() {
    case .afterElement?: return fail(.syntax, "expected ',' or ']' after an element", at: parsed)
    case .afterMember?: return fail(.syntax, "expected ',' or '}' after a member", at: parsed)
    case .colon?: return fail(.syntax, "expected ':' after an object key", at: parsed)
    case .key?: return fail(.syntax, "expected an object key in quotes", at: parsed)
    default: return fail(.unexpectedEnd, at: parsed)
    }
  }

  private func complaint() -> YajlComplaint? {
    guard let text = yajl_get_error(handle, 0, nil, 0) else { return nil }
    defer { yajl_free_error(handle, text) }
    return YajlComplaint(message: String(decodingCString: text, as: UTF8.self))
  }

  private mutating func fail(
    _ code: JSONError.Code, _ message: String = "unexpected end of JSON", at offset: Int
  ) -> JSONError {
    let error = JSONError(code: code, message: message, offset: offset)
    failed = error
    return error
  }
}

extension UnsafeRawBufferPointer {
  /// The first `count` bytes, or all if there are fewer, and those after them.
  fileprivate func split(at count: Int) -> (UnsafeRawBufferPointer, UnsafeRawBufferPointer) {
    guard count < self.count else {
      return (self, UnsafeRawBufferPointer(start: nil, count: 0))
    }
    return (
      UnsafeRawBufferPointer(rebasing: self[..<count]),
      UnsafeRawBufferPointer(rebasing: self[count...])
    )
  }
}

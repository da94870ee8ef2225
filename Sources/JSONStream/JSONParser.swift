import CYajl

/// A strict streaming JSON parser: bytes in, events out, in bounded memory and linear time.
///
/// The text arrives in chunks of any size; ``finish()`` marks its end. The parser accepts exactly
/// RFC 8259 text in UTF-8 without a byte order mark, wherever the chunks are split, and enforces
/// the limits of the context's ``JSONEventScope``. After an error, every further call throws the
/// same error.
///
/// yajl parses the text; this type adds three things. A `JSONGuard` rejects invalid text that yajl
/// accepts. Small chunks are buffered until they are larger than the unfinished token, because yajl
/// scans that token again on every call. After the value, only white space is accepted.
public struct JSONParser: ~Copyable {
  /// Buffer sizes of a parser.
  public struct Options: Hashable, Sendable {
    /// Smaller chunks are buffered before they are parsed. In bytes; 4 KiB by default.
    public var minimumPiece: Int
    /// How many bytes are checked and then parsed at once; small enough for the processor's cache.
    /// 64 KiB by default.
    public var slice: Int

    /// Creates options. Values below 1 become 1.
    public init(minimumPiece: Int = 4 << 10, slice: Int = 64 << 10) {
      self.minimumPiece = max(minimumPiece, 1)
      self.slice = max(slice, 1)
    }
  }

  /// What yajl and the handlers read during a call.
  struct Call {
    var callbacks: yajl_callbacks
    var handle: OpaquePointer?
    /// The number of bytes of the text before this call, and the bytes of the call.
    var parsed = 0
    var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
  }

  private let handle: OpaquePointer
  private let call: UnsafeMutablePointer<Call>
  private let context: UnsafeMutableRawPointer
  private let options: Options
  private var textGuard = JSONGuard()
  private var held = HeldBytes()
  private var failed: JSONError?

  /// The number of bytes that yajl has read, plus the white space after the value.
  private(set) var parsed = 0
  /// An upper bound for the length of yajl's unfinished token, in bytes.
  private(set) var pending = 0
  /// A lower bound for that length if the token is a string: the bytes read since the last event.
  private var certain = 0
  /// The escape overhead before `certain` began, and before the first buffered byte.
  private var certainOverhead = 0
  private var heldOverhead = 0

  /// The number of bytes yajl has scanned, including repeated scans. For tests of the cost.
  private(set) var scanned = 0

  /// Whether the top-level value has ended in the bytes parsed so far. Buffered bytes are not
  /// parsed yet.
  public private(set) var isComplete = false

  /// The number of bytes of the text passed to ``feed(_:)``.
  public var bytesConsumed: Int { parsed + held.count }

  /// Creates a parser for one text.
  ///
  /// - Parameters:
  ///   - handlers: Called during ``feed(_:)`` and ``finish()``.
  ///   - context: Passed to the handlers. Starts with a ``JSONEventScope`` and must outlive the
  ///     parser.
  ///   - options: Buffer sizes.
  /// - Throws: ``JSONError/Code/outOfMemory`` if yajl cannot allocate its parser.
  public init(
    handlers: JSONEventHandlers,
    context: UnsafeMutableRawPointer,
    options: Options = Options()
  ) throws(JSONError) {
    let call = UnsafeMutablePointer<Call>.allocate(capacity: 1)
    call.initialize(to: Call(callbacks: yajl_callbacks(handlers)))
    // yajl keeps the address of its callbacks, which are the first bytes of the call.
    let callbacks = UnsafeMutableRawPointer(call).assumingMemoryBound(to: yajl_callbacks.self)
    guard let handle = yajl_alloc(callbacks, nil, context) else {
      call.deallocate()
      throw JSONError(code: .outOfMemory, message: "no memory for a JSON parser", offset: 0)
    }
    _ = gqlrun_yajl_enable(handle, yajl_dont_validate_strings)
    _ = gqlrun_yajl_enable(handle, yajl_allow_trailing_garbage)
    call.pointee.handle = handle
    self.handle = handle
    self.call = call
    self.context = context
    self.options = options
  }

  deinit {
    yajl_free(handle)
    call.deallocate()
  }

  /// Where the parser is, for handlers. Valid as long as the parser.
  package var position: JSONPosition { JSONPosition(call: call) }

  /// Parses the next chunk of the text, and calls the handlers for its events.
  ///
  /// - Parameter bytes: The chunk; not used after the call.
  /// - Throws: The first error of the text, with its offset from the start of the text.
  public mutating func feed(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
    try feed(bytes, isLast: false)
  }

  /// Parses the next chunk; the last one is parsed where it is, however small it is.
  package mutating func feed(
    _ bytes: UnsafeRawBufferPointer, isLast: Bool
  ) throws(JSONError) {
    if let failed { throw failed }
    var rest = bytes
    while rest.count > 0 {
      if isComplete { return try skipWhiteSpace(rest) }
      // A large chunk after a large unfinished token is parsed without a copy.
      let size = held.isEmpty ? max(options.slice, pending) : options.slice
      let (piece, next) = rest.split(at: size)
      if held.isEmpty { heldOverhead = textGuard.escapeOverhead }
      let clean = textGuard.scan(piece)
      let (good, bad) = piece.split(at: clean)
      try take(good, isLast: isLast && next.isEmpty)
      if let byte = bad.first { throw try refusal(of: byte) }
      rest = next
    }
  }

  /// Ends the text and parses what is still buffered.
  ///
  /// - Throws: ``JSONError/Code/unexpectedEnd`` if the value is incomplete, or another error of the
  ///   text.
  public mutating func finish() throws(JSONError) {
    if let failed { throw failed }
    try parseHeld()
    if isComplete { return }
    scanned += pending + 1
    switch yajl_complete_parse(handle) {
    case yajl_status_ok:
      // Text that ends inside a character or an escape ends inside a string, which yajl reports.
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

// MARK: - Buffering

extension JSONParser {
  /// Parses checked bytes, or buffers them until there are enough for a call of yajl.
  private mutating func take(
    _ bytes: UnsafeRawBufferPointer, isLast: Bool
  ) throws(JSONError) {
    var rest = bytes
    while rest.count > 0 {
      if isComplete { return try skipWhiteSpace(rest) }
      let missing = max(options.minimumPiece, pending) - held.count
      if held.isEmpty, isLast || rest.count >= missing { return try parse(rest) }
      if rest.count < missing { return held.append(rest) }
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
    call.pointee.parsed = parsed
    call.pointee.bytes = bytes
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

  /// An upper bound for the length of the unfinished token at the end of `bytes`, in which another
  /// token ended.
  ///
  /// The last unescaped quote either starts the token or precedes it.
  private func tokenBound(atEndOf bytes: UnsafeRawBufferPointer) -> Int {
    let farthest = max(bytes.count - options.minimumPiece, 1)
    var index = bytes.count - 1
    while index >= farthest {
      if bytes[index] == UInt8(ascii: "\"") && bytes[index - 1] != UInt8(ascii: "\\") {
        return bytes.count - index
      }
      index -= 1
    }
    return bytes.count
  }

  /// Rejects a token that exceeds the string limits before yajl has to buffer all of it.
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
      guard byte.isJSONWhiteSpace else { throw trailing(byte) }
      parsed += 1
    }
  }
}

// MARK: - Errors

extension JSONParser {
  /// The error for a byte that the guard rejects. The bytes before it are parsed first, because
  /// they may have an earlier error.
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

  /// The error for text that yajl rejects, at the offending byte or the start of the offending
  /// token.
  private mutating func grammarError(in bytes: UnsafeRawBufferPointer, end: Int) -> JSONError {
    guard let kind = yajlError() else {
      return fail(.syntax, "not JSON", at: parsed + end)
    }
    let index = kind.index(in: bytes, consumed: end)
    return fail(
      .syntax, kind.explanation(in: bytes, at: index, end: end), at: parsed + index)
  }

  /// The error for text that ends too early, or whose last number is not allowed there.
  private mutating func endError() -> JSONError {
    switch yajlError() {
    case .afterElement?: return fail(.syntax, "expected ',' or ']' after an element", at: parsed)
    case .afterMember?: return fail(.syntax, "expected ',' or '}' after a member", at: parsed)
    case .colon?: return fail(.syntax, "expected ':' after an object key", at: parsed)
    case .key?: return fail(.syntax, "expected an object key in quotes", at: parsed)
    default: return fail(.unexpectedEnd, "unexpected end of JSON", at: parsed)
    }
  }

  private func yajlError() -> YajlErrorKind? {
    guard let text = yajl_get_error(handle, 0, nil, 0) else { return nil }
    defer { yajl_free_error(handle, text) }
    return YajlErrorKind(message: String(decodingCString: text, as: UTF8.self))
  }

  private mutating func fail(
    _ code: JSONError.Code, _ message: String, at offset: Int
  ) -> JSONError {
    let error = JSONError(code: code, message: message, offset: offset)
    failed = error
    return error
  }
}

extension UnsafeRawBufferPointer {
  /// The first `count` bytes, or all if there are fewer, and the rest.
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

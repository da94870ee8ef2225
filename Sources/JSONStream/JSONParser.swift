import CYajl

/// A strict, streaming JSON parser: bytes in, events out, in constant memory.
///
/// The text arrives in pieces of any size; ``finish()`` says that it ended. It is accepted exactly when
/// it is an RFC 8259 text in UTF-8 without a byte order mark, whichever way it was cut. After an error,
/// every further call throws the same error.
public struct JSONParser: ~Copyable {
  /// How the parser reads.
  public struct Options: Hashable, Sendable {
    /// Pieces smaller than this are collected before they are parsed. 4 KiB by default.
    public var minimumPiece: Int
    /// How many bytes are checked and parsed in one go, so that they stay in the processor's cache.
    public var slice: Int

    public init(minimumPiece: Int = 4096, slice: Int = 64 << 10) {
      self.minimumPiece = minimumPiece
      self.slice = slice
    }
  }

  private let handle: OpaquePointer
  private let callbacks: UnsafeMutablePointer<yajl_callbacks>
  private let context: UnsafeMutableRawPointer
  private let options: Options
  private var held = HeldBytes()
  /// The bytes given to yajl, or checked by us after the value ended.
  private var parsed = 0
  /// An upper bound of the token yajl has not finished yet, which it will scan again.
  private var pending = 0
  private var failed: JSONError?

  /// Whether the top-level value has ended. Only white space may follow.
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
    guard bytes.count > 0 else { return }
    try parse(bytes)
  }

  /// Says that the text has ended.
  public mutating func finish() throws(JSONError) {
    if let failed { throw failed }
    if isComplete { return }
    let status = yajl_complete_parse(handle)
    if status != yajl_status_ok {
      throw fail(.unexpectedEnd, "unexpected end of JSON", at: parsed)
    }
    isComplete = true
  }

  private var scope: UnsafeMutablePointer<JSONEventScope> {
    context.assumingMemoryBound(to: JSONEventScope.self)
  }

  private mutating func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
    if isComplete { return }
    let status = yajl_parse(
      handle, bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self), bytes.count)
    let consumed = yajl_get_bytes_consumed(handle)
    if status != yajl_status_ok {
      throw fail(
        status == yajl_status_client_canceled ? .cancelled : .syntax, "not JSON",
        at: parsed + consumed)
    }
    parsed += bytes.count
    if consumed < bytes.count || (scope.pointee.events > 0 && scope.pointee.depth == 0) {
      isComplete = true
    }
  }

  private mutating func fail(
    _ code: JSONError.Code, _ message: String, at offset: Int
  ) -> JSONError {
    let error = JSONError(code: code, message: message, offset: offset)
    failed = error
    return error
  }
}

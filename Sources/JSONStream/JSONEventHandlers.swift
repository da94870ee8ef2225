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

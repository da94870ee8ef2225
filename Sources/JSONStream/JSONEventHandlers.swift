/// The functions the parser calls for the events of a JSON text, in the shape of yajl's callbacks.
///
/// yajl calls them directly: nothing stands between the C parser and the handler. Each takes the
/// context pointer given to ``JSONParser/init(handlers:context:options:)`` and returns 0 to cancel, any other value
/// to go on. Text is UTF-8, already unescaped, not terminated, may contain U+0000, and is valid only
/// during the call. Each handler reports its event to the ``JSONEventScope`` its context starts with.
public struct JSONEventHandlers: Sendable {
  /// `null`, and the start and end of containers.
  public typealias OnMark = @convention(c) (UnsafeMutableRawPointer?) -> Int32
  /// `true` (1) and `false` (0).
  public typealias OnBoolean = @convention(c) (UnsafeMutableRawPointer?, Int32) -> Int32
  /// A number, as the text that was sent.
  public typealias OnNumber =
    @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, Int) -> Int32
  /// A string or a key. The pointer may be nil when the length is 0.
  public typealias OnString =
    @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<UInt8>?, Int) -> Int32

  public var null: OnMark
  public var boolean: OnBoolean
  public var number: OnNumber
  public var string: OnString
  public var startObject: OnMark
  public var key: OnString
  public var endObject: OnMark
  public var startArray: OnMark
  public var endArray: OnMark

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

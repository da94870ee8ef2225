extension JSONValue {
  /// What a text must be to become a value.
  public struct ParsingOptions: Hashable, Sendable {
    /// Limits of depth and of strings, keys and numbers.
    public var limits: JSONLimits
    /// Whether the last of several members with one key counts, instead of an error. False by default.
    public var allowsDuplicateKeys: Bool

    public init(limits: JSONLimits = JSONLimits(), allowsDuplicateKeys: Bool = false) {
      self.limits = limits
      self.allowsDuplicateKeys = allowsDuplicateKeys
    }
  }

  /// Reads one JSON text.
  public init(
    parsing bytes: UnsafeRawBufferPointer, options: ParsingOptions = ParsingOptions()
  ) throws(JSONError) {
    var builder = try JSONValueBuilder(options: options)
    try builder.feed(bytes)
    self = try builder.finish()
  }

  /// Reads one JSON text.
  public init(
    parsing bytes: [UInt8], options: ParsingOptions = ParsingOptions()
  ) throws(JSONError) {
    let result = bytes.withUnsafeBytes { Self.result(of: $0, options) }
    self = try result.get()
  }

  /// Reads one JSON text.
  public init(
    parsing text: String, options: ParsingOptions = ParsingOptions()
  ) throws(JSONError) {
    var text = text
    let result = text.withUTF8 { Self.result(of: UnsafeRawBufferPointer($0), options) }
    self = try result.get()
  }

  private static func result(
    of bytes: UnsafeRawBufferPointer, _ options: ParsingOptions
  ) -> Result<Self, JSONError> {
    do throws(JSONError) {
      return .success(try Self(parsing: bytes, options: options))
    } catch {
      return .failure(error)
    }
  }
}

extension JSONValue {
  /// What text is accepted when a value is parsed.
  public struct ParsingOptions: Hashable, Sendable {
    /// Limits of nesting depth and of strings, keys and numbers.
    public var limits: JSONLimits
    /// Whether the last of several members with the same key wins; otherwise they are an error.
    /// False by default.
    public var allowsDuplicateKeys: Bool

    /// Creates options.
    public init(limits: JSONLimits = JSONLimits(), allowsDuplicateKeys: Bool = false) {
      self.limits = limits
      self.allowsDuplicateKeys = allowsDuplicateKeys
    }
  }

  /// Parses a JSON text from its bytes.
  ///
  /// - Throws: ``JSONError`` if the text is not valid JSON or exceeds a limit.
  public init(
    parsing bytes: UnsafeRawBufferPointer, options: ParsingOptions = ParsingOptions()
  ) throws(JSONError) {
    var builder = try JSONValueBuilder(options: options)
    try builder.feed(bytes)
    self = try builder.finish()
  }

  /// Parses a JSON text from its bytes.
  ///
  /// - Throws: ``JSONError`` if the text is not valid JSON or exceeds a limit.
  public init(
    parsing bytes: [UInt8], options: ParsingOptions = ParsingOptions()
  ) throws(JSONError) {
    let result = bytes.withUnsafeBytes { Self.result(of: $0, options) }
    self = try result.get()
  }

  /// Parses a JSON text.
  ///
  /// - Throws: ``JSONError`` if the text is not valid JSON or exceeds a limit.
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

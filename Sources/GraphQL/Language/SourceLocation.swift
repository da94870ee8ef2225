/// A position in a source text, as editors show it.
public struct SourceLocation: Sendable, Hashable, Comparable {
  /// The line, counted from 1. CR, LF and CRLF each end a line.
  public var line: Int
  /// The column, counted from 1 in Unicode scalars.
  public var column: Int
  /// The offset in UTF-8 bytes from the start of the text.
  public var offset: Int

  /// Creates a location.
  public init(line: Int, column: Int, offset: Int) {
    self.line = line
    self.column = column
    self.offset = offset
  }

  /// Orders locations by offset.
  public static func < (lhs: SourceLocation, rhs: SourceLocation) -> Bool {
    lhs.offset < rhs.offset
  }
}

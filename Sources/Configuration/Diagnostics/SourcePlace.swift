/// A stretch of one line of a file: what a diagnostic points at, and where an option's value was
/// written.
public struct SourcePlace: Sendable, Hashable {
  /// The file as the user named it.
  public var file: String
  /// Counted from 1.
  public var line: Int
  /// Counted from 1 in Unicode scalars.
  public var column: Int
  /// How much of the line is meant, in Unicode scalars; at least 1.
  public var length: Int

  public init(file: String, line: Int, column: Int, length: Int = 1) {
    self.file = file
    self.line = line
    self.column = column
    self.length = length
  }
}

extension SourcePlace: CustomStringConvertible {
  public var description: String { "\(file):\(line):\(column)" }
}

extension SourcePlace: Comparable {
  public static func < (lhs: SourcePlace, rhs: SourcePlace) -> Bool {
    (lhs.file, lhs.line, lhs.column) < (rhs.file, rhs.line, rhs.column)
  }
}

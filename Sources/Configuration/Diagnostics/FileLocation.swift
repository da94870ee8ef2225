/// A source location: a part of one line of a file.
public struct FileLocation: Sendable, Hashable {
  /// The path of the file, as the user wrote it.
  public var file: String
  /// The line, from 1.
  public var line: Int
  /// The column, from 1, in Unicode scalars.
  public var column: Int
  /// The length in Unicode scalars, at least 1.
  public var length: Int

  /// Creates a source location.
  ///
  /// - Parameters:
  ///   - file: The path of the file.
  ///   - line: The line, from 1.
  ///   - column: The column, from 1, in Unicode scalars.
  ///   - length: The length in Unicode scalars, at least 1.
  public init(file: String, line: Int, column: Int, length: Int = 1) {
    self.file = file
    self.line = line
    self.column = column
    self.length = length
  }
}

extension FileLocation: CustomStringConvertible {
  /// File, line and column: `ci.pipeline.yaml:6:18`.
  public var description: String { "\(file):\(line):\(column)" }
}

extension FileLocation: Comparable {
  /// Orders locations by file, line and column.
  public static func < (lhs: FileLocation, rhs: FileLocation) -> Bool {
    (lhs.file, lhs.line, lhs.column) < (rhs.file, rhs.line, rhs.column)
  }
}

/// Several files as one text, which maps source locations in a combined document to their files.
package struct SourceFiles: Sendable {
  package struct File: Sendable {
    /// The path as the user gave it.
    package var name: String
    /// The bytes, without a byte order mark.
    package var bytes: [UInt8]
    /// The byte offset of the file in the combined text.
    fileprivate(set) var start = 0
    /// The number of lines before the file in the combined text.
    fileprivate(set) var linesBefore = 0

    package init(name: String, bytes: [UInt8]) {
      self.name = name
      self.bytes = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? Array(bytes.dropFirst(3)) : bytes
    }
  }

  package private(set) var files: [File] = []
  /// The combined text: all files, each followed by a line end.
  package private(set) var text: [UInt8] = []
  private var lineCount = 0

  package init(_ files: [File]) {
    for var file in files {
      file.start = text.count
      file.linesBefore = lineCount
      self.files.append(file)
      text += file.bytes
      text.append(UInt8(ascii: "\n"))
      lineCount += Self.lineEnds(file.bytes + [UInt8(ascii: "\n")])
    }
  }

  /// The index of the file that contains a location of the combined text.
  package func index(of location: SourceLocation) -> Int {
    max((files.firstIndex { $0.start > location.offset } ?? files.count) - 1, 0)
  }

  /// The location within its file.
  package func local(_ location: SourceLocation) -> SourceLocation {
    guard files.indices.contains(index(of: location)) else { return location }
    let file = files[index(of: location)]
    return SourceLocation(
      line: location.line - file.linesBefore, column: location.column,
      offset: location.offset - file.start)
  }

  /// The number of line ends; CR, LF and CRLF each end a line.
  private static func lineEnds(_ bytes: [UInt8]) -> Int {
    var count = 0
    var previous: UInt8 = 0
    for byte in bytes {
      if byte == UInt8(ascii: "\r") { count += 1 }
      if byte == UInt8(ascii: "\n"), previous != UInt8(ascii: "\r") { count += 1 }
      previous = byte
    }
    return count
  }
}

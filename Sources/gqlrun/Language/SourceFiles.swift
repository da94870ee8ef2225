import GQLRunLanguage

/// Several files as one text, so that a place in a document made of all of them leads back to its file.
struct SourceFiles {
  struct File {
    /// The file as the user named it.
    var name: String
    /// Its bytes, without a byte order mark.
    var bytes: [UInt8]
    /// Where it begins in the common text, in bytes.
    fileprivate(set) var start = 0
    /// How many lines of the common text stand before it.
    fileprivate(set) var linesBefore = 0

    init(name: String, bytes: [UInt8]) {
      self.name = name
      self.bytes = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? Array(bytes.dropFirst(3)) : bytes
    }
  }

  private(set) var files: [File] = []
  /// All files, a line end after each.
  private(set) var text: [UInt8] = []
  private var lineCount = 0

  init(_ files: [File]) {
    for var file in files {
      file.start = text.count
      file.linesBefore = lineCount
      self.files.append(file)
      text += file.bytes
      text.append(UInt8(ascii: "\n"))
      lineCount += Self.lineEnds(file.bytes + [UInt8(ascii: "\n")])
    }
  }

  /// The file that a place of the common text is in.
  func index(of location: SourceLocation) -> Int {
    max((files.firstIndex { $0.start > location.offset } ?? files.count) - 1, 0)
  }

  /// The place within its file.
  func local(_ location: SourceLocation) -> SourceLocation {
    guard files.indices.contains(index(of: location)) else { return location }
    let file = files[index(of: location)]
    return SourceLocation(
      line: location.line - file.linesBefore, column: location.column,
      offset: location.offset - file.start)
  }

  /// The place as the user knows it.
  func place(_ location: SourceLocation) -> Finding.Place {
    Finding.Place(file: files[index(of: location)].name, location: local(location))
  }

  /// CR, LF and CRLF each end a line.
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

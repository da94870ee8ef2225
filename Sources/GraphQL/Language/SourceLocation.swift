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

extension SourceLocation {
  /// The location of what no source contains.
  static let generated = SourceLocation(line: 1, column: 1, offset: 0)

  /// The location of the byte at `offset` in a UTF-8 text; the end of the text if `offset` is
  /// larger.
  ///
  /// Takes time linear in `offset`, so it is for errors and whole files only; the lexer keeps its own count.
  package init(ofByteAt offset: Int, in bytes: [UInt8]) {
    let end = min(max(offset, 0), bytes.count)
    var line = 1
    var column = 1
    var index = 0
    while index < end {
      switch bytes[index] {
      case UInt8(ascii: "\n"):
        line += 1
        column = 1
      case UInt8(ascii: "\r"):
        // CRLF is one line terminator, counted at the LF.
        if index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "\n") { break }
        line += 1
        column = 1
      case 0x80...0xBF:
        break
      default:
        column += 1
      }
      index += 1
    }
    self.init(line: line, column: column, offset: end)
  }
}

/// A syntax error in a GraphQL document, with its source location.
///
/// The messages are those of the reference implementation (graphql-js, graphql-core).
public struct GraphQLSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
  /// For example `Syntax Error: Expected Name, found <EOF>.`
  public var message: String
  /// The source location of the error.
  public var location: SourceLocation
  /// The construct that the edition of the parser lacks; `nil` for other errors.
  public var addition: LanguageAddition?

  /// Creates an error.
  public init(message: String, location: SourceLocation, addition: LanguageAddition? = nil) {
    self.message = message
    self.location = location
    self.addition = addition
  }

  /// `line:column: message`.
  public var description: String { "\(location.line):\(location.column): \(message)" }
}

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
  /// The edition that the files are parsed by.
  private let edition: Edition
  /// The combined text: all files, each followed by a line end.
  package private(set) var text: [UInt8] = []
  private var lineCount = 0

  package init(_ files: [File], edition: Edition = .newest) {
    self.edition = edition
    for var file in files {
      file.start = text.count
      file.linesBefore = lineCount
      self.files.append(file)
      text += file.bytes
      text.append(UInt8(ascii: "\n"))
      lineCount +=
        SourceLocation(ofByteAt: .max, in: file.bytes + [UInt8(ascii: "\n")]).line - 1
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

  /// The files that cannot be parsed by themselves. A construct that one file leaves open must not be closed by the
  /// next.
  package var syntaxErrors: [(file: File, error: GraphQLSyntaxError)] {
    files.compactMap { file in
      do throws(GraphQLSyntaxError) {
        _ = try Document(parsingUTF8: file.bytes, options: ParseOptions(edition: edition))
        return nil
      } catch {
        return (file, error)
      }
    }
  }

  /// The definitions of all files, with locations in the combined text. The limit on tokens is one for each file.
  package func document() throws(GraphQLSyntaxError) -> Document {
    let options = ParseOptions(
      maxTokens: ParseOptions().maxTokens * max(files.count, 1), edition: edition)
    return try Document(parsingUTF8: text, options: options)
  }
}

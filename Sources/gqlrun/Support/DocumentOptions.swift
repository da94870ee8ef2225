import ArgumentParser
import Foundation

/// The document of a command: a file, standard input, or a text on the command line.
enum DocumentSource {
  /// A file; `-` is standard input.
  case file(String)
  case text(String)

  /// - Parameter argument: The path of a file, or the text of a document.
  /// - Throws: ``Failure`` if it can be either.
  init(_ argument: String) throws {
    let isFile = argument == "-" || FileManager.default.fileExists(atPath: argument)
    guard Self.looksLikeDocument(argument) else {
      self = .file(argument)
      return
    }
    guard !isFile else {
      throw Failure(
        .usage,
        "\(argument) is the name of a file, and reads like a document; write ./\(argument) for the "
          + "file, or --query '\(argument)' for the document")
    }
    self = .text(argument)
  }

  /// The path of the file; `nil` for a text.
  var path: String? { if case .file(let path) = self { path } else { nil } }

  /// The name in messages.
  var label: String {
    switch self {
    case .file(let path): Input.label(path)
    case .text: "query"
    }
  }

  func bytes() throws -> [UInt8] {
    switch self {
    case .file(let path): try Input.bytes(path, "the document")
    case .text(let text): Array(text.utf8)
    }
  }

  /// Whether the text begins like an operation or a fragment, after comments: `{`, or a keyword
  /// followed by white space or punctuation, with a selection set after it.
  private static func looksLikeDocument(_ text: String) -> Bool {
    var rest = text[...]
    while let first = rest.first, first.isWhitespace || ",#\u{feff}".contains(first) {
      rest = first == "#" ? rest.drop { !$0.isNewline } : rest.dropFirst()
    }
    if rest.first == "{" { return true }
    let keyword = rest.prefix(while: \.isLetter)
    guard ["query", "mutation", "subscription", "fragment"].contains(keyword) else { return false }
    let next = rest[keyword.endIndex...].first ?? "."
    return (next.isWhitespace || "{(@".contains(next)) && rest.contains("{")
  }
}

/// The options that name the document of a command.
struct DocumentOptions: ParsableArguments {
  @ArgumentParser.Argument(
    help:
      "GraphQL document: a file, - for standard input, or a text such as '{ countries { name } }'.")
  var document: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The text of the document, instead of a file.", valueName: "text"))
  var query: String?

  func validate() throws {
    guard document == nil || query == nil else {
      throw ValidationError("--query gives the document, so \(document ?? "") is one too many")
    }
    guard document != nil || query != nil else {
      throw ValidationError("Missing expected argument '<document>'")
    }
  }

  func source() throws -> DocumentSource {
    try query.map { .text($0) } ?? DocumentSource(document ?? "")
  }
}

import ArgumentParser
import Foundation

/// The options for writing results.
struct OutputOptions: ParsableArguments {
  enum Layout: String, EnumerableFlag {
    case pretty
    case compact

    static func help(for value: Layout) -> ArgumentHelp? {
      switch value {
      case .pretty: "Indent the result; the default on a terminal."
      case .compact: "Write the result on one line; the default except on a terminal."
      }
    }
  }

  @Flag(exclusivity: .exclusive)
  var layout: Layout?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "File to write instead of standard output, which is -; appears when it is complete. An earlier result is "
        + "replaced, another file with --overwrite.", valueName: "file"))
  var output: String?

  /// The file to write; `nil` is standard output.
  var file: String? { OutputFile.path(output) }

  @Flag(help: ReplaceOptions.help)
  var overwrite = false

  /// The flag as the group that other commands have; a group in a group takes longer to parse.
  var replace: ReplaceOptions { ReplaceOptions(overwrite: overwrite) }

  @Option(
    help: ArgumentHelp(
      "Print what this jq expression makes of the result, such as '.data.countries[].name'. Needs "
        + "libjq and the whole result in memory; may use half of the machine's memory, and a minute for a result.",
      valueName: "expression"))
  var jq: String?

  @Flag(name: .shortAndLong, help: "With --jq: print strings without quotes.")
  var rawOutput = false

  @Option(
    help: ArgumentHelp(
      "Color results and messages; auto does on terminals, and follows NO_COLOR and FORCE_COLOR.",
      valueName: "when"))
  var color = Terminal.Coloring.auto

  func validate() throws {
    guard jq != nil || !rawOutput else {
      throw ValidationError("--raw-output is for the results of --jq")
    }
  }

  /// Compiles the jq expression, before anything is sent.
  func filter() throws -> JQFilter? { try jq.map { try JQFilter($0, isRaw: rawOutput) } }

  /// - Parameters:
  ///   - linePerResult: Whether several results are expected; each is then one line unless the user
  ///     asks for indentation.
  ///   - isArray: Whether the results are the elements of one array.
  ///   - filter: The compiled jq expression.
  func writer(
    linePerResult: Bool = false, isArray: Bool = false, filter: JQFilter?
  ) throws -> ResultPrinter {
    let onTerminal = file == nil && Terminal.isOutputTerminal
    let isPretty = layout.map { $0 == .pretty } ?? (onTerminal && !linePerResult)
    return try ResultPrinter(
      isPretty: isPretty, isArray: isArray, path: file, replacing: form, filter: filter)
  }

  /// The form of files that may be replaced.
  private var form: OutputForm { replace.replacing(jq == nil ? .result : .unknown) }

  /// Checks that the file can be written, before anything is sent.
  func checkOutput() throws {
    if let file { try OutputFile.check(file, replacing: form) }
  }
}

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

  func validate() throws { try Self.check(document, query: query) }

  /// Throws unless one of both is given.
  static func check(_ document: String?, query: String?) throws {
    guard document == nil || query == nil else {
      throw ValidationError("--query gives the document, so \(document ?? "") is one too many")
    }
    guard document != nil || query != nil else {
      throw ValidationError("Missing expected argument '<document>'")
    }
  }

  func source() throws -> DocumentSource { try Self.source(document, query: query) }

  static func source(_ document: String?, query: String?) throws -> DocumentSource {
    try query.map { .text($0) } ?? DocumentSource(document ?? "")
  }
}

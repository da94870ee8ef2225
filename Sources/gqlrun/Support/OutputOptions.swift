import ArgumentParser

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
      "File to write instead of standard output; appears when it is complete.", valueName: "file"))
  var output: String?

  /// - Parameter linePerResult: Whether several results are expected; each is then one line unless
  ///   the user asks for indentation.
  /// - Parameter isArray: Whether the results are the elements of one array.
  func writer(linePerResult: Bool = false, isArray: Bool = false) throws -> ResultWriter {
    let onTerminal = output == nil && Terminal.isOutputTerminal
    let isPretty = layout.map { $0 == .pretty } ?? (onTerminal && !linePerResult)
    return try ResultWriter(isPretty: isPretty, isArray: isArray, path: output)
  }
}

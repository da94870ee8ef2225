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
      "File to write instead of standard output; appears when it is complete. An earlier result is "
        + "replaced, another file with --overwrite.", valueName: "file"))
  var output: String?

  @OptionGroup var replace: ReplaceOptions

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Print what this jq expression makes of the result, such as '.data.countries[].name'. Needs "
        + "libjq and the whole result in memory; may use half of the machine's memory, and a minute for a result.",
      valueName: "expression"))
  var jq: String?

  @Flag(name: .shortAndLong, help: "With --jq: print strings without quotes.")
  var rawOutput = false

  @Option(
    name: .long,
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
  ) throws -> ResultWriter {
    let onTerminal = output == nil && Terminal.isOutputTerminal
    let isPretty = layout.map { $0 == .pretty } ?? (onTerminal && !linePerResult)
    return try ResultWriter(
      isPretty: isPretty, isArray: isArray, path: output, replacing: form, filter: filter)
  }

  /// The form of files that may be replaced.
  private var form: OutputForm { replace.replacing(jq == nil ? .result : .unknown) }

  /// Checks that the file can be written, before anything is sent.
  func checkOutput() throws {
    if let output { try OutputFile.check(output, replacing: form) }
  }
}

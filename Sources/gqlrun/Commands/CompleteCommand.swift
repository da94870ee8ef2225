import ArgumentParser

/// Prints what can follow on a command line, for the scripts in `completions/`.
struct CompleteCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "complete",
    abstract: "Print the completions of a command line, one per line.",
    shouldDisplay: false)

  @Argument(help: "Command line up to the cursor.")
  var line: String

  func run() throws {
    let offers = Completion(line: line, program: try .of(RootCommand.self)).offers
    try Terminal.write(offers.map { $0.line + "\n" }.joined())
  }
}

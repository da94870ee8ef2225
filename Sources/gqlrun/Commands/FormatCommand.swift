import ArgumentParser
import GraphQL

struct FormatCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "format",
    abstract: "Print a document in its canonical form, or its syntax error with its place.")

  @ArgumentParser.Argument(help: "The GraphQL document; - is standard input.")
  var document: String

  func run() async throws {
    try await reporting {
      try Terminal.write(Input.document(document).printed() + "\n")
    }
  }
}

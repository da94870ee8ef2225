import ArgumentParser
import GQLRunLanguage

struct FormatCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "format",
    abstract: "Print a document in its canonical form, or its syntax error.",
    discussion: """
      The canonical form is that of graphql-js, without comments. A syntax error is printed with its \
      source location.

      EXAMPLES
        gqlrun format country.graphql
        echo '{country(code:"DE"){name}}' | gqlrun format -
      """)

  @ArgumentParser.Argument(help: "GraphQL document; - is standard input.")
  var document: String

  func run() async throws {
    try Terminal.write(Input.document(document).printed() + "\n")
  }
}

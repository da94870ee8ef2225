import ArgumentParser
import GQLRunBatch
import GQLRunJSON
import GQLRunPipeline

extension BatchCommand {
  struct Sinks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "sinks",
      abstract: "List the kinds of sinks and of rows, with their options and an example.",
      discussion: """
        EXAMPLES
          gqlrun batch sinks
          gqlrun batch sinks sqlite
          gqlrun batch sinks --json
        """)

    @Argument(help: "Kind to print; by default all.")
    var kind: String?

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
      let sinks = selected(Manifest.sinkKinds)
      let rows = selected(Manifest.rowKinds)
      guard !sinks.isEmpty || !rows.isEmpty else {
        let names = (Manifest.sinkKinds + Manifest.rowKinds).map(\.name)
        throw Failure(
          .usage,
          "there is no sink or row source \(kind ?? "")\nthe kinds: "
            + "\(Set(names).sorted().joined(separator: ", "))")
      }
      if json {
        let value: JSONValue = .object([
          "sinks": .array(sinks.map(Self.json)), "rows": .array(rows.map(Self.json)),
        ])
        return try Terminal.write(value.jsonText(pretty: true) + "\n")
      }
      let chapters =
        (sinks.isEmpty ? [] : ["SINKS: entries of `sinks`\n"] + sinks.map { Self.text($0, "- ") })
        + (rows.isEmpty ? [] : ["ROWS: keys of `foreach`\n"] + rows.map { Self.text($0, "") })
      try Terminal.write(chapters.joined(separator: "\n"))
    }

    private func selected(_ kinds: [OptionVariant]) -> [OptionVariant] {
      kinds.filter { kind == nil || $0.name == kind }
    }

    private static func text(_ kind: OptionVariant, _ bullet: String) -> String {
      let lines =
        ["\(kind.name): \(kind.summary)", "  \(bullet)\(kind.example)"]
        + kind.options.flatMap { $0.lines(indent: "    ") }
      return lines.map { $0 + "\n" }.joined()
    }

    private static func json(_ kind: OptionVariant) -> JSONValue {
      .object([
        "name": .string(kind.name), "summary": .string(kind.summary),
        "example": .string(kind.example),
        "options": .array(
          kind.options.map { option in
            var object: JSONObject = [
              "name": .string(option.name), "type": .string(option.type.name),
              "required": .boolean(option.isRequired), "summary": .string(option.summary),
            ]
            object["default"] = option.defaultText.map { .string($0) }
            return .object(object)
          }),
      ])
    }
  }
}

extension BatchCommand {
  struct Schema: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "schema",
      abstract: "Print the JSON Schema of manifests, for editors.",
      discussion: """
        An editor with the schema completes and checks manifests. For the YAML extension of Visual \
        Studio Code, start a manifest with this comment:
          # yaml-language-server: $schema=batch.schema.json

        EXAMPLE
          gqlrun batch schema > batch.schema.json
        """)

    func run() async throws {
      try Terminal.write(Manifest.schema.jsonText(pretty: true) + "\n")
    }
  }
}

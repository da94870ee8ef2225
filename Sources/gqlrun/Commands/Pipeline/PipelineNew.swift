import ArgumentParser
import Foundation
import GQLRunPipeline
import GQLRunPlugins

extension PipelineCommand {
  struct New: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "new",
      abstract: "Create a pipeline file from a ready-made one.",
      discussion: """
        Never changes an existing file. The ready-made pipelines are: \
        \(ReadyMade.names.joined(separator: ", ")).

        EXAMPLES
          gqlrun pipeline new countries.pipeline.yaml
          gqlrun pipeline new cached.pipeline.yaml --from offline
          gqlrun pipeline new own.pipeline.yaml --extends ./mine.pipeline.yaml
        """)

    @Argument(help: "File to write; .pipeline.yaml is added to a name without it.")
    var file: String

    @Option(
      name: .long,
      help: ArgumentHelp("Ready-made pipeline to copy. Default: default.", valueName: "name"))
    var from: String?

    @Option(
      name: .long,
      help: ArgumentHelp(
        "Pipeline file to extend; the path is relative to the new file.", valueName: "file")
    )
    var extends: String?

    func run() async throws {
      try await reporting {
        guard from == nil || extends == nil else {
          throw Failure(
            .usage,
            "--from and --extends exclude each other: copy a ready-made file, or extend a file")
        }
        let suffix = ".pipeline.yaml"
        let path = file.hasSuffix(suffix) ? file : file + suffix
        let name = URL(fileURLWithPath: path).lastPathComponent.dropLast(suffix.count)
        guard !name.isEmpty,
          name.allSatisfy({ $0.isLetter || $0.isNumber || "-_.".contains($0) })
        else {
          throw Failure(
            .usage, "\(path) is no name for a pipeline: use letters, digits, -, _ and .")
        }
        try NewFile.create(path, text(named: String(name)))
        Terminal.note(
          "wrote \(Terminal.safe(path)); try\n  gqlrun pipeline check \(Terminal.safe(path))\n"
            + "  gqlrun run FILE.graphql --pipeline \(Terminal.safe(path)) --endpoint URL")
      }
    }

    private func text(named name: String) throws -> String {
      if let extends {
        guard !extends.contains(where: { $0.isNewline || $0 == "\"" }) else {
          throw Failure(.usage, "--extends takes the path of a file")
        }
        return """
          version: 1
          name: \(name)
          extends: "\(extends)"
          # Keys in this file override those of the extended file. Entries of its chain are changed by id:
          # chain:
          #   - logging: { level: debug }
          #     replace: logging
          #   - headers: { set: { X-Client: \(name) } }
          #     insert: { before: fetch }
          #   - remove: max-retry

          """
      }
      let wanted = from ?? "default"
      guard let text = ReadyMade.file(wanted) else {
        throw Failure(
          .usage,
          "there is no ready-made pipeline \(wanted)\nthe pipelines: "
            + ReadyMade.names.joined(separator: ", "))
      }
      return text.replacing("\nname: \(wanted)\n", with: "\nname: \(name)\n", maxReplacements: 1)
    }
  }
}

import ArgumentParser
import Foundation
import GQLRunPlugins
import GQLRunSupport

extension PipelineCommand {
  struct New: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "new",
      abstract: "Create a pipeline file from a ready-made one.",
      discussion: """
        Copies the ready-made pipeline of --from; without --from the one that has the name of the new \
        file, or else `default`. With --extends, the file contains only what differs. Never changes an \
        existing file. The ready-made pipelines are: \
        \(ReadyMade.names.joined(separator: ", ")).

        EXAMPLES
          gqlrun pipeline new countries.pipeline.yaml
          gqlrun pipeline new cached.pipeline.yaml --from offline
          gqlrun pipeline new own.pipeline.yaml --extends ./mine.pipeline.yaml
          gqlrun pipeline new strict.pipeline.yaml --extends default
        """)

    @Argument(help: "File to write; a name without .pipeline.yaml gets it, also instead of .yaml.")
    var file: String

    @Option(
      help: ArgumentHelp(
        "Ready-made pipeline to copy. Default: the one with the new file's name, or default.",
        valueName: "name"))
    var from: String?

    @Option(
      help: ArgumentHelp(
        "Pipeline file to extend, relative to the new file, or the name of a ready-made one.",
        valueName: "file"))
    var extends: String?

    func run() async throws {
      guard from == nil || extends == nil else {
        throw Failure(
          .usage,
          "--from and --extends exclude each other: copy a ready-made file, or extend a file")
      }
      let suffix = ".pipeline.yaml"
      let path = FilePath.yamlFile(file, kind: "pipeline")
      let name = String(URL(fileURLWithPath: path).lastPathComponent.dropLast(suffix.count))
      guard !name.isEmpty,
        name.allSatisfy({ $0.isLetter || $0.isNumber || "-_.".contains($0) })
      else {
        throw Failure(
          .usage, "\(path) is no name for a pipeline: use letters, digits, -, _ and .")
      }
      try NewFile.create(path, text(named: name))
      let origin = extends == nil ? ", a copy of the ready-made pipeline \(source(of: name))" : ""
      let word = Terminal.safe(QuotedText.shellPath(path))
      Terminal.note(
        "wrote \(Terminal.safe(path))\(origin); try\n  gqlrun pipeline check \(word)\n"
          + "  gqlrun run FILE.graphql --pipeline \(word) --endpoint URL")
    }

    /// The ready-made pipeline to copy.
    private func source(of name: String) -> String {
      from ?? (ReadyMade.file(name) == nil ? "default" : name)
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
      let wanted = source(of: name)
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

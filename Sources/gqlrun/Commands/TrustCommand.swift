import ArgumentParser
import GQLRunBatch
import GQLRunPipeline
import GQLRunPlugins

extension PipelineCommand {
  struct Trust: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "trust",
      abstract: "Allow what pipeline files start, and write elsewhere.",
      discussion: """
        A pipeline file can start programs: ${exec:…}, the plugin exec, and the command of a token. It can \
        also write files outside of its repository: caches, recordings, tokens and audit logs. Both need \
        trust in the file and in the files that it extends. After a change, a file must be trusted again. Only \
        the pipeline files are compared, not the scripts that they start.

        EXAMPLES
          gqlrun pipeline trust signed.pipeline.yaml
          gqlrun pipeline trust --revoke signed.pipeline.yaml
        """)

    @Argument(help: "Pipeline files.")
    var files: [String]

    @Flag(help: "Remove the files from the trusted files.")
    var revoke = false

    func run() async throws {
      try await TrustReport.change(files, revoke: revoke) { try PipelineFile.look(at: $0) }
    }
  }
}

extension BatchCommand {
  struct Trust: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "trust",
      abstract: "Allow what a manifest and its pipeline start, and write elsewhere.",
      discussion: """
        Like `gqlrun pipeline trust`, for a manifest, its pipeline, and the files that it extends.

        EXAMPLES
          gqlrun batch trust nightly.batch.yaml
          gqlrun batch trust --revoke nightly.batch.yaml
        """)

    @Argument(help: "Manifests.")
    var manifests: [String]

    @Flag(help: "Remove the files from the trusted files.")
    var revoke = false

    func run() async throws {
      try await TrustReport.change(manifests, revoke: revoke) {
        try ManifestLoader.load(
          path: $0, registry: .builtIn, environment: .unsent.withPlaceholders
        ).manifest.pipeline
      }
    }
  }
}

/// Changes the list of trusted files, and prints the changes.
private enum TrustReport {
  /// - Parameter pipeline: Reads the pipeline of a file.
  static func change(
    _ files: [String], revoke: Bool, pipeline: (String) throws -> Pipeline
  ) async throws {
    if revoke { return try await Self.revoke(files) }
    for file in files { try await trust(file, ProgramGate.Facts(pipeline(file))) }
  }

  private static func trust(_ file: String, _ facts: ProgramGate.Facts) async throws {
    guard file != "-" else {
      throw Failure(.usage, "standard input cannot be trusted; name a file")
    }
    guard !facts.isEmpty else {
      return Terminal.note(
        "\(Terminal.safe(file)) starts no programs, and writes no files outside of its repository: there is nothing "
          + "to allow")
    }
    try await TrustStore().add(facts.items)
    for item in facts.items { Terminal.note("trusted \(Terminal.safe(item.path))") }
    Terminal.note(Terminal.safe(facts.list))
  }

  private static func revoke(_ files: [String]) async throws {
    let removed = try await TrustStore().remove(files)
    for path in removed { Terminal.note("no longer trusted: \(Terminal.safe(path))") }
    if removed.isEmpty { Terminal.note("none of these files was trusted") }
  }
}

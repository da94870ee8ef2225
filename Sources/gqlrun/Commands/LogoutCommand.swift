import ArgumentParser
import Foundation
import GQLRunCache
import GQLRunPipeline
import GQLRunPlugins

struct LogoutCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "logout",
    abstract: "Forget the tokens of a pipeline and everything in its cache, files included.",
    discussion: """
      What belongs to others stays: a token in the environment, or in a file that another program \
      keeps. The server is not told; let it revoke the tokens where that matters.

      EXAMPLE
        gqlrun logout --pipeline pipelines/auth.pipeline.yaml
      """)

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The pipeline file whose tokens and cache to remove.", valueName: "file"))
  var pipeline: String

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The cache to remove, instead of the pipeline's store.", valueName: "memory|sqlite:PATH"))
  var store: StoreChoice?

  @OptionGroup var trust: TrustOptions

  func run() async throws {
    try await reporting {
      let loaded = try PipelineFile.loadToRun(pipeline, .unsent, trust).pipeline
      let path = cachePath(of: loaded)
      let exists = path.map { FileManager.default.fileExists(atPath: $0) } ?? false
      let records = exists ? try path.map { try StoreChoice.open($0) } : nil
      let runner = PipelineRunner(loaded, services: Services(store: records))
      let removed = try await runner.signOut()
      try records?.close()
      for item in removed { Terminal.note("removed \(Terminal.safe(item))") }
      if let path, exists {
        try SQLiteStore.removeFiles(at: path)
        Terminal.note("removed \(Terminal.safe(path))")
      }
      if removed.isEmpty && !exists { Terminal.note("there was nothing to remove") }
    }
  }

  private func cachePath(of pipeline: Pipeline) -> String? {
    switch store {
    case .sqlite(let path): path
    case .memory: nil
    case nil: pipeline.store.kind == .sqlite ? pipeline.store.path : nil
    }
  }
}

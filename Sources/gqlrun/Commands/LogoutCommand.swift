import ArgumentParser
import Foundation
import GQLRunCache
import GQLRunPipeline
import GQLRunPlugins

struct LogoutCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "logout",
    abstract: "Delete the tokens and the cache of a pipeline, including files.",
    discussion: """
      Does not delete tokens that other programs manage, in the environment or in files, and does not \
      revoke tokens at the server.

      EXAMPLE
        gqlrun logout --pipeline auth.pipeline.yaml
      """)

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("Pipeline file whose tokens and cache to delete.", valueName: "file"))
  var pipeline: String

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Cache to delete; overrides the pipeline's store.", valueName: "memory|sqlite:PATH"))
  var store: StoreChoice?

  @OptionGroup var trust: TrustOptions

  func run() async throws {
    try await reporting {
      let loaded = try PipelineFile.loadToRun(
        ReadyMade.path(for: pipeline), .unsent, trust
      ).pipeline
      let path = cachePath(of: loaded)
      let exists = path.map { FileManager.default.fileExists(atPath: $0) } ?? false
      let records = exists ? try path.map { try StoreChoice.open($0) } : nil
      let runner = PipelineRunner(loaded, services: Services(store: records))
      let removed = try await runner.signOut()
      try records?.close()
      for item in removed { Terminal.note("removed \(Terminal.safe(item))") }
      if let path, exists {
        try CacheStore.removeFiles(at: path)
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

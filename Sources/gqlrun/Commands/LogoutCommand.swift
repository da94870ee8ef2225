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
    help: ArgumentHelp(
      "Cache to delete; overrides the pipeline's store.",
      valueName: "memory|sqlite:PATH|postgresql://…"),
    transform: StoreChoice.init(argument:))
  var store: StoreChoice?

  @OptionGroup var trust: TrustOptions

  func run() async throws {
    let loaded = try PipelineFile.loadToRun(
      ReadyMade.path(for: pipeline), environment: .unsent, trust: trust
    ).pipeline
    let cache = self.cache(of: loaded)
    var path: String?
    if case .sqlite(let file) = cache { path = file }
    let exists = path.map { FileManager.default.fileExists(atPath: $0) } ?? (cache != nil)
    let records = exists ? try await cache?.open() : nil
    let runner = PipelineRunner(loaded, services: Services(store: records))
    let removed = try await runner.signOut()
    try records?.close()
    for item in removed { Terminal.note("removed \(Terminal.safe(item))") }
    if let path, exists {
      try CacheStore.removeFiles(at: path)
      Terminal.note("removed \(Terminal.safe(path))")
    }
    if case .postgres = cache { Terminal.note("removed the records of the cache in PostgreSQL") }
    if removed.isEmpty && !exists { Terminal.note("there was nothing to remove") }
  }

  /// The cache that outlives its process; `nil` if there is none.
  private func cache(of pipeline: Pipeline) -> StoreChoice? {
    switch store {
    case .memory: return nil
    case let store?: return store
    case nil: break
    }
    switch pipeline.store.kind {
    case .sqlite: return pipeline.store.path.map { .sqlite($0) }
    case .postgres: return pipeline.store.url.map { .postgres($0) }
    case .memory, .none: return nil
    }
  }
}

import ArgumentParser
import Foundation
import GQLRunBatch
import GQLRunDemoServer
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport

struct InspectCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Serve a page that shows pipelines, caches and runs of batches.",
    discussion: """
      Arguments are recognized by what they are: a cache (SQLite), a journal or a folder of \
      journals, a batch manifest, a pipeline file or the name of a ready-made one. Without arguments, \
      those of the current folder and the endpoint of the project file are shown.

      The page is served on 127.0.0.1 only; its URL has a token, which is a secret while the command \
      runs. Requests that are sent from the page use the pipeline like `gqlrun run`, with the same rules \
      for programs. Caches and journals are only read, and mutations refused, without --allow-write.

      EXAMPLES
        gqlrun inspect
        gqlrun inspect --port 0 cache.db > address
        gqlrun inspect mine.pipeline.yaml cache.db --allow-write
        gqlrun inspect nightly.batch.yaml
      """)

  @ArgumentParser.Argument(
    help: ArgumentHelp(
      "Caches, journals or their folders, batch manifests, pipeline files.", valueName: "file"))
  var subjects: [String] = []

  @Option(help: "Port to listen on; 0 selects a free port.")
  var port = 0

  @Flag(
    help: "Permit mutations, results that are stored in a cache's file, eviction and collection.")
  var allowWrite = false

  @Option(
    name: .shortAndLong,
    help: EndpointArguments.endpointHelp("overrides GQL_URL and the pipeline file"))
  var endpoint: String?

  @OptionGroup var requestOptions: RequestOptions
  @OptionGroup var trustOptions: TrustOptions

  func validate() throws {
    try require("--port", port, in: 0...65_535, or: "is not a port")
  }

  func run() async throws {
    let server = try await server()
    do {
      try await Interruption.serve { [port] onReady in
        try await server.run(port: port, onReady: onReady)
      }
    } catch let failure as DemoServer.Failure {
      throw Failure(.failed, "\(failure.message); choose another port, or a free one with --port 0")
    }
    await server.shutdown()
  }

  /// The server with all that the arguments name.
  func server() async throws -> InspectServer {
    let found = try InspectSubjects(subjects, endpoint: endpoint)
    var pipelines: [InspectedPipeline] = []
    for name in found.pipelines {
      pipelines.append(
        try await InspectedPipeline(
          name, endpoint: endpoint, request: requestOptions, trust: trustOptions,
          allowsWrites: allowWrite))
    }
    return InspectServer(
      pipelines: pipelines, caches: found.caches(of: pipelines),
      runs: found.runs.map { InspectedRun(path: $0) }, allowsWrites: allowWrite)
  }
}

/// What `gqlrun inspect` shows, recognized from its arguments.
struct InspectSubjects {
  /// Files, and names of ready-made pipelines; `nil` for the default pipeline with the project's endpoint.
  private(set) var pipelines: [String?] = []
  /// SQLite files.
  private(set) var caches: [String] = []
  /// Journals, and folders of journals.
  private(set) var runs: [String] = []

  /// - Throws: ``Failure`` if an argument is none of these, or nothing is found without arguments.
  init(_ arguments: [String], endpoint: String?) throws {
    for argument in arguments { try add(argument, endpoint: endpoint) }
    guard arguments.isEmpty else {
      // An endpoint without a pipeline file is that of the default pipeline.
      if pipelines.isEmpty, runs.isEmpty, endpoint != nil { pipelines = [nil] }
      return
    }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: ".").sorted()) ?? []
    for name in names.filter({ Self.isLikely($0) }) {
      // A file that cannot be shown is no error if it was not named.
      if name.hasSuffix(".pipeline.yaml"), (try? PipelineFile.inspected(name)) == nil {
        Terminal.warning(
          "\(name) is not shown; `gqlrun pipeline check \(QuotedText.shellPath(name))` lists its errors"
        )
      } else {
        try? add(name, endpoint: endpoint)
      }
    }
    if pipelines.isEmpty, try endpoint != nil || Project.endpoint(isQuiet: true) != nil {
      pipelines = [nil]
    }
    guard !(pipelines.isEmpty && caches.isEmpty && runs.isEmpty) else {
      throw Failure(
        .usage,
        "there is nothing to inspect in this folder: \(Self.subjects), or add `endpoint` to the project file "
          + "graphql.config.yaml")
    }
  }

  private static let subjects =
    "name a cache (cache.db), a journal or its folder (runs), a batch manifest (x.batch.yaml) or a pipeline file "
    + "(x.pipeline.yaml)"

  private static func isLikely(_ name: String) -> Bool {
    [".pipeline.yaml", ".batch.yaml"].contains { name.hasSuffix($0) }
      || StoreChoice.namesDatabase(name)
  }

  private mutating func add(_ argument: String, endpoint: String?) throws {
    let path = argument.hasPrefix("sqlite:") ? String(argument.dropFirst(7)) : argument
    if FilePath.isFolder(path) {
      guard RunSnapshot.newestJournal(in: path) != nil else {
        throw Failure(
          .badInput,
          "the folder \(path) has no journal of a batch; name the folder of the journals, which is `runs` "
            + "beside the manifest by default, or the manifest")
      }
      runs.append(path)
    } else if let kind = Self.databaseKind(path) {
      switch kind {
      case "gqjr": runs.append(path)
      case "GQLR": caches.append(path)
      // The first pages of a new database are only in its log.
      case "\0\0\0\0":
        if RunSnapshot.isJournal(path) { runs.append(path) } else { caches.append(path) }
      default:
        throw Failure(
          .badInput,
          "\(path) is a SQLite database of another program (unchanged); name a cache or a journal")
      }
    } else if path.hasSuffix(".batch.yaml") {
      let manifest = try ManifestOptions(manifest: path, endpoint: endpoint, allowExec: false)
        .load().manifest
      guard manifest.queueURL == nil else {
        throw Failure(
          .badInput,
          "the journal of \(path) is a PostgreSQL database; `gqlrun batch status \(QuotedText.shellPath(path))` shows it"
        )
      }
      runs.append(manifest.settings.journalFolder)
    } else if path.contains("://") {
      // Not repeated, because a URL may have a password.
      throw Failure(
        .usage,
        "a URL is not a file to inspect; name the endpoint with --endpoint URL. Caches in PostgreSQL "
          + "databases are not shown")
    } else if path != argument || StoreChoice.namesDatabase(path) {
      _ = try InputReader(path, "the cache", flags: O_NONBLOCK)
      throw Failure(
        .badInput, "\(path) is not a SQLite database (unchanged); name a cache or a journal")
    } else if FilePath.status(of: path) == nil, ReadyMade.file(path) == nil,
      ![".yaml", ".yml"].contains(where: { path.hasSuffix($0) })
    {
      let meant =
        FilePath.yamlFile(meantBy: path, kind: "pipeline")
        ?? suggestion(for: path, in: ReadyMade.names)
      throw Failure(
        .badInput,
        "\(path) does not exist; " + (meant.map { "did you mean \($0)?" } ?? Self.subjects))
    } else {
      pipelines.append(path)
    }
  }

  /// The four bytes by which SQLite databases name their application; `nil` for other files.
  ///
  /// https://www.sqlite.org/fileformat2.html#application_id
  private static func databaseKind(_ path: String) -> String? {
    guard let head = try? SystemIO.beginning(of: path, count: 100), head.count == 100,
      head.starts(with: Array("SQLite format 3\0".utf8))
    else { return nil }
    return String(decoding: head[68..<72], as: UTF8.self)
  }

  /// The caches, and the stores of the pipelines that are files. Rules are those of the pipeline, or of the only one.
  func caches(of pipelines: [InspectedPipeline]) -> [InspectedCache] {
    let stores = pipelines.compactMap { pipeline in
      pipeline.storePath.map { InspectedCache(path: $0, rules: pipeline) }
    }
    let others = caches.filter { path in !stores.contains { $0.path == path } }
    return stores
      + others.map {
        InspectedCache(path: $0, rules: pipelines.count == 1 ? pipelines.first : nil)
      }
  }
}

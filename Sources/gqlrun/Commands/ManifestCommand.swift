import ArgumentParser
import GQLRunCache
import GQLRunLanguage
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins

struct ManifestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manifest",
    abstract: "Build and verify manifests of persisted queries.",
    subcommands: [Build.self, Verify.self])

  /// What decides the text that is sent, and so the ids.
  struct TextOptions: ParsableArguments {
    @Option(
      name: .long,
      help: ArgumentHelp(
        "The fields that identify a type, instead of id. May be repeated.",
        valueName: "Type=field,field"))
    var keys: [String] = []

    @Option(
      name: .long,
      help: ArgumentHelp(
        "The schema; documents are checked against it, and identifying fields are added wherever a "
          + "type has them. May be repeated.", valueName: "file"))
    var schema: [String] = []

    @Option(
      name: .shortAndLong,
      help: ArgumentHelp(
        "The pipeline file that the operations are run with: its keys count, and its schema unless "
          + "another is named.", valueName: "file"))
    var pipeline: String?

    /// The operations of the files, each with the text that is sent.
    func operations(of files: [String]) throws -> [PersistedQueryManifest.Operation] {
      let loaded = try pipeline.map {
        try PipelineFile.load(path: $0, registry: .builtIn, environment: .gqlrun(endpoint: nil))
          .pipeline
      }
      var rules = loaded?.keys ?? KeyRules()
      for rule in keys {
        do { try rules.add(rule: rule) } catch { throw Failure(.usage, "--keys: \(error)") }
      }
      let paths = schema.isEmpty ? [loaded?.schema].compactMap { $0 } : schema
      let schema = paths.isEmpty ? nil : try SchemaFile.load(paths)
      if let schema { rules = SchemaFile.rules(rules, of: schema) }
      let documents = try DocumentSet(paths: files)
      let report = documents.report(against: schema, warnings: false)
      if report.hasErrors {
        try report.write(as: .human)
        throw Failure(.failed, "")
      }
      return try ManifestBuilder(
        documents: documents, keys: rules, facts: schema.map { TypeFacts($0) }
      )
      .operations()
    }
  }

  struct Build: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Write the manifest of the operations in documents.",
      discussion: """
        The manifest has Apollo's format. An id is the SHA-256 of exactly the text that gqlrun sends, \
        with its identifying fields: give the same --pipeline, --keys and --schema as to gqlrun run.

        EXAMPLE
          gqlrun manifest build --schema schema.graphql src/*.graphql -o manifest.json
        """)

    @ArgumentParser.Argument(help: "The documents.")
    var files: [String]

    @OptionGroup var textOptions: TextOptions

    @Option(
      name: .shortAndLong,
      help: ArgumentHelp("Write to a file instead of standard output.", valueName: "file"))
    var output: String?

    func run() async throws {
      try await reporting {
        let operations = try textOptions.operations(of: files)
        let manifest = PersistedQueryManifest(operations: operations)
        try SchemaCommand.write(manifest.apolloJSON.jsonText(pretty: true), to: output)
        if let output {
          Terminal.note(
            "\(output): \(operations.count) operation\(operations.count == 1 ? "" : "s")")
        }
      }
    }
  }

  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check a manifest by itself, and against documents.",
      discussion: """
        Reads Apollo's format, the older {"<id>": {"name", "source"}} and Relay's {"<id>": "text"}. \
        Every id must be the hash of its text; with documents, the manifest must have exactly their \
        operations. Exit code 1 when something differs, 65 when the file is no manifest.

        EXAMPLE
          gqlrun manifest verify manifest.json --schema schema.graphql src/*.graphql
        """)

    @ArgumentParser.Argument(help: "The manifest.")
    var manifest: String

    @ArgumentParser.Argument(help: "The documents it was built from.")
    var files: [String] = []

    @OptionGroup var textOptions: TextOptions

    func run() async throws {
      try await reporting {
        let value = try Input.json(manifest, "the manifest")
        let read: PersistedQueryManifest
        do {
          read = try PersistedQueryManifest(value)
        } catch {
          throw Failure(.badInput, "\(manifest): \(error)")
        }
        var problems = read.problems()
        if !files.isEmpty {
          problems += read.differences(from: try textOptions.operations(of: files))
        }
        for problem in problems { Terminal.note(Terminal.safe("\(manifest): \(problem)")) }
        let count = read.operations.count
        Terminal.note(
          "\(manifest): \(count) operation\(count == 1 ? "" : "s") (\(read.format.rawValue)), "
            + (problems.isEmpty
              ? "ok" : "\(problems.count) problem\(problems.count == 1 ? "" : "s")"))
        if !problems.isEmpty { throw Failure(.failed, "") }
      }
    }
  }
}

/// Makes a manifest's operations of documents.
struct ManifestBuilder {
  let documents: DocumentSet
  let keys: KeyRules
  let facts: TypeFacts?

  /// The operations in the order of the files, each with the text that is sent.
  ///
  /// - Throws: ``Failure`` for operations without a name, or with that of another.
  func operations() throws -> [PersistedQueryManifest.Operation] {
    var result: [PersistedQueryManifest.Operation] = []
    var places: [String: String] = [:]
    for (index, file) in documents.sources.files.enumerated() {
      let document = documents.document(at: index)
      for operation in documents.documents[index].operations {
        let location = documents.sources.local(operation.location)
        guard let name = operation.name?.value else {
          throw Failure(
            .badInput,
            Input.located(
              "an operation of a manifest needs a name: \(operation.type.rawValue) Name { … }",
              at: location, in: file.bytes, name: file.name))
        }
        let place = "\(file.name):\(location.line)"
        if let first = places.updateValue(place, forKey: name) {
          throw Failure(
            .badInput,
            Input.located(
              "the operation \(name) is also defined at \(first); names of a manifest are unique",
              at: location, in: file.bytes, name: file.name))
        }
        do {
          let text = try PreparedOperation.sentDocument(
            of: document, operationName: name, keys: keys, facts: facts)
          result.append(.init(body: text, name: name, type: operation.type))
        } catch {
          throw Failure(.badInput, "\(file.name): \(error)")
        }
      }
    }
    return result
  }
}

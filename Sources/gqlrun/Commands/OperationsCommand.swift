import ArgumentParser
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport

struct OperationsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "operations",
    abstract: "Write and verify operation manifests, the lists of persisted queries.",
    discussion: """
      EXAMPLES
        gqlrun operations manifest --schema schema.graphql country.graphql \\
          -o ops.json
        gqlrun operations verify ops.json --schema schema.graphql country.graphql
      """,
    subcommands: [Manifest.self, Verify.self])

  /// The options that determine the sent text of operations and thereby their ids.
  struct TextOptions: ParsableArguments {
    @Option(
      help: ArgumentHelp(
        "Key fields of a type, instead of id. May be repeated, once for each type.",
        valueName: "Type=field,field"))
    var keys: [String] = []

    @Option(
      help: ArgumentHelp(
        "Schema; validates the documents, and adds key fields to the operations. May be repeated.",
        valueName: "file"))
    var schema: [String] = []

    @Option(
      name: .shortAndLong,
      help: ArgumentHelp(
        "Pipeline file that the operations are run with; provides keys, and the schema unless --schema "
          + "names one.", valueName: "file"))
    var pipeline: String?

    /// The operations of the files, each with the text that is sent.
    func operations(of files: [String]) throws -> [OperationManifest.Operation] {
      let loaded = try pipeline.map {
        try PipelineFile.look(at: $0, environment: .gqlrun(endpoint: nil))
      }
      let (rules, schema) = try SchemaFile.rules(of: loaded, schema: schema, flags: keys)
      let schemaFiles = self.schema.isEmpty ? [loaded?.schema].compactMap { $0 } : self.schema
      let documents = try DocumentSet(paths: try Project.expanded(files, without: schemaFiles))
      let report = documents.report(against: schema, warnings: false)
      if report.hasErrors {
        try report.write(as: .human)
        throw Failure(.failed, "")
      }
      return try documents.manifestOperations(keys: rules, facts: schema.map { TypeFacts($0) })
    }
  }

  struct Manifest: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "manifest",
      abstract: "Write the operation manifest of documents.",
      discussion: """
        Writes Apollo's format. An id is the SHA-256 of the text that gqlrun sends, which includes key \
        fields: use the same --pipeline, --keys and --schema as for `gqlrun run`.

        EXAMPLE
          gqlrun operations manifest --schema schema.graphql country.graphql \\
            -o ops.json
        """)

    @ArgumentParser.Argument(help: "GraphQL documents, or patterns such as 'src/**/*.graphql'.")
    var files: [String]

    @OptionGroup var textOptions: TextOptions

    @Option(
      name: .shortAndLong,
      help: ArgumentHelp(
        "File to write instead of standard output, which is -; replaces an operation manifest, another file with "
          + "--overwrite.", valueName: "file"))
    var output: String?

    @OptionGroup var replace: ReplaceOptions

    func run() async throws {
      let output = OutputFile.path(output)
      let operations = try textOptions.operations(of: files)
      let manifest = OperationManifest(operations: operations)
      try SchemaCommand.write(
        manifest.apolloJSON.jsonText(pretty: true), to: output,
        replacing: replace.replacing(.operationManifest))
      if let output {
        Terminal.note("\(output): \(Quantity.count(operations.count, "operation"))")
      }
    }
  }

  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify",
      abstract: "Check an operation manifest, and compare it with documents.",
      discussion: """
        Reads Apollo's format, the older {"<id>": {"name", "source"}} and Relay's {"<id>": "text"}. \
        Every id must be the hash of its text; with documents, the operation manifest must have exactly \
        their operations. Exit code 1 if something differs, 65 if the file is not an operation manifest.

        EXAMPLE
          gqlrun operations verify ops.json --schema schema.graphql country.graphql
        """)

    @ArgumentParser.Argument(help: "Operation manifest.")
    var manifest: String

    @ArgumentParser.Argument(help: "GraphQL documents that it was built from, or patterns.")
    var files: [String] = []

    @OptionGroup var textOptions: TextOptions

    func run() async throws {
      let read = try OperationManifest(path: manifest)
      var problems = read.problems()
      if !files.isEmpty {
        problems += read.differences(from: try textOptions.operations(of: files))
      }
      for problem in problems { Terminal.note(Terminal.safe("\(manifest): \(problem)")) }
      Terminal.note(
        "\(manifest): \(Quantity.count(read.operations.count, "operation")) "
          + "(\(read.format.rawValue)), "
          + (problems.isEmpty ? "ok" : Quantity.count(problems.count, "problem")))
      if !problems.isEmpty { throw Failure(.failed, "") }
    }
  }
}

extension OperationManifest {
  /// Reads an operation manifest.
  ///
  /// - Throws: ``Failure`` if the file cannot be read, or is none.
  init(path: String) throws {
    let value = try Input.json(path, "the operation manifest")
    do {
      try self.init(value)
    } catch {
      throw Failure(.badInput, "\(path): \(error)")
    }
  }
}

/// The former spelling of ``OperationsCommand``: `manifest build` and `manifest verify`.
struct ManifestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manifest",
    abstract: "The former name of gqlrun operations.",
    shouldDisplay: false,
    subcommands: [Build.self, Verify.self])

  struct Build: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "build",
      abstract: "The former name of gqlrun operations manifest.")

    @OptionGroup var replacement: OperationsCommand.Manifest

    func run() async throws {
      ManifestCommand.warn("gqlrun manifest build", replacement: "gqlrun operations manifest")
      try await replacement.run()
    }
  }

  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify",
      abstract: "The former name of gqlrun operations verify.")

    @OptionGroup var replacement: OperationsCommand.Verify

    func run() async throws {
      ManifestCommand.warn("gqlrun manifest verify", replacement: "gqlrun operations verify")
      try await replacement.run()
    }
  }

  private static func warn(_ old: String, replacement: String) {
    Terminal.note("warning: `\(old)` is deprecated; use `\(replacement)`")
  }
}

extension DocumentSet {
  /// The entries of an operation manifest in the order of the files, each with the text that is sent.
  ///
  /// - Throws: ``Failure`` if an operation has no name or the name of an earlier one.
  func manifestOperations(
    keys: KeyRules, facts: TypeFacts?
  ) throws -> [OperationManifest.Operation] {
    var result: [OperationManifest.Operation] = []
    var definitions: [String: String] = [:]
    for (index, file) in sources.files.enumerated() {
      var named: [(name: String, type: OperationType)] = []
      for operation in documents[index].operations {
        let location = sources.local(operation.location)
        guard let name = operation.name?.value else {
          throw Failure(
            "an operation of an operation manifest needs a name: \(operation.type.rawValue) Name { … }",
            at: location, in: file.bytes, name: file.name)
        }
        let definition = "\(file.name):\(location.line)"
        if let first = definitions.updateValue(definition, forKey: name) {
          throw Failure(
            "the operation \(name) is also defined at \(first); names in an operation manifest are unique",
            at: location, in: file.bytes, name: file.name)
        }
        named.append((name, operation.type))
      }
      // Fragments that no operation uses are not looked at.
      if named.isEmpty { continue }
      do {
        let texts = try PreparedOperation.sentDocuments(
          of: document(at: index), keys: keys, facts: facts)
        for (operation, text) in zip(named, texts) {
          result.append(.init(body: text, name: operation.name, type: operation.type))
        }
      } catch {
        throw Failure(.badInput, "\(file.name): \(error)")
      }
    }
    return result
  }
}

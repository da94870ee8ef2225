public import ArgumentParser
public import Cache
import Foundation
import JSONStream

struct CacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "Look into a cache, fill it from a file, answer an operation from it.",
    subcommands: [
      Import.self, Read.self, Dump.self, Get.self, Stats.self, Clear.self,
    ])

  struct StoreOptions: ParsableArguments {
    @Option(
      name: .long,
      help: ArgumentHelp(
        "Where the records are: memory (gone with this command) or sqlite:PATH.",
        valueName: "memory|sqlite:PATH"))
    var store: StoreChoice = .memory
  }

  struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Normalize the response of an operation into a cache.",
      discussion: """
        The response is read as a stream: a large file needs no more memory than a small one. Into \
        memory the import is measured and forgotten.
        """)

    @Argument(help: "The GraphQL document the response belongs to.")
    var document: String
    @Argument(help: "The response, a JSON file; - is standard input.")
    var response: String
    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var operationOptions: OperationOptions
    @Option(
      name: .long,
      help: "What becomes of nulls that stand for errors: skip-errored, discard or keep.")
    var onErrors = ErrorPolicy.skipErrored

    func run() async throws {
      try await reporting {
        let operation = try operationOptions.prepare(document)
        let file = try InputFile(response, "the response")
        let store = try storeOptions.store.open()
        var options = ResponseNormalizer.Options()
        options.wantsResult = false
        options.errorPolicy = onErrors
        let start = ContinuousClock.now
        let normalizer = try ResponseNormalizer(operation, store: store, options: options)
        let summary: WriteSummary?
        let normalized: NormalizedResponse
        do {
          while let chunk = try file.next() {
            try normalizer.feed(chunk)
            if normalizer.needsFlush { try await normalizer.flush() }
          }
          normalized = try await normalizer.finish()
          summary = try await normalized.write?.commit()
        } catch let error as CacheError {
          await normalizer.abandon()
          var failure = Failure(error)
          failure.message = "\(response): \(failure.message)"
          throw failure
        }
        let seconds = (ContinuousClock.now - start).seconds
        if let store = store as? SQLiteStore { try await store.checkpoint() }
        report(normalized, summary, seconds)
      }
    }

    private func report(
      _ response: NormalizedResponse, _ summary: WriteSummary?, _ seconds: Double
    ) {
      let statistics = response.statistics
      let summary = summary ?? WriteSummary()
      let records = summary.newRecords + summary.changedRecords + summary.unchangedRecords
      Terminal.note(
        "imported \(records) records (\(summary.newRecords) new, \(summary.changedRecords) changed, "
          + "\(summary.unchangedRecords) unchanged), \(statistics.fields) fields, "
          + "\(statistics.bytes) bytes in \(Format.milliseconds(seconds)), "
          + "\(Format.rate(bytes: statistics.bytes, seconds: seconds))")
      if statistics.unknownFields > 0 {
        Terminal.warning(
          "\(statistics.unknownFields) fields of the response are not asked for by the operation; "
            + "they were left out")
      }
      for diagnostic in response.diagnostics.sorted(by: { $0.description < $1.description }) {
        Terminal.note("note: " + Terminal.safe(diagnostic.description))
      }
      if !response.errors.isEmpty {
        Terminal.warning(
          "the response has \(response.errors.count) errors; on-errors is \(onErrors.rawValue)")
      }
    }
  }

  struct Read: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Answer an operation from a cache; exit code 3 when a field is missing.")

    @Argument(help: "The GraphQL document; - is standard input.")
    var document: String
    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var operationOptions: OperationOptions
    @OptionGroup var outputOptions: OutputOptions

    func run() async throws {
      try await reporting {
        let operation = try operationOptions.prepare(document)
        let store = try storeOptions.store.open(mustExist: true)
        switch try await store.read(operation) {
        case .miss(let miss): throw Failure(.cacheMiss, "\(miss)")
        case .hit(let data):
          let writer = try outputOptions.writer()
          try writer.write { write in
            try Array(#"{"data":"#.utf8).withUnsafeBytes { try write($0) }
            try data.forEachChunk(write)
            try Array("}".utf8).withUnsafeBytes { try write($0) }
          }
          try writer.finish()
        }
      }
    }
  }

  struct Dump: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print every record, one JSON object per line, sorted by key.")

    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var operationOptions: OperationOptions

    func run() async throws {
      try await reporting {
        let store = try storeOptions.store.open(mustExist: true)
        try await store.dump { try Terminal.write($0) }
      }
    }
  }

  struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print one record, such as User:1 or QUERY_ROOT.")

    @Argument(help: "The record's key.")
    var key: String
    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var operationOptions: OperationOptions

    func run() async throws {
      try await reporting {
        let store = try storeOptions.store.open(mustExist: true)
        guard let text = try await store.record(forKey: key) else {
          throw Failure(.failed, "the cache has no record \(key); `gqlrun cache dump` shows all keys")
        }
        try Terminal.write(text + "\n")
      }
    }
  }

  struct Stats: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print how many records of which type there are, and their size.")

    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var operationOptions: OperationOptions

    func run() async throws {
      try await reporting {
        let store = try storeOptions.store.open(mustExist: true)
        let statistics = try await store.statistics()
        var lines = [
          "records   \(statistics.records)", "bytes     \(statistics.bytes)",
          "segments  \(statistics.segments)",
        ]
        if let fileBytes = statistics.fileBytes { lines.append("file      \(fileBytes)") }
        let width = statistics.types.keys.map(\.count).max() ?? 0
        if !statistics.types.isEmpty {
          lines.append("")
          lines.append("\(Format.padded("TYPE", width))  \(Format.leading("RECORDS", 10))  \(Format.leading("BYTES", 12))")
        }
        for (type, counts) in statistics.types.sorted(by: { $0.key < $1.key }) {
          lines.append(
            "\(Format.padded(type, width))  \(Format.leading("\(counts.records)", 10))  "
              + Format.leading("\(counts.bytes)", 12))
        }
        try Terminal.write(Terminal.safe(lines.joined(separator: "\n")) + "\n")
      }
    }
  }

  struct Clear: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Remove every record.")

    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var operationOptions: OperationOptions

    func run() async throws {
      try await reporting {
        let store = try storeOptions.store.open(mustExist: true)
        try await store.clear()
        Terminal.note("cleared")
      }
    }
  }
}

extension ErrorPolicy: ExpressibleByArgument {}

/// How results are written.
struct OutputOptions: ParsableArguments {
  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Indent the result. The default is to indent on a terminal only.")
  var pretty: Bool?
  @Flag(name: .long, help: "Write each result on one line, also on a terminal.")
  var compact = false
  @Option(name: .shortAndLong, help: "Write the result to a file, which appears when it is complete.")
  var output: String?

  /// - Parameter linePerResult: Several results are expected; they stand on a line each unless
  ///   indenting is asked for.
  func writer(linePerResult: Bool = false) throws -> ResultWriter {
    let isPretty =
      compact
      ? false : (pretty ?? (output == nil && Terminal.isOutputTerminal && !linePerResult))
    return try ResultWriter(isPretty: isPretty, path: output)
  }
}

/// Numbers as people read them.
enum Format {
  static func milliseconds(_ seconds: Double) -> String {
    seconds < 10
      ? String(format: "%.1f ms", seconds * 1e3) : String(format: "%.1f s", seconds)
  }

  static func rate(bytes: Int, seconds: Double) -> String {
    String(format: "%.1f MB/s", Double(bytes) / 1e6 / max(seconds, 1e-9))
  }

  static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(width - text.count, 0))
  }

  static func leading(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(width - text.count, 0)) + text
  }
}

extension Duration {
  var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}

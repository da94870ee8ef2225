import ArgumentParser
import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport

extension PipelineCommand {
  struct Test: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "test",
      abstract: "Run the tests in pipeline files.",
      discussion: """
        Runs the chain of the file against the responses of each test, with an empty memory cache and \
        a simulated clock: delays take no time, and nothing is sent. Variables that are not set, such as \
        GQL_URL, are an error unless the file has a default for them. Exit code 1 if a test fails, or if \
        --filter matches none; 78 if a file is invalid, after the tests of the others.

        Starts no programs, and writes nothing outside of the file's repository: ${exec:…} is not expanded, \
        tokens are those of the test, and requests pass plugins that would do so unchanged. --allow-exec \
        allows both.

        EXAMPLES
          gqlrun pipeline test tested.pipeline.yaml
          gqlrun pipeline test --filter retry tested.pipeline.yaml
        """)

    @Argument(help: "Pipeline files.")
    var files: [String]

    @Option(
      help: ArgumentHelp("Run only the tests whose name contains this text.", valueName: "text"))
    var filter: String?

    @Option(help: ArgumentHelp("Output format.", valueName: "format"))
    var format = FindingFormat.human

    @OptionGroup var trust: TrustOptions

    func run() async throws {
      var rows: [JSONValue] = []
      var failed = 0
      var count = 0
      var invalid = 0
      for file in files {
        let pipeline: Pipeline
        do {
          pipeline = try load(file)
        } catch let diagnostics as PipelineDiagnostics {
          // The other files are tested.
          diagnostics.show()
          invalid += 1
          continue
        }
        if pipeline.tests.isEmpty {
          Terminal.warning("\(file): there are no tests; declare them under `tests`")
        }
        for test in pipeline.tests
        where filter.map({ $0.isEmpty || test.name.contains($0) }) ?? true {
          let result = await test.run(pipeline, equipment: .gqlrun)
          count += 1
          if !result.failures.isEmpty { failed += 1 }
          switch format {
          case .human: tell(test, result)
          case .github: try annotate(test, result)
          case .json: rows.append(json(test, result))
          }
        }
      }
      if let filter, !filter.isEmpty, count == 0, invalid == 0 {
        throw Failure(.failed, "no test has a name that contains \(filter)")
      }
      if format == .json {
        try Terminal.write(JSONValue.array(rows).jsonText(pretty: true) + "\n")
      } else {
        Terminal.note(
          "\(Quantity.count(count, "test")), "
            + (failed == 0 ? "none failed" : "\(failed) failed")
            + (invalid == 0 ? "" : "; \(Quantity.count(invalid, "file")) invalid"))
      }
      if invalid > 0 { throw Failure(.badPipeline, "") }
      if failed > 0 { throw Failure(.failed, "") }
    }

    /// Loads a pipeline file, without entries that start programs or write elsewhere, unless that is allowed.
    private func load(_ file: String) throws -> Pipeline {
      var pipeline = try PipelineFile.inspected(file, runsPrograms: trust.allowsAll)
      guard !trust.allowsAll else { return pipeline }
      var passed: [String] = []
      for (index, entry) in pipeline.entries.enumerated()
      where !entry.programs.isEmpty || entry.outputs.contains(where: \.isOutside) {
        guard !entry.traits.contains(.takesTestTokens) else { continue }
        pipeline.entries[index].parts = []
        passed.append(entry.id)
      }
      if !passed.isEmpty {
        Terminal.hint(
          "\(file): requests pass \(passed.joined(separator: ", ")) unchanged, as tests start no "
            + "programs, and write nothing outside of the repository; --allow-exec allows both")
      }
      return pipeline
    }

    private func tell(_ test: PipelineTest, _ result: PipelineTestResult) {
      let isGood = result.failures.isEmpty
      Terminal.note(
        Terminal.styled(isGood ? "ok  " : "FAIL", isGood ? .green : .red) + "  "
          + Terminal.safe(test.name)
          + "  (\(Quantity.count(result.requests, "request")), \(result.time.optionText))")
      for failure in result.failures {
        Terminal.note("      " + Terminal.safe("\(failure.location): \(failure.message)"))
      }
    }

    private func annotate(_ test: PipelineTest, _ result: PipelineTestResult) throws {
      for failure in result.failures {
        try Terminal.write(
          PipelineDiagnostic(
            .wrongValue, "the test \"\(test.name)\" failed: \(failure.message)",
            at: failure.location
          ).githubCommand(title: "pipeline test"))
      }
    }

    private func json(_ test: PipelineTest, _ result: PipelineTestResult) -> JSONValue {
      .object([
        "file": .string(test.location.file), "line": .number(JSONNumber(test.location.line)),
        "name": .string(test.name), "passed": .boolean(result.failures.isEmpty),
        "requests": .number(JSONNumber(result.requests)),
        "failures": .array(
          result.failures.map {
            .object([
              "line": .number(JSONNumber($0.location.line)), "message": .string($0.message),
            ])
          }),
      ])
    }
  }
}

extension PipelineTest.Equipment {
  /// The test support of the built-in plugins.
  static var gqlrun: PipelineTest.Equipment {
    PipelineTest.Equipment(
      prepare: { test, services in services[TokenScript.self] = TokenScript(test.tokens) },
      refreshes: { await $0[TokenScript.self]?.renewals },
      readFile: { try Input.bytes($0, "the document") })
  }
}

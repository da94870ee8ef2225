import Foundation
import GQLRunJSON
import GQLRunTestSupport
import Testing

@Suite("gqlrun pipeline", .timeLimit(.minutes(10)))
struct PipelineCommandTests {
  private func run(_ line: String, _ folder: Folder) async throws -> RunResult {
    try await Program.run(line.split(separator: " ").map { String($0) }, in: folder)
  }

  private static let readyMade =
    ((try? FileManager.default.contentsOfDirectory(atPath: Repository.root + "/pipelines")) ?? [])
    .filter { $0.hasSuffix(".pipeline.yaml") }.sorted()

  @Test("pipelines/pipeline.schema.json is what the program says: make generated")
  func schema() async throws {
    let folder = try Folder()
    let result = try await run("pipeline schema", folder)
    #expect(result.output == Repository.text("pipelines/pipeline.schema.json"))
    let schema = try JSONValue(parsing: result.output)
    #expect(schema["properties"]?["chain"]?["items"]?["anyOf"]?.arrayValue?.count == 2)
  }

  /// Held by a validator that others wrote, where there is one.
  @Test("the schema accepts the ready-made files and refuses what check refuses")
  func schemaAgrees() async throws {
    let folder = try Folder()
    let probe = try await Program.shell(
      "python3 -c 'import yaml; from jsonschema import Draft202012Validator'", in: folder)
    guard probe.status == 0 else {
      print("skipped: python3 has no yaml, or no jsonschema of 2020-12")
      return
    }
    let script = """
      import json, sys, yaml, jsonschema
      schema = json.load(open(sys.argv[1]))
      for name in sys.argv[2:]:
          errors = list(jsonschema.Draft202012Validator(schema).iter_errors(yaml.safe_load(open(name))))
          print(len(errors) == 0)
      """
    try folder.write(script, to: "validate.py")
    let files = Self.readyMade.map { "\(Repository.root)/pipelines/\($0)" }.joined(separator: " ")
    let result = try await Program.shell(
      "python3 validate.py \(Repository.root)/pipelines/pipeline.schema.json \(files) typo.pipeline.yaml plugin.pipeline.yaml",
      in: folder)
    let expected = Self.readyMade.map { _ in "True" } + ["False", "False"]
    #expect(result.output.split(separator: "\n").map(String.init) == expected, "\(result)")
  }
}

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

  @Test("new writes every ready-made file under its own name, and never over another")
  func new() async throws {
    let folder = try Folder()
    #expect(Self.readyMade.count >= 4)
    for name in Self.readyMade {
      let stem = name.replacing(".pipeline.yaml", with: "")
      let result = try await run("pipeline new my-\(stem) --from \(stem)", folder)
      #expect(result.status == 0, "\(result)")
      let original = try String(
        contentsOfFile: "\(Repository.root)/pipelines/\(name)", encoding: .utf8)
      #expect(
        try folder.text("my-\(name)")
          == original.replacing("\nname: \(stem)\n", with: "\nname: my-\(stem)\n"),
        "run `make generated`")
    }
    let check = try await run("pipeline check my-default.pipeline.yaml", folder)
    #expect(check.status == 0, "\(check)")
    try folder.write("mine", to: "taken.pipeline.yaml")
    let taken = try await run("pipeline new taken.pipeline.yaml", folder)
    #expect(taken.status == 1 && taken.errors.contains("already exists"), "\(taken)")
    #expect(try folder.text("taken.pipeline.yaml") == "mine")
    let unknown = try await run("pipeline new x --from nothing", folder)
    #expect(unknown.status == 64 && unknown.errors.contains("default"), "\(unknown)")
    #expect(!folder.exists("x.pipeline.yaml"))
  }

  @Test("pipelines/pipeline.schema.json is what the program says: make generated")
  func schema() async throws {
    let folder = try Folder()
    let result = try await run("pipeline schema", folder)
    let file = try String(
      contentsOfFile: Repository.root + "/pipelines/pipeline.schema.json", encoding: .utf8)
    #expect(result.output == file)
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

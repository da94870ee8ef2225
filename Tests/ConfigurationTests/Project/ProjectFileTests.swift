import Foundation
import HTTPTypes
import Testing

@testable import GQLRunConfiguration

@Suite("Project files")
struct ProjectFileTests {
  private func load(_ text: String) throws(PipelineDiagnostics) -> ProjectFile {
    try ProjectFile.load(
      Array(text.utf8), file: "p/graphql.config.yml", environment: testEnvironment)
  }

  private func errors(_ text: String) -> [String] {
    do throws(PipelineDiagnostics) {
      _ = try load(text)
      return []
    } catch {
      return error.errors.map { "\($0.location.line):\($0.location.column): \($0.message)" }
    }
  }

  @Test("schema, documents and endpoints are read")
  func keys() throws {
    let file = try load(
      """
      schema: [a.graphql, "b/*.graphql"]
      documents: src/**/*.graphql
      exclude: src/old/**
      extensions:
        endpoints:
          default: { url: "https://x.example/graphql", headers: { Authorization: "Bearer ${TOKEN}" } }
          dev: "http://localhost:${PORT:4000}"
        codegen: { anything: [goes] }
      """)
    let project = try #require(file.projects.first)
    #expect(file.projects.count == 1)
    #expect(project.schema.map(\.value) == ["a.graphql", "b/*.graphql"])
    #expect(project.documents.map(\.value) == ["src/**/*.graphql", "!src/old/**"])
    #expect(project.endpoints.map(\.name) == ["default", "dev"])
    #expect(project.endpoints.first?.headers[.authorization] == "Bearer hunter2")
    #expect(project.endpoints.last?.url.value == "http://localhost:4000")
    #expect(file.warnings.all.isEmpty)
  }

  @Test("JSON is read as well")
  func json() throws {
    let file = try load("{\n\t\"schema\": \"s.graphql\",\n\t\"documents\": [\"a.graphql\"]\n}\n")
    #expect(file.projects.first?.documents.map(\.value) == ["a.graphql"])
  }

  @Test("several projects are read, also in the short form")
  func projects() throws {
    let file = try load("projects:\n  a: a.graphql\n  b: { schema: b.graphql, documents: b }\n")
    #expect(file.projects.map(\.name) == ["a", "b"])
    #expect(file.projects.flatMap { $0.schema.map(\.value) } == ["a.graphql", "b.graphql"])
  }

  @Test("what is wrong has its place")
  func located() {
    #expect(
      errors("schema: {a: &x 1}\n") == [
        "1:13: YAML anchors (`&name`) are not used in project files"
      ])
    #expect(errors("- a\n") == ["1:1: a project file is a mapping, not a list"])
    #expect(
      errors("schema: a\ndocuments: {a: b}\n").first?.hasPrefix("2:12: `documents` is text") == true
    )
    #expect(errors("schema: a\nschema: b\n") == ["2:1: `schema` is repeated"])
    #expect(errors("schema: ${NOPE}\n") == ["1:9: the variable `NOPE` is not set"])
    #expect(errors("endpoints: {x: {headers: {}}}\n") == ["1:13: the endpoint `x` has no `url`"])
    for name in ["X A", "Content-Length", "transfer-encoding"] {
      #expect(
        errors("endpoints: {x: {url: 'http://x/', headers: {\(name): a}}}\n") == [
          "1:45: `\(name)` cannot be sent as an HTTP field"
        ])
    }
    #expect(errors("") == ["1:1: the file is empty"])
  }

  @Test("two projects cannot write to one folder or manifest, also by another spelling")
  func sharedOutputs() {
    func errors(_ first: String, _ second: String) -> [String] {
      let projects = [("a", first), ("b", second)].map { name, settings in
        "  \(name): {schema: s.graphql, extensions: {gqlrun: {\(settings)}}}\n"
      }
      return self.errors("projects:\n" + projects.joined())
    }
    #expect(
      errors("output: A", "output: ./A/") == [
        "3:56: `./A/` is already an output of this file"
      ])
    #expect(
      errors("output: A, manifest: m.json", "output: B, manifest: m.json") == [
        "3:69: `m.json` is already an output of this file"
      ])
    #expect(
      errors("output: A, schema_output: S", "output: A/B, schema_output: S") == [
        "3:76: `S` is already an output of this file"
      ])
    #expect(
      errors("output: B, schema_output: A", "output: A") == [
        "3:56: `A` is already an output of this file"
      ])
    let folder = FileManager.default.currentDirectoryPath
    #expect(
      errors("output: A", "output: \(folder)/p/A") == [
        "3:56: `\(folder)/p/A` is already an output of this file"
      ])
    #expect(errors("output: A, schema_output: A", "output: B, schema_output: C") == [])
    #expect(errors("output: '${NONE:}'", "output: '${NONE:}'") == [])
  }

  @Test("an endpoint has at most a thousand header fields")
  func manyFields() {
    for (count, found) in [(1_000, []), (1_001, [true])] as [(Int, [Bool])] {
      let headers = (0..<count).map { "X-\($0): a" }.joined(separator: ", ")
      let errors = errors("endpoints: {x: {url: a, headers: {\(headers)}}}\n")
      #expect(errors.map { $0.hasSuffix("at most 1000 header fields") } == found, "\(errors)")
    }
  }

  @Test("unknown keys are warnings with a suggestion")
  func unknownKeys() throws {
    let file = try load("shema: a\n")
    #expect(file.warnings.warnings.map(\.hint) == ["did you mean `schema`?"])
  }

  @Test(
    "globs match what shells match",
    arguments: [
      ("*.graphql", "a.graphql", true), ("*.graphql", "b/a.graphql", false),
      ("**/*.graphql", "a.graphql", true), ("**/*.graphql", "b/c/a.graphql", true),
      ("src/**", "src/a/b", true), ("src/**", "lib/a", false), ("./src/*.gql", "src/a.gql", true),
      ("src/**/q/*.gql", "src/q/a.gql", true), ("src/**/q/*.gql", "src/x/q/y/q/a.gql", true),
      ("a?c", "abc", true), ("a?c", "ac", false), ("[a-c]x", "bx", true), ("[!a-c]x", "bx", false),
      ("*.{graphql,gql}", "a.gql", true), ("{a,b{c,d}}", "bd", true), ("{a,b{c,d}}", "b", false),
      ("*", ".hidden", false), (".*", ".hidden", true), ("*a*b*c", "xaybzc", true),
      ("*a*b*c", "xaybz", false), ("a*", "a", true),
    ])
  func globs(pattern: String, path: String, matches: Bool) {
    #expect(Glob.alternatives(of: pattern).contains { $0.matches(path) } == matches)
  }

  @Test(
    "a pattern without ** matches files in as many folders as it names",
    arguments: [
      ("*.graphql", 1), ("/*.graphql", 1), ("../*/a.graphql", 2), ("./src/[ab]/*.gql", 2),
      ("src/**/*.gql", Int.max), ("**", Int.max),
    ])
  func depths(pattern: String, depth: Int) {
    #expect(Glob.alternatives(of: pattern).map(\.maxDepth) == [depth])
  }

  @Test("patterns become the files of the project's folder, and the nearest file is found")
  func files() throws {
    let manager = FileManager.default
    let root = manager.temporaryDirectory.appendingPathComponent("project-\(UUID().uuidString)")
      .path
    defer { try? manager.removeItem(atPath: root) }
    for folder in ["src/deep", "src/old", "node_modules/x"] {
      try manager.createDirectory(atPath: "\(root)/\(folder)", withIntermediateDirectories: true)
    }
    for name in [
      "s.graphql", "src/a.graphql", "src/deep/b.graphql", "src/old/c.graphql",
      "node_modules/x/d.graphql",
    ] {
      #expect(manager.createFile(atPath: "\(root)/\(name)", contents: Data()))
    }
    let text = "schema: s.graphql\ndocuments: ['**/*.graphql', '!src/old/**', 'no/*.graphql']\n"
    #expect(manager.createFile(atPath: "\(root)/.graphqlrc", contents: Data(text.utf8)))
    let path = try #require(ProjectFile.find(from: "\(root)/src/deep"))
    #expect(path == "\(root)/.graphqlrc")
    let file = try ProjectFile.load(path: path)
    let found = file.files(try #require(file.projects.first).documents)
    #expect(
      found.files == ["s.graphql", "src/a.graphql", "src/deep/b.graphql"].map { "\(root)/\($0)" })
    #expect(found.unmatched.map(\.value) == ["no/*.graphql"])
    let (outside, unmatched) = ProjectFile.files(
      ["../d*/*.graphql", "\(root)/src/*.graphql", "../*/a.graphql", "*.graphql"],
      in: "\(root)/src/deep")
    #expect(
      outside
        == ["src/deep/../deep/b.graphql", "src/a.graphql"].map { "\(root)/\($0)" })
    #expect(unmatched == [2])
    // A pattern such as `/*.graphql` does not read all files of a computer.
    #expect(ProjectFile.tree(root, maxDepth: 1) == [".graphqlrc", "s.graphql"])
    #expect(
      ProjectFile.tree(root, maxDepth: 2) == [".graphqlrc", "s.graphql", "src/a.graphql"])
  }
}

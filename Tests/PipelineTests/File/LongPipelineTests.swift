import Testing

@testable import GQLRunPipeline

@Suite("Long pipeline files", .timeLimit(.minutes(10)))
struct LongPipelineTests {
  @Test("a chain of more than a thousand entries is refused with one finding")
  func chain() {
    let entries = String(repeating: "  - logging\n", count: 50_000)
    let found = check(file(chain: entries + "  - fetch\n  - parse"))
    #expect(
      found.errors.map(\.message) == ["`chain` has 50002 entries; at most 1000 are allowed"])
  }

  @Test("a thousand entries of one plugin get identifiers of their own")
  func identifiers() throws {
    let entries = String(repeating: "  - logging\n", count: 998)
    let found = check(file(chain: entries + "  - fetch\n  - parse"))
    #expect(found.errors.isEmpty, "\(found.summary)")
  }

  @Test("more than a thousand changes of an inherited chain are refused")
  func changes() {
    let base = file(chain: "  - fetch\n  - parse")
    var environment = testEnvironment
    environment.readFile = { _ in Array(base.utf8) }
    let changes = String(
      repeating: "  - logging: {}\n    insert: { before: fetch }\n", count: 5_000)
    let found = PipelineFile.check(
      Array("extends: ./base.pipeline.yaml\nchain:\n\(changes)".utf8), file: "x.pipeline.yaml",
      registry: TestPlugins.registry, environment: environment)
    #expect(
      found.errors.contains { $0.message.contains("at most 1000 entries") }, "\(found.summary)")
    #expect(found.errors.count < 10)
  }

  @Test("merging long mappings takes a few steps for each of their members")
  func merge() {
    func members(_ types: Range<Int>) -> [YAMLNode.Member] {
      let text = "types:\n" + types.map { "  T\($0): { max_age: 1s }\n" }.joined()
      var composer = YAMLComposer(text, source: SourceText(file: "x.yaml", text: text))
      guard case .mapping(let members)? = composer.compose()?.content else { return [] }
      return members
    }
    let count = 12_000
    var merge = PipelineMerge(registry: TestPlugins.registry, base: "base.pipeline.yaml")
    let merged = merge.members(
      members(0..<count), over: members(count / 2..<count * 3 / 2))
    guard case .mapping(let types)? = merged.first?.value.content else {
      Issue.record("no types in \(merged)")
      return
    }
    #expect(types.count == count * 3 / 2)
    #expect(merge.steps > count && merge.steps < 4 * count, "\(merge.steps)")
  }

  @Test("many unknown entries in tests are all reported, and the first have suggestions")
  func unknownEntries() {
    let names = (0..<2_000).map { "entry\($0): 1" }.joined(separator: ", ")
    let text = file(
      chain: "  - fetch\n  - parse",
      settings:
        "tests:\n  - name: a\n    operation: \"{ a }\"\n    expect: { stages: { \(names) } }\n")
    let unknown = check(text).all.filter { $0.code == .unknownStage }
    #expect(unknown.count == 2_000)
    #expect(unknown.count(where: { !$0.notes.isEmpty }) == 20)
  }
}

import GQLRunPipeline
import GQLRunPlugins
import Testing

@testable import GQLRunBatch

@Suite("Long manifests", .timeLimit(.minutes(10)))
struct LongManifestTests {
  /// Operations as JSON lines, each with the given members.
  private func manifest(_ count: Int, _ members: (Int) -> String) -> [UInt8] {
    var text = #"{"version":1,"endpoint":"http://127.0.0.1:9/"}"# + "\n"
    for number in 0..<count {
      text += #"{"id":"op\#(number)","query":"{ a }",\#(members(number))}"# + "\n"
    }
    return Array(text.utf8)
  }

  private func findings(_ bytes: [UInt8]) -> [PipelineDiagnostic] {
    do {
      _ = try ManifestLoader.load(
        bytes, path: "m.jsonl", registry: .builtIn,
        environment: PipelineFileEnvironment())
      return []
    } catch { return error.all }
  }

  @Test(
    "as many unknown needs as operations are all reported, and only the first are compared with them",
    arguments: [500, 1_500])
  func needs(count: Int) {
    let found = findings(manifest(count) { #""needs":["opp\#($0)"]"# })
    #expect(found.count == count)
    // A suggestion compares a name with those of all operations.
    #expect(found.count(where: { $0.hint != nil }) == 100)
  }

  @Test("the message about a long cycle of needs names its first operations")
  func circle() {
    let count = 700
    let found = findings(manifest(count) { #""needs":["op\#(($0 + 1) % count)"]"# })
    let message = found.first { $0.message.contains("need each other") }?.message ?? ""
    #expect(message.contains(" → … → op"), "\(message)")
    #expect(message.count < 500)
  }
}

import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

@Suite("Long manifests", .timeLimit(.minutes(5)))
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
        bytes, file: "m.jsonl", folder: ".", registry: .builtIn,
        environment: PipelineFileEnvironment())
      return []
    } catch { return error.all }
  }

  @Test(
    "as many unknown needs as operations take time in proportion, and the first have suggestions")
  func needs() {
    func time(_ count: Int) -> Duration {
      let bytes = manifest(count) { #""needs":["opp\#($0)"]"# }
      return processorTime {
        let found = findings(bytes)
        #expect(found.count == count)
        #expect(found.count(where: { $0.hint != nil }) == 100)
      }
    }
    let (short, long) = (time(500), time(4_000))
    // Eight times the length; sixty-four times the work if it were quadratic.
    #expect(long < short * 24 + .milliseconds(200), "\(short) \(long)")
  }

  @Test("the message about a long cycle of needs names its first operations")
  func circle() {
    let count = 2_000
    let found = findings(manifest(count) { #""needs":["op\#(($0 + 1) % count)"]"# })
    let message = found.first { $0.message.contains("need each other") }?.message ?? ""
    #expect(message.contains(" → … → op"), "\(message)")
    #expect(message.count < 500)
  }
}

import Foundation
import GQLRunDemoServer
import GQLRunJSON
import Testing

@Suite("gqlrun profile", .timeLimit(.minutes(10)))
struct ProfileCommandTests {
  @Test("fetched responses take the connection options of gqlrun run", .needsPython)
  func connection() async throws {
    let folder = try Folder()
    guard try await Front.certificates(in: folder) else { return }
    try await DemoServer.withServer { server in
      let profile = #""$GQLRUN" profile -d germany.graphql -e https://127.0.0.1:$FRONT/graphql"#
      let result = try await Front.shell(
        "tls", port: server.port,
        """
        once="--runs 1 --warmup 0 --no-baselines --no-shape"
        \(profile) $once 2> refused; echo $?
        printf 'X-A: b\\n' | \(profile) --runs 2 --no-baselines --cacert server.pem -H @- > trusted; echo $?
        \(profile) -k --timeout 5m --proxy '' --rate 20 --duration 200ms > load; echo $?
        \(profile) $once -k --token-env ABSENT 2> token || echo refused
        """, in: folder)
      #expect(result.output == "69\n0\n0\nrefused\n", "\(result)")
      #expect(try folder.text("refused").contains("--cacert"))
      #expect(try folder.text("token").contains("the variable ABSENT"))
      #expect(try folder.text("trusted").contains("fetched through"))
    }
  }

  @Test("the peak of the memory is that of the measured process, however large its parent is")
  func peakIsItsOwn() async throws {
    let folder = try Folder()
    try folder.write(#"{"data":{"a":1}}"#, to: "r.json")
    // Every page is touched, so that all of it is resident when the program is started.
    let large = [UInt8](repeating: 1, count: 300 << 20)
    let result = try await Program.run(
      ["profile-run", "--kind", "floor", "--file", "r.json"], in: folder)
    #expect(large.last == 1)
    #expect(result.status == 0, "\(result)")
    let peak = try JSONValue(parsing: result.output)["peakBytes"]?.intValue
    #expect(try #require(peak) < 200 << 20)
  }

  @Test(
    "an interrupted load is reported with the requests or events until then, and ends with 130",
    arguments: [
      ("load", "{ countries { code } }", ["--rate", "50"], 20),
      ("subscription", "subscription { countdown(from: 100000) }", ["--subscribe"], 1),
    ])
  func interruptedLoad(
    section: String, document: String, kind: [String], requests: Int
  ) async throws {
    let folder = try Folder()
    try folder.write(document, to: "q.graphql")
    try await DemoServer.withServer { server in
      let options = kind + ["--duration", "10m", "--json", "r.json"]
      let result = try await Program.run(
        ["profile", "-d", "q.graphql", "-e", server.url] + options, in: folder
      ) { id in
        await server.log.requests(requests)
        kill(id, SIGINT)
      }
      #expect(result.status == 130, "\(result)")
      #expect(result.output.contains("warning: interrupted: the figures are those"), "\(result)")
      let load = try #require(try JSONValue(parsing: folder.text("r.json"))[section])
      #expect(load["isInterrupted"] == true)
      let steps = load["steps"]?.arrayValue?.count ?? 0
      #expect((1..<600).contains(steps))
    }
  }
}

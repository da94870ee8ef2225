import Foundation
import GQLRunDemoServer
import GQLRunJSON
import Testing

@Suite("gqlrun profile", .timeLimit(.minutes(10)))
struct ProfileCommandTests {
  @Test("a generated response is measured with two stores and reported in every format")
  func generated() async throws {
    let folder = try Folder()
    let before = Set(try FileManager.default.contentsOfDirectory(atPath: folder.path))
    let result = try await Program.run(
      [
        "profile", "--generate", "feed:20", "--store", "memory", "--store", "sqlite:my.db",
        "--runs", "2", "--warmup", "0", "--json", "r.json", "--html", "r.html", "--trace",
        "t.json", "--folded", "f.txt", "--prometheus", "p.txt",
      ], in: folder)
    #expect(result.status == 0, "\(result)")
    #expect(result.output.contains("store memory"))
    #expect(result.output.contains("store sqlite:my.db"))
    #expect(result.output.contains("bottleneck:"))
    #expect(result.output.contains("JSONSerialization"))
    #expect(result.output.contains("Comment"))
    let report = try JSONValue(parsing: folder.text("r.json"))
    #expect(report["version"]?.numberValue?.text == "1")
    #expect(report["jobs"]?.arrayValue?.count == 2)
    #expect(report["jobs"]?[0]?["times"]?.arrayValue?.count == 2)
    #expect(try folder.text("r.html").contains("<svg"))
    #expect(try folder.text("p.txt").contains("gqlrun_profile_job_seconds"))
    // The file that was named is not made; those that were are gone.
    let left = Set(try FileManager.default.contentsOfDirectory(atPath: folder.path))
    #expect(left.subtracting(before) == ["f.txt", "p.txt", "r.html", "r.json", "t.json"])
  }

  @Test(
    "fetched responses take the connection options of gqlrun run",
    .enabled(if: Python.isThere, "there is no python3"))
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
        \(profile) -k --timeout 20s --proxy '' --rate 20 --duration 200ms > load; echo $?
        \(profile) $once -k --token-env ABSENT 2> token || echo refused
        """, in: folder)
      #expect(result.output == "69\n0\n0\nrefused\n", "\(result)")
      #expect(try folder.text("refused").contains("--cacert"))
      #expect(try folder.text("token").contains("the variable ABSENT"))
      #expect(try folder.text("trusted").contains("fetched through"))
    }
  }

  @Test("a report is compared with an earlier one and with budgets")
  func comparison() async throws {
    let folder = try Folder()
    let first = try await Program.run(
      [
        "profile", "--generate", "feed:5", "--runs", "1", "--warmup", "0", "--no-baselines",
        "--no-shape", "--json", "a.json",
      ], in: folder)
    #expect(first.status == 0, "\(first)")
    let second = try await Program.run(
      [
        "profile", "--generate", "feed:5", "--runs", "1", "--warmup", "0", "--no-baselines",
        "--no-shape", "--compare", "a.json", "--budget", "total<=1us", "--budget", "peak<=10GiB",
      ], in: folder)
    #expect(second.status == 1, "\(second)")
    #expect(second.output.contains("against a.json"))
    #expect(second.errors.contains("memory: total<=1us is not met"))
    #expect(!second.errors.contains("peak"))
  }

  @Test("a response and a document are read from standard input and from pipes")
  func standardInput() async throws {
    let folder = try Folder()
    let response = #"{"data":{"feed":{"__typename":"PostConnection","totalCount":1}}}"#
    try folder.write("{ feed(first: 1) { totalCount } }", to: "q.graphql")
    try folder.write(response, to: "r.json")
    let options = ["--runs", "1", "--warmup", "0", "--no-baselines"]
    let piped = try await Program.run(
      ["profile", "--file", "-", "--document", "q.graphql"] + options, in: folder, input: response)
    #expect(piped.status == 0, "\(piped)")
    #expect(piped.output.hasPrefix("the anonymous query, stdin, 64 bytes"))
    let document = try await Program.run(
      ["profile", "--file", "r.json", "--document", "-"] + options, in: folder,
      input: "{ feed(first: 1) { totalCount } }")
    #expect(document.status == 0, "\(document)")
    let fifo = try await Program.shell(
      #""$GQLRUN" profile --file <(cat r.json) -d q.graphql --runs 1 --warmup 0"#, in: folder)
    #expect(fifo.status == 0, "\(fifo)")
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

  @Test("standard output holds one report and nothing else, when asked for")
  func standardOutput() async throws {
    let folder = try Folder()
    let options = ["--generate", "feed:5", "--runs", "1", "--warmup", "0", "--no-baselines"]
    let json = try await Program.run(["profile"] + options + ["--json", "-"], in: folder)
    let job = try JSONValue(parsing: json.output)["jobs"]?[0]
    #expect(job?["allocations"]?["median"]?.intValue ?? 0 > 0)
    let folded = try await Program.run(["profile"] + options + ["--folded", "-"], in: folder)
    #expect(folded.output.split(separator: "\n").allSatisfy { $0.hasPrefix("gqlrun;memory;") })
  }

  @Test("what was made is kept where it is asked for, and measured again from there")
  func keeping() async throws {
    let folder = try Folder()
    let made = try await Program.run(
      [
        "profile", "--generate", "feed:5", "--keep", "kept", "--runs", "1", "--warmup", "0",
        "--no-baselines",
      ], in: folder)
    #expect(made.status == 0, "\(made)")
    let again = try await Program.run(
      [
        "profile", "--file", "kept/response.json", "--document", "kept/feed.graphql", "--var",
        "first=5", "--runs", "1", "--warmup", "0", "--no-baselines",
      ], in: folder)
    #expect(again.status == 0, "\(again)")
    #expect(!again.output.contains("note:"))
  }

  @Test("a response with errors only is profiled, and the report has a note")
  func errorsOnly() async throws {
    let folder = try Folder()
    try folder.write(#"{"errors":[{"message":"no"}]}"#, to: "response.json")
    try folder.write("{ feed(first: 1) { totalCount } }", to: "q.graphql")
    let result = try await Program.run(
      ["profile", "--file", "response.json", "--document", "q.graphql", "--runs", "1"], in: folder
    )
    #expect(result.status == 0, "\(result)")
    #expect(result.output.contains("has 1 error"))
    #expect(result.output.contains("no data"))
  }

  @Test("an interrupted load is reported with the requests until then, and ends with 130")
  func interruptedLoad() async throws {
    let folder = try Folder()
    try folder.write("{ countries { code } }", to: "q.graphql")
    try await DemoServer.withServer { server in
      let options = ["--rate", "50", "--duration", "10m", "--json", "r.json"]
      let result = try await Program.run(
        ["profile", "-d", "q.graphql", "-e", server.url] + options, in: folder
      ) { id in
        await server.log.requests(20)
        kill(id, SIGINT)
      }
      #expect(result.status == 130, "\(result)")
      #expect(result.output.contains("warning: interrupted: the figures are those"), "\(result)")
      let load = try #require(try JSONValue(parsing: folder.text("r.json"))["load"])
      #expect(load["isInterrupted"] == true)
      let steps = load["steps"]?.arrayValue?.count ?? 0
      #expect((1..<600).contains(steps))
    }
  }

  @Test("the endpoint may be that of GQL_URL")
  func environmentVariable() async throws {
    let folder = try Folder()
    try folder.write("{ countries { code } }", to: "q.graphql")
    try await DemoServer.withServer { server in
      let url = "http://127.0.0.1:\(server.port)/graphql"
      let result = try await Program.run(
        ["profile", "-d", "q.graphql", "--runs", "1", "--no-baselines"], in: folder,
        environment: ["GQL_URL": url])
      #expect(result.status == 0 && result.output.contains(url), "\(result)")
    }
  }
}

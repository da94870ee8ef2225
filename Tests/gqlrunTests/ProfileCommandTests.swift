import Foundation
import JSONStream
import Testing

@Suite("gqlrun profile", .serialized, .timeLimit(.minutes(5)))
struct ProfileCommandTests {
  @Test("a generated response is measured with two stores and told in every form")
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

  @Test("a report is held against an earlier one and against budgets")
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
    #expect(second.errors.contains("memory: total<=1us is broken"))
    #expect(!second.errors.contains("peak"))
  }

  @Test(
    "a response that cannot be used ends with 65 and the reason",
    arguments: [
      ("", "the response is empty"), ("<html>", "not valid JSON"),
      (#"{"data":{"feed":"#, "cut off"), (#"{"x":1}"#, "neither \"data\" nor \"errors\""),
    ])
  func badResponses(text: String, reason: String) async throws {
    let folder = try Folder()
    try folder.write(text, to: "response.json")
    try folder.write("{ feed(first: 1) { totalCount } }", to: "q.graphql")
    let result = try await Program.run(
      ["profile", "--file", "response.json", "--document", "q.graphql"], in: folder)
    #expect(result.status == 65, "\(result)")
    #expect(result.errors.contains(reason), "\(result)")
  }

  @Test("a response with errors only is profiled, and the report says so")
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

  @Test(
    "what cannot be meant is refused before anything is measured",
    arguments: [
      (["profile"], "name one response to profile"),
      (["profile", "--generate", "feed"], "feed:N"),
      (["profile", "--generate", "feed:5", "--file", "x"], "name one response"),
      (["profile", "--file", "x"], "--document"),
      (["profile", "--generate", "feed:5", "--runs", "0"], "--runs"),
      (["profile", "--generate", "feed:5", "--rate", "5"], "--endpoint"),
      (["profile", "--generate", "feed:5", "--budget", "total<3"], "total<3"),
      (["profile", "--generate", "feed:5", "--fail-above", "3"], "--compare"),
      (["profile", "--endpoint", "http://x", "--document", "d", "--rate", "0"], "--rate"),
      (
        ["profile", "--endpoint", "http://x", "-d", "d", "--rate", "1", "--duration", "1"],
        "--duration"
      ),
      (["profile", "--generate", "feed:5", "--store", "disk"], "--store"),
    ])
  func wrongUse(arguments: [String], reason: String) async throws {
    let folder = try Folder()
    let result = try await Program.run(arguments, in: folder)
    #expect(result.status == 64, "\(result)")
    #expect(result.errors.contains(reason), "\(result)")
    #expect(result.output.isEmpty)
  }
}

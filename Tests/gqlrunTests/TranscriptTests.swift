import Foundation
import GQLRunDemoServer
import GQLRunTestSupport
import Testing

/// The transcripts of `Tests/Transcripts`, each in a folder and with a demo server of its own.
@Suite("Commands print what the transcripts show", .timeLimit(.minutes(10)))
struct TranscriptTests {
  private static let folder = "Tests/Transcripts"
  /// Those whose names begin with `jq-` need libjq.
  static let names = Repository.names(in: folder).filter { !$0.hasPrefix("jq-") || JQ.isThere }

  @Test("a transcript", arguments: names)
  func transcript(_ name: String) async throws {
    let path = "\(Repository.root)/\(Self.folder)/\(name)"
    let transcript = Transcript(try String(contentsOfFile: path, encoding: .utf8))
    #expect(!transcript.steps.isEmpty, "\(name) has no command")
    let printed = try await DemoServer.withServer { server in
      try await Program.transcript(transcript, in: Folder(), url: server.url, port: server.port)
    }
    var others: [(step: Transcript.Step, printed: [String])] = []
    for (step, lines) in zip(transcript.steps, printed) {
      let shown = transcript.shown(step)
      if Transcript.matches(shown, lines) { continue }
      others.append((step, lines))
      Issue.record(
        "another output of `\(step.command)`:\n\(Transcript.difference(shown, lines))",
        sourceLocation: SourceLocation(
          fileID: "gqlrunTests/\(name)", filePath: path, line: step.line, column: 3))
    }
    if ProcessInfo.processInfo.environment["GQLRUN_RECORD"] != nil {
      try transcript.replacing(others).write(toFile: path, atomically: true, encoding: .utf8)
    }
  }

  private static let example = Transcript(
    """
    A comment.

      $ cat <<E
      > a
      > E
      a

      b
      2> c
      [3]

    $ no command
      $ true

    """)

  @Test("commands and outputs are indented, the rest is comments")
  func steps() {
    let steps = Self.example.steps
    #expect(steps.map(\.command) == ["cat <<E\na\nE", "true"])
    #expect(steps.map(\.line) == [3, 13])
    #expect(steps.map(Self.example.shown) == [["a", "", "b", "2> c", "[3]"], []])
    let recorded = Self.example.replacing([(steps[0], ["x", "", "y"]), (steps[1], ["z"])])
    #expect(recorded.hasPrefix("A comment.\n\n  $ cat <<E\n  > a\n  > E\n  x\n\n  y\n\n$ no"))
    #expect(recorded.hasSuffix("  $ true\n  z\n"))
  }

  @Test("streams, exit code, control characters and a missing line feed are visible")
  func rendered() {
    #expect(
      Transcript.rendered(output: "a\u{1b}\r\n", errors: "\nb", status: 64)
        == ["a␛␍", "2>", "2> b (no-eol)", "[64]"])
  }

  @Test(
    "… is any text of a line, or any lines of a stream",
    arguments: [
      ("a…c", "abc", true), ("a…c", "abd", false), ("a…b…c", "axbxc", true), ("…", "", true),
      ("a…b…c", "axcxc", false), ("a\n…\nd", "a\nb\nc\nd", true), ("a\n…\nd", "a\nd", true),
      ("a\n…", "b\nc", false), ("2> …\n[1]", "2> a\n2> b\n[1]", true), ("2> …", "a", false),
    ])
  func wildcards(shown: String, printed: String, isMatch: Bool) {
    let lines = { (text: String) in text.split(separator: "\n").map { String($0) } }
    #expect(Transcript.matches(lines(shown), lines(printed)) == isMatch)
  }

  @Test("a difference has all lines, with a sign before those of one side")
  func difference() {
    #expect(
      Transcript.difference(["a", "b…", "c", "2> d"], ["a", "bx", "e", "2> d", "[1]"])
        == "  a\n  b…\n- c\n+ e\n  2> d\n+ [1]")
  }
}

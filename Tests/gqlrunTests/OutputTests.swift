import Foundation
import GQLRunDemoServer
import Testing

@Suite("Standard output, --output and signals", .timeLimit(.minutes(10)))
struct OutputTests {
  /// Opens a pipe as descriptor 3 whose reader has gone.
  private static let withoutReader = "exec 3> >(true); wait $!"

  /// A shell line about standard output, and the exit code it has.
  static let lines: [(String, Int32, String)] = [
    ("\"$GQLRUN\" run germany.graphql > /dev/full", 1, "standard output: No space left on device"),
    ("\"$GQLRUN\" run germany.graphql >&-", 1, "standard output: it is closed"),
    ("\(withoutReader); \"$GQLRUN\" run germany.graphql >&3", 141, ""),
    (
      "\"$GQLRUN\" run feed.graphql --var first=2000 --pretty | head -1 > l; exit ${PIPESTATUS[0]}",
      141, ""
    ),
    ("\(withoutReader); \"$GQLRUN\" --help >&3", 141, ""),
    ("\(withoutReader); \"$GQLRUN\" --version >&3", 141, ""),
    ("\(withoutReader); \"$GQLRUN\" help topics >&3", 141, ""),
    ("\(withoutReader); \"$GQLRUN\" --generate-completion-script bash >&3", 141, ""),
    ("\(withoutReader); \"$GQLRUN\" complete 'gqlrun ' >&3", 141, ""),
    ("\"$GQLRUN\" --help > /dev/full", 1, "No space left"),
    ("\"$GQLRUN\" --version > /dev/full", 1, "No space left"),
    ("\"$GQLRUN\" plugins > /dev/full", 1, "No space left"),
    ("\"$GQLRUN\" run germany.graphql -v 2>&-", 0, ""),
    ("\"$GQLRUN\" run - <&-", 65, "cannot read the document on standard input"),
  ]

  @Test("a standard output that takes nothing is noticed", arguments: lines)
  func standardOutput(_ line: String, _ status: Int32, _ says: String) async throws {
    try await DemoServer.withServer { server in
      let result = try await Program.shell("export GQL_URL='\(server.url)'; \(line)", in: Folder())
      #expect(result.status == status, "\(result)")
      #expect(result.errors.contains(says) || says.isEmpty, "\(result)")
      #expect(result.errors.isEmpty == says.isEmpty, "\(result)")
    }
  }

  @Test("a closed standard output does not end up in the cache")
  func closedDescriptors() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let result = try await Program.shell(
        "\"$GQLRUN\" run germany.graphql -e '\(server.url)' --store sqlite:c.db <&- >&- 2>&-; "
          + "\"$GQLRUN\" cache dump --store sqlite:c.db", in: folder)
      #expect(result.status == 0, "\(result)")
      #expect(result.output.contains("Germany") || result.output == "", "\(result)")
    }
  }

  @Test(
    "an interrupted run ends with 130 and leaves no file", arguments: [SIGINT, SIGTERM, SIGHUP])
  func interrupted(_ signal: Int32) async throws {
    // The request is not answered, and not given up, however late the signal is sent.
    try await Hold.withServer(after: 0) { _, server in
      let folder = try Folder()
      let result = try await Program.run(
        [
          "run", "germany.graphql", "-e", server.url + "?delay=20", "--timeout", "1h", "-o",
          "x.json",
        ],
        in: folder
      ) { process in
        // The request has arrived: the program waits for its answer.
        await server.log.requests(1)
        kill(process, signal)
      }
      #expect(result.status == 130, "\(result)")
      #expect(result.errors == "error: interrupted\n")
      #expect(!folder.exists("x.json"))
      #expect(folder.partialFiles == [])
    }
  }

  @Test("nor on standard output, where a terminal gets the same JSON with escapes")
  func terminal() async throws {
    let folder = try Folder()
    let name = "a\u{9b}31mb\u{7f}c\u{202e}d\u{2066}é東\u{a0}\u{2020}🚀"
    try folder.write(
      "{\"data\":{\"country\":{\"name\":\"\(name)\",\"capital\":null}}}", to: "r.json")
    let store = "--store sqlite:c.db"
    let result = try await Program.shell(
      """
      "$GQLRUN" cache import germany.graphql r.json \(store) &&
      "$GQLRUN" cache read germany.graphql \(store) > plain &&
      for what in "read germany.graphql --compact" dump "get QUERY_ROOT"; do
        TERM=xterm script -qec "\"$GQLRUN\" cache $what \(store)" log < /dev/null
      done
      """, in: folder)
    let escaped = "a\\u009b31mb\\u007fc\\u202ed\\u2066é東\u{a0}\u{2020}🚀"
    #expect(result.output.components(separatedBy: escaped).count == 4, "\(result)")
    #expect(try folder.text("plain").contains(name))
  }
}

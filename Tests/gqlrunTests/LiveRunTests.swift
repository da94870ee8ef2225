import Foundation
import GQLRunJSON
import Testing

@testable import gqlrun

/// `gqlrun run` of subscriptions, until something ends them; see run-live.txt, too.
@Suite("Live operations of gqlrun run", .needsPython, .timeLimit(.minutes(10)))
struct LiveRunTests {
  private static let retrying = """
    version: 1
    endpoint: { url: "${env:URL}" }
    store: { kind: memory }
    chain:
      - max-retry: { max_retries: 3, backoff: { base: 1ms, max: 1ms } }
      - cache-read
      - fetch
      - response-code
      - parse
      - cache-write

    """

  @Test("an interrupted subscription closes its connection and ends with 130")
  func interruptedSubscription() async throws {
    let folder = try Folder()
    let result = try await EventServer.shell(
      "event event hold",
      line: """
        "$GQLRUN" run '\(EventServer.subscription)' -e $URL > lines & run=$!
        until_in '"value":2' lines
        kill -INT $run; wait $run; echo $?
        until [ -e closed ]; do sleep 0.01; done
        """, in: folder)
    #expect(
      result.output == "130\n" && result.errors.hasSuffix("error: interrupted\n"), "\(result)")
    #expect(try folder.text("lines") == EventServer.line(1) + EventServer.line(2))
  }

  @Test("one signal ends a subscription whose reader does not read")
  func blockedOutput() async throws {
    let folder = try Folder()
    try folder.write(
      """
      import array, fcntl, termios, time
      size, held = fcntl.fcntl(0, 1032), array.array("i", [0])  # F_GETPIPE_SZ
      for _ in range(30000):
          fcntl.ioctl(0, termios.FIONREAD, held)
          if held[0] > size * 0.98: break  # the rest of a page is too short for an event
          time.sleep(0.01)
      """, to: "full.py")
    let run =
      #"timeout --foreground -s KILL 300 "$GQLRUN" run '\#(EventServer.subscription)' -e $URL"#
    let result = try await EventServer.shell(
      "flood",
      line: """
        mkfifo lines; exec 3<> lines
        \(run) > lines & run=$!
        python3 full.py <&3; kill -TERM $run; wait $run; echo $?
        """, in: folder)
    #expect(result.output == "130\n", "\(result)")
  }

  @Test("catch_up fetches the current state after a lost connection, and its outcome is shown")
  func catchUp() async throws {
    let folder = try Folder()
    try folder.write(
      Self.retrying + "subscriptions: { catch_up: { query: Current, deliver: true } }\n",
      to: "retry.pipeline.yaml")
    try folder.write(
      EventServer.subscription + "\nquery Current { counter { id value } }\n", to: "live.graphql")
    let result = try await EventServer.shell(
      "event", "wait:queried event complete",
      line: """
        export URL
        "$GQLRUN" run live.graphql --operation Counted --pipeline retry.pipeline.yaml; echo $?
        """, in: folder)
    let current = #"{"data":{"counter":{"id":"1","value":1}}}"# + "\n"
    #expect(
      result.output == EventServer.line(1) + current + EventServer.line(2) + "0\n", "\(result)")
    #expect(
      result.errors.contains("the query of `catch_up` has fetched the current state"), "\(result)")
  }

  @Test("profile --subscribe reports events and reconnects; an unreachable server is an error")
  func profile() async throws {
    let folder = try Folder()
    try folder.write(Self.retrying, to: "retry.pipeline.yaml")
    try folder.write(EventServer.subscription, to: "live.graphql")
    let result = try await EventServer.shell(
      "event event", "event event complete",
      line: """
        export URL
        profile() { "$GQLRUN" profile -d live.graphql --subscribe "$@"; echo $?; }
        profile --pipeline retry.pipeline.yaml --duration 5m --json report.json
        profile -e $URL --rate 5
        profile -d germany.graphql -e $URL
        "$GQLRUN" profile -d live.graphql -e $URL; echo $?
        URL=http://127.0.0.1:1/ profile --pipeline retry.pipeline.yaml --duration 1m
        """, in: folder)
    #expect(result.output.hasSuffix("0\n64\n64\n64\n69\n"), "\(result)")
    #expect(result.output.contains("4 events of 1 subscription in "), "\(result)")
    #expect(result.output.contains("reconnects: 1; connections: 2"), "\(result)")
    #expect(result.errors.contains("127.0.0.1:1"), "\(result)")
    #expect(result.errors.contains("is a subscription; add --subscribe"), "\(result)")
    let report = try JSONValue(parsing: folder.text("report.json"))["subscription"]
    #expect(report?["events"]?.intValue == 4 && report?["reconnects"]?.intValue == 1)
    #expect(report?["delivery"]?["count"]?.intValue == 4)
  }

  @Test("-v shows connections, lost ones, retries and gaps")
  func verbose() async throws {
    let folder = try Folder()
    try folder.write(Self.retrying, to: "retry.pipeline.yaml")
    let result = try await EventServer.shell(
      "event", "event complete",
      line: """
        export URL
        "$GQLRUN" run '\(EventServer.subscription)' --pipeline retry.pipeline.yaml -v; echo $?
        "$GQLRUN" run '\(EventServer.subscription)' --pipeline retry.pipeline.yaml 2> quiet; echo $?
        """, in: folder)
    #expect(
      result.output == EventServer.line(1) + EventServer.line(2) + "0\n" + EventServer.line(3)
        + "0\n",
      "\(result)")
    #expect(
      result.errors.split(separator: "\n").count { $0.hasPrefix("* Connected to 127.0.0.1 port") }
        == 2,
      "\(result)")
    #expect(result.errors.contains("↻ Counted: retry 1 in "), "\(result)")
    #expect(result.errors.contains("* Subscription: open\n"), "\(result)")
    #expect(result.errors.contains("* Subscription: waiting, connects again in "), "\(result)")
    #expect(result.errors.contains("the connection was lost and is open again"), "\(result)")
    #expect(!result.errors.contains("> POST"), "\(result)")
    #expect(try folder.text("quiet") == "")
  }

  @Test("--gaps inline writes a line where events may be missing")
  func gaps() async throws {
    let folder = try Folder()
    try folder.write(Self.retrying, to: "retry.pipeline.yaml")
    let result = try await EventServer.shell(
      "event", "event complete",
      line: """
        export URL
        "$GQLRUN" run '\(EventServer.subscription)' --pipeline retry.pipeline.yaml --gaps inline --first 2 -o events; echo $?
        "$GQLRUN" run '{ counter { id } }' -e $URL --gaps inline; echo $?
        """, in: folder)
    #expect(result.output == "0\n64\n", "\(result)")
    #expect(result.errors.contains("the connection was lost and is open again"), "\(result)")
    #expect(result.errors.contains("cannot use --gaps with the anonymous query"), "\(result)")
    let lines = try folder.text("events").split(separator: "\n").map(String.init)
    #expect(lines.count == 3, "\(lines)")
    #expect(lines[0] + "\n" == EventServer.line(1) && lines[2] + "\n" == EventServer.line(2))
    let gap = try JSONValue(parsing: lines[1])["gap"]
    #expect(gap?["lostConnection"] == true, "\(lines)")
    #expect(gap?["cause"]?.stringValue?.contains("without the event `complete`") == true)
    #expect(gap?["since"]?.stringValue?.hasSuffix("Z") == true)
  }

  /// Runs a subscription whose server ends after the first event, or when the run has ended.
  private func serverEnds(_ options: String) async throws -> RunResult {
    let folder = try Folder()
    try folder.write(Self.retrying, to: "retry.pipeline.yaml")
    return try await EventServer.shell(
      "event hold",
      line: """
        export URL
        "$GQLRUN" run '\(EventServer.subscription)' --pipeline retry.pipeline.yaml \(options) > lines & run=$!
        until grep -q '"value":1' lines || ! kill -0 $run 2> /dev/null; do sleep 0.01; done
        kill $server; wait $run; echo $?
        """, in: folder)
  }

  @Test("--for outlasts an outage")
  func outage() async throws {
    let message = "has lost its connection, and tries to connect again for"
    let (_, result) = try await Program.withGrowingLimit(
      fromMilliseconds: 1000, until: { $0.errors.contains(message) }
    ) { limit in
      try await serverEnds("--for \(limit)")
    }
    #expect(result.output == "0\n" && result.errors.contains(message), "\(result)")
  }

  @Test("an unreachable server ends a subscription with what was tried")
  func patience() async throws {
    let message = "the subscription has received 1 event and gave up after"
    let (_, result) = try await Program.withGrowingLimit(
      until: { $0.errors.contains(message) && $0.errors.contains("connection refused") }
    ) { limit in
      try await serverEnds("--patience \(limit)")
    }
    #expect(result.output == "69\n" && result.errors.contains(message), "\(result)")
    #expect(result.errors.contains("connection refused"), "\(result)")
    #expect(result.errors.contains("its connection was lost at first because: "), "\(result)")
  }
}

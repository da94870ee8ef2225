import Foundation
import GQLRunCache
import GQLRunDemoServer
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import Testing

@testable import GQLRunBatch

@Suite("Stopping and resuming", .timeLimit(.minutes(10)))
struct ResumeTests {
  private let location: Place

  init() throws {
    location = try Place(ids: 300)
    try location.write("mutation Like($id: ID!) { likePost(id: $id) { id } }", to: "m.graphql")
  }

  private static let yaml = """
    version: 1
    run: { concurrency: 4 }
    sinks:
      - ndjson: { path: o.ndjson }
      - csv: { path: o.csv }
      - json: { path: o.json }
      - sqlite: { path: o.db, table: keyed, key: [id] }
      - sqlite: { path: o.db, table: plain }
    operations:
    \(Bench.users)
        emit: user
    """

  /// Every record once, in every sink.
  private func expectAll(_ count: Int) throws {
    let lines = try location.lines("o.ndjson")
    #expect(lines.count == count)
    #expect(Set(lines).count == count)
    #expect(Set(try location.lines("o.csv").dropFirst()).count == count)
    #expect(try location.lines("o.csv").count == count + 1)
    #expect(try JSONValue(parsing: location.text("o.json")).arrayValue?.count == count)
    for table in ["keyed", "plain"] {
      let found = try location.values(
        "SELECT count(*) || ' ' || count(DISTINCT id) FROM \(table)", in: "o.db")
      #expect(found == ["\(count) \(count)"], "\(table)")
    }
  }

  @Test("a stopped run continues where it was, and asks for nothing a second time")
  func stops() async throws {
    try await Bench.withServer(Self.yaml, in: location) { manifest, server in
      let first = try await Bench.run(manifest, control: RunControl(), stopAt: 100)
      #expect(first.stop == .interrupted)
      #expect(first.counters.done >= 100 && first.counters.done < 300)
      #expect(!location.exists("o.ndjson"))
      let second = try await Bench.run(manifest, Bench.resuming)
      #expect(second.stop == nil)
      #expect(second.counters.alreadyDone == first.counters.done)
      #expect(first.counters.done + second.counters.done == 300)
      #expect(server.requestCount == 300)
      try expectAll(300)
    }
  }

  @Test("a task that failed is sent again, although the cache has its error")
  func storedErrors() async throws {
    try location.write(Bench.ids(1), to: "ids.csv")
    try location.write(
      """
      version: 1
      endpoint: { url: "http://127.0.0.1:9/" }
      store: { kind: memory }
      chain:
        - cache-read: { errors: replay }
        - fetch
        - response-code
        - parse
        - cache-write
      """, to: "p.pipeline.yaml")
    let manifest = try Bench.load(
      """
      version: 1
      pipeline: p.pipeline.yaml
      sinks:
        - ndjson: { path: o.ndjson }
      operations:
      \(Bench.users)
      """, in: location)
    let transport = ScriptedTransport { (number: Int) in
      .response(
        200,
        number == 1
          ? #"{"data":{"user":{"__typename":"User","id":"U_1","login":null}},"errors":[{"message":"no","path":["user","login"]}]}"#
          : #"{"data":{"user":{"__typename":"User","id":"U_1","login":"a"}}}"#)
    }
    let store = CacheStore.memory()
    let first = try await Bench.run(manifest, transport: transport, store: store)
    #expect(first.counters.failed == 1)
    #expect(try await store.statistics().errors == 1)
    let second = try await Bench.run(manifest, Bench.repeating, transport: transport, store: store)
    #expect(second.counters.done == 1)
    #expect(transport.count == 2)
    #expect(try await store.statistics().errors == 0)
  }

  @Test("the report of a resumed task counts the pages of all runs, its summary those of one run")
  func pages() async throws {
    var configuration = DemoServer.Configuration()
    configuration.feedSize = 30
    try await DemoServer.withServer(configuration) { server in
      let manifest = try Bench.load(
        """
        version: 1
        sinks: [{ ndjson: { path: feed } }]
        operations:
          - id: feed
            query: "query F($first: Int!, $after: String) { feed(first: $first, after: $after) { edges { node { id } } pageInfo { hasNextPage endCursor } } }"
            paginate: { connection: feed, page_size: { start: 5 } }
            emit: feed.edges[*].node
        """, in: location, url: server.url)
      let first = try await Bench.run(manifest, control: RunControl(), stopAt: 3)
      #expect(first.stop == .interrupted)
      let written = try location.lines("feed.part").count
      #expect(written > 0 && written < 30)
      let second = try await Bench.run(manifest, Bench.resuming)
      #expect(second.counters.done == 1 && second.counters.records == 30 - written)
      let report = try JSONValue(parsing: RunInspection(manifest).report())
      #expect(report["records"]?.intValue == 30)
    }
  }

  @Test("what was written and not recorded is cut off before a run continues")
  func cutsOff() async throws {
    try await Bench.withServer(Self.yaml, in: location) { manifest, _ in
      _ = try await Bench.run(manifest, control: RunControl(), stopAt: 50)
      for name in ["o.ndjson.part", "o.csv.part", "o.json.part"] {
        let handle = try #require(FileHandle(forWritingAtPath: location.file(name)))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("half of a rec".utf8))
        try handle.close()
      }
      let second = try await Bench.run(manifest, Bench.resuming)
      #expect(second.stop == nil)
      try expectAll(300)
    }
  }

  @Test("--resume without a journal simply starts")
  func starts() async throws {
    try await DemoServer.withServer { server in
      let summary = try await Bench.run(Self.yaml, in: location, url: server.url, Bench.resuming)
      #expect(summary.counters.done == 300)
    }
  }

  @Test(
    "the journal of another batch, whose name is the same in names of files, is not continued or read"
  )
  func otherName() async throws {
    try location.write(Bench.ids(1), to: "ids.csv")
    func manifest(_ name: String) throws -> Manifest {
      try Bench.load(
        Self.yaml.replacing("version: 1", with: "version: 1\nname: \(name)"), in: location)
    }
    let first = try await Bench.run(manifest("a b"), transport: RowTransport())
    let second = try await Bench.run(manifest("a b"), transport: RowTransport())
    _ = try await Bench.run(manifest("a b"), Bench.shard("1/1"), transport: RowTransport())
    let other = try manifest("a-b")
    let error = await #expect(throws: JournalError.self) {
      _ = try await Bench.run(other, Bench.resuming, transport: RowTransport())
    }
    #expect(error?.description.contains("is that of `a b`, and not of `a-b`") == true)
    let decision = TaskResolution(
      .retry, of: .failed, keys: [], operation: nil, user: "ada", time: 0)
    let uses: [() throws -> Void] = [
      { _ = try decision.apply(to: other) }, { _ = try RunInspection(other) },
      { _ = try RunDiff(other) }, { _ = try ShardMerge(other) },
    ]
    for use in uses {
      let refusal = #expect(throws: JournalError.self) { try use() }
      #expect(refusal?.description.contains("is that of `a b`, and not of `a-b`") == true)
    }
    // A journal that is named is read.
    #expect(try RunInspection(other, journal: first.journal).path == first.journal)
    #expect(try RunDiff(other, from: first.journal, to: second.journal).same == 1)
  }

  @Test("two runs cannot use one journal at a time")
  func locked() throws {
    let path = location.file("a.journal")
    let journal = try Journal(path: path)
    let error = #expect(throws: JournalError.self) { _ = try Journal(path: path) }
    #expect(error?.description.contains("another run is using") == true)
    journal.close()
    try Journal(path: path).close()
  }

  @Test("a foreign database is no journal, and is left as it is")
  func foreign() throws {
    let path = location.file("a.journal")
    try location.execute("CREATE TABLE t (x)", in: path)
    #expect(throws: JournalError.self) { _ = try Journal(path: path) }
    #expect(try location.values("SELECT name FROM sqlite_schema", in: path) == ["t"])
  }

  private static let likes = """
    version: 1
    sinks: [{ ndjson: { path: o.ndjson } }]
    operations:
      - id: likes
        document: m.graphql
        variables: { id: P_1 }
    """

  @Test("a mutation without an answer is unknown, and is not sent again unless that is safe")
  func unknownMutations() async throws {
    let lost = ScriptedTransport { _ in throw ChainError.lostConnection }
    let manifest = try Bench.load(Self.likes, in: location)
    let first = try await Bench.run(manifest, transport: lost)
    #expect(first.counters.unknown == 1)
    #expect(lost.count == 1)
    let second = try await Bench.run(manifest, Bench.resuming, transport: lost)
    #expect(second.counters.started == 0)
    #expect(lost.count == 1)
    let safe = try Bench.load(Self.likes + "\n    idempotency: id", in: location)
    try await DemoServer.withServer { server in
      var safe = safe
      safe.pipeline.endpoint = try Endpoint(url: server.url)
      let third = try await Bench.run(safe, Bench.resuming)
      #expect(third.counters.done == 1)
    }
  }

  @Test("a mutation is in the journal before it is sent")
  func recordedBefore() async throws {
    let manifest = try Bench.load(Self.likes, in: location)
    let folder = location.file("runs")
    let transport = ScriptedTransport { _ in
      let name = try #require(
        try FileManager.default.contentsOfDirectory(atPath: folder).first {
          $0.hasSuffix(".journal")
        })
      let journal = try Journal(path: "\(folder)/\(name)", isReadOnly: true)
      #expect(try journal.counts()[.unknown] == 1)
      journal.close()
      throw ChainError(.transport, code: .tlsFailed, message: "no", delivery: .notSent)
    }
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(transport.count == 1)
    #expect(summary.counters.failed == 1)
  }

  @Test(
    "a run that is continued starts from the bookmarks that it began with, although it has saved its own"
  )
  func bookmarks() async throws {
    let manifest = try Bench.load(
      """
      version: 1
      run: { concurrency: 1 }
      sinks: [{ ndjson: { path: "{{op}}.ndjson" } }]
      state: { file: state.json }
      operations:
        - id: saved
          query: "query($login: String) { user(login: $login) { id login } }"
          variables: { login: "{{state.login}}" }
          emit: user
          bookmark: { login: last(login) }
        - id: failing
          query: "query($login: String) { other: user(login: $login) { id } }"
          variables: { login: "{{state.login}}" }
          emit: other
      """, in: location)
    try location.write(#"{"login":"first"}"#, to: "state.json")
    let isDown = Locked(true)
    let bodies = Locked<[String]>([])
    let transport = ScriptedTransport { [location] body, _ in
      bodies.withLock { $0.append(body) }
      guard body.contains("other") else { return .response() }
      guard isDown.withLock({ $0 }) else { return .data(#"{"other":{"id":"1"}}"#) }
      // Another batch with this state file ends now.
      try location.write(#"{"login":"first","beside":1}"#, to: "state.json")
      return .errors("down")
    }
    let first = try await Bench.run(manifest, transport: transport)
    #expect(first.counters.done == 1 && first.counters.failed == 1)
    #expect(
      try JSONValue(parsing: location.text("state.json")) == ["login": "a", "beside": 1])
    isDown.withLock { $0 = false }
    let second = try await Bench.run(manifest, Bench.repeating, transport: transport)
    #expect(second.counters.done == 1 && second.counters.alreadyDone == 1)
    #expect(!second.hasFailures && second.warnings.isEmpty)
    let third = try await Bench.run(manifest, Bench.resuming, transport: transport)
    #expect(third.counters.done == 0 && third.counters.alreadyDone == 2)
    #expect(bodies.withLock { $0.count == 3 && $0.allSatisfy { $0.contains(#""login":"first""#) } })
    // The journal of an earlier version has them since it was continued.
    try location.execute("DELETE FROM meta WHERE name = 'state'", in: first.journal)
    for login in ["first", "later"] {
      try location.write(#"{"login":"\#(login)"}"#, to: "state.json")
      let next = try await Bench.run(manifest, Bench.resuming, transport: transport)
      #expect(next.counters.done == 0 && next.counters.alreadyDone == 2)
    }
  }

  @Test("shards take each task once, and are put together")
  func shards() async throws {
    try await Bench.withServer(Self.yaml, in: location) { manifest, _ in
      var done = 0
      for number in 1...3 {
        let summary = try await Bench.run(manifest, Bench.shard("\(number)/3"))
        #expect(summary.counters.done > 50)
        done += summary.counters.done
      }
      #expect(done == 300)
      let merge = try ShardMerge(manifest)
      #expect(merge.tasks == 300)
      try expectAll(300)
    }
  }

  @Test("all shards start from the same bookmarks, which their merge saves")
  func bookmarksOfShards() async throws {
    try location.write(Bench.ids(40), to: "ids.csv")
    let manifest = try Bench.load(
      """
      version: 1
      sinks: [{ ndjson: { path: o.ndjson } }]
      state: { file: state.json }
      operations:
        - id: users
          query: "query($id: ID!, $after: String) { user(id: $id, after: $after) { id } }"
          foreach: { csv: ids.csv, key: "{{row.id}}" }
          variables: { id: "{{row.id}}", after: "{{state.highest}}" }
          emit: user
          bookmark: { highest: max(id), lowest: min(id) }
      """, in: location)
    let transport = ScriptedTransport { body, _ in
      let id = try JSONValue(parsing: body)["variables"]?["id"]?.stringValue ?? ""
      return .data(#"{"user":{"id":"\#(id)"}}"#)
    }
    for isFirst in [true, false] {
      for number in 1...2 {
        _ = try await Bench.run(manifest, Bench.shard("\(number)/2"), transport: transport)
        #expect(location.exists("state.json") != isFirst)
      }
      #expect(try ShardMerge(manifest).tasks == 40)
      #expect(Set(try location.lines("o.ndjson")).count == 40)
      #expect(
        try JSONValue(parsing: location.text("state.json")) == ["highest": "U_9", "lowest": "U_1"])
      let merged = try await Bench.run(manifest, Bench.resuming, transport: transport)
      #expect(merged.counters.alreadyDone == 40 && merged.counters.done == 0)
    }
    // Another batch saves its own bookmark between the shards, and one that no task has is changed. A machine may have
    // a copy of the file, and no list of outputs.
    try location.write(#"{"highest":"U_9","lowest":"U_3","beside":1}"#, to: "state.json")
    let (list, hidden) = (location.file("runs/m.outputs.json"), location.file("hidden"))
    try FileManager.default.moveItem(atPath: list, toPath: hidden)
    _ = try await Bench.run(manifest, Bench.shard("1/2"), transport: transport)
    try FileManager.default.moveItem(atPath: hidden, toPath: list)
    #expect(try ShardMerge(manifest).tasks == 40)
    #expect(
      try JSONValue(parsing: location.text("state.json"))
        == ["highest": "U_9", "lowest": "U_1", "beside": 1])
    try location.write(#"{"highest":"U_1"}"#, to: "state.json")
    _ = try await Bench.run(manifest, Bench.shard("1/2"), transport: transport)
    let error = #expect(throws: JournalError.self) { try ShardMerge(manifest) }
    #expect(error?.description.contains("started from different bookmarks") == true)
  }

  @Test(
    "a journal whose name has no possible number of shards is not one of a shard",
    arguments: ["1of0", "1of-5", "1of\(Int.max)"])
  func shardsOfName(_ label: String) throws {
    let manifest = try Bench.load(Self.yaml, in: location)
    let name = "\(manifest.name)-20260119-173000-250.\(label).journal"
    try location.write("", to: "\(manifest.settings.journalFolder)/\(name)")
    let error = #expect(throws: JournalError.self) { try ShardMerge(manifest) }
    #expect(error?.description.contains("there are no journals of shards in") == true)
  }

  @Test("a merge and a check leave no files beside the databases that they read")
  func filesOfReaders() async throws {
    let manifest = try Bench.load(Self.yaml, in: location)
    for number in 1...2 {
      _ = try await Bench.run(manifest, Bench.shard("\(number)/2"), transport: RowTransport())
    }
    #expect(try ShardMerge(manifest).tasks == 300)
    #expect(try await RowReport(manifest).problems.isEmpty)
    let files = try FileManager.default.subpathsOfDirectory(atPath: location.path)
    #expect(files.contains("o.1of2.db") && files.contains("o.db"))
    #expect(files.filter { $0.hasSuffix("-wal") || $0.hasSuffix("-shm") } == [])
  }

  /// The time of day as a user sets it: each call returns the next of these, then always the last.
  private static func services(_ times: [Double], _ transport: any HTTPTransport) -> Services {
    let left = Locked(times)
    return Services(
      transport: transport,
      secondsSince1970: { left.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] } })
  }

  @Test("the newest run is continued, although the time of day was set back before it")
  func clockSetBack() async throws {
    try await Bench.withServer(Self.yaml, in: location) { manifest, server in
      let network = Bench.network()
      let evening = 1_790_000_000.0
      _ = try await Bench.run(manifest, services: Self.services([evening], network))
      let control = RunControl()
      let stopped = try await Bench.run(
        manifest, control: control,
        services: Self.services([evening - 7_200], CountingTransport(network, stopAt: 100, control))
      )
      #expect(stopped.stop == .interrupted)
      let rest = try await Bench.run(
        manifest, Bench.resuming, services: Self.services([evening - 7_000], network))
      #expect(rest.counters.alreadyDone == stopped.counters.done)
      #expect(rest.counters.done + stopped.counters.done == 300)
      #expect(server.requestCount == 600)
      await network.shutdown()
    }
  }

  @Test("a merge is the newest run, although the shards ran on machines whose time of day is later")
  func mergeOfLaterShards() async throws {
    let manifest = try Bench.load(Self.yaml, in: location)
    let later = Self.services([4_000_000_000], RowTransport())
    for number in 1...2 {
      _ = try await Bench.run(manifest, Bench.shard("\(number)/2"), services: later)
    }
    let merge = try ShardMerge(manifest)
    #expect(try JournalFolder(manifest).newest() == merge.journal)
  }

  @Test("a time of day that is set back during a run changes neither its order nor its count")
  func clockSetBackDuringRun() async throws {
    try await DemoServer.withServer { server in
      // Every row twice: the second time it is known that it was done in this run.
      try location.write(
        Bench.ids(150) + Bench.ids(150).split(separator: "\n").dropFirst().joined(separator: "\n"),
        to: "ids.csv")
      let manifest = try Bench.load(Self.yaml, in: location, url: server.url)
      let network = Bench.network()
      let evening = 1_790_000_000.0
      let summary = try await Bench.run(
        manifest, services: Self.services([evening, evening + 3, 0], network))
      #expect(summary.counters.done == 150 && summary.counters.duplicates == 150)
      #expect(summary.counters.alreadyDone == 0)
      let inOrder = "SELECT min(ended) >= \(evening) FROM tasks"
      #expect(try location.values(inOrder, in: summary.journal) == ["1"])
      await network.shutdown()
    }
  }
}

import GQLRunPostgres
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

@Suite(
  "Stores in PostgreSQL",
  .enabled(
    if: PostgresServer.isInstalled, "PostgreSQL is not installed: apt-get install postgresql"))
struct PostgresStoreTests {
  private static let operation = "query($id:ID!){user(id:$id){id name}}"

  private static func open(
    _ url: String, _ change: (inout CacheStore.PostgresOptions) -> Void = { _ in }
  ) async throws -> PostgresStore {
    var options = CacheStore.PostgresOptions(url: url)
    change(&options)
    return try await PostgresStore(options)
  }

  private static func write(_ id: Int, _ fields: String, to store: PostgresStore) async throws {
    try await CacheUnderTest(store: store).write(
      #"{"data":{"user":{"__typename":"User","id":"\#(id)",\#(fields)}}}"#, operation,
      variables: #"{"id":"\#(id)"}"#)
  }

  private static func read(_ id: Int, from store: PostgresStore) async throws -> String {
    try await CacheUnderTest(store: store).read(operation, variables: #"{"id":"\#(id)"}"#)
  }

  @Test(
    "stores of several processes write at once, and nothing is lost",
    arguments: ["", "%20-cdefault_transaction_isolation%3Dserializable"])
  func severalWriters(options: String) async throws {
    let url = try PostgresSchema.newForTest() + options
    var stores: [PostgresStore] = []
    // The test is not about the time that a write may wait for others, and the machine may be busy.
    for _ in 0..<3 { stores.append(try await Self.open(url) { $0.maxWait = .seconds(3_600) }) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, store) in stores.enumerated() {
        for turn in 0..<20 {
          group.addTask {
            // All stores write the same users, each another field: a lost merge loses a field.
            let document = "query($id:ID!){user(id:$id){id f\(index)}}"
            try await CacheUnderTest(store: store).write(
              #"{"data":{"user":{"__typename":"User","id":"\#(turn)","f\#(index)":"v\#(turn)"}}}"#,
              document, variables: #"{"id":"\#(turn)"}"#)
          }
        }
      }
      try await group.waitForAll()
    }
    for turn in 0..<20 {
      let text = try #require(try await stores[0].record(forKey: "User:\(turn)"))
      for index in 0..<3 { #expect(text.contains(#""f\#(index)":"v\#(turn)""#)) }
    }
    #expect(try await dump(stores[0]) == dump(stores[2]))
    for store in stores { try store.close() }
  }

  @Test("a write of another process is visible to reads at once, and to watchers after refresh")
  func otherProcesses() async throws {
    let url = try PostgresSchema.newForTest()
    let (first, second) = (try await Self.open(url), try await Self.open(url))
    try await Self.write(1, #""name":"Ada""#, to: first)
    #expect(try await Self.read(1, from: second) == #"{"user":{"id":"1","name":"Ada"}}"#)
    #expect(try await second.refresh())
    #expect(try await second.refresh() == false)
    try await Self.write(1, #""name":"Eva""#, to: first)
    #expect(try await second.refresh())
    #expect(try await Self.read(1, from: second) == #"{"user":{"id":"1","name":"Eva"}}"#)
  }

  @Test("housekeeping finds the keys of a prefix, whatever the database takes a backslash for")
  func backslashes() async throws {
    let url = try PostgresSchema.newForTest() + "%20-cstandard_conforming_strings%3Doff"
    let store = try await Self.open(url)
    try await Self.write(1, #""name":"Ada""#, to: store)
    let garbage = HousekeepingTask.collectGarbage(rootsBefore: nil, keeping: [])
    _ = try await store.run(garbage, RemovalProgress())
    #expect(try await Self.read(1, from: store) == #"{"user":{"id":"1","name":"Ada"}}"#)
    let users = HousekeepingTask.remove(try RecordSelection("User:*"))
    #expect(try await store.run(users, RemovalProgress()).records == 1)
  }

  @Test("what types a process met, another knows")
  func types() async throws {
    let url = try PostgresSchema.newForTest()
    let first = try await Self.open(url)
    try await Self.write(1, #""name":"Ada""#, to: first)
    let second = try await Self.open(url)
    let answer = try await CacheUnderTest(store: second).read(
      "query($id:ID!){user(id:$id){id ... on User {name} ... on Robot {model}}}",
      variables: #"{"id":"1"}"#)
    #expect(answer == #"{"user":{"id":"1","name":"Ada"}}"#)
  }

  @Test("a lost connection fails what used it, and the next request connects again")
  func lostConnection() async throws {
    let url = try PostgresSchema.newForTest()
    let store = try await Self.open(url)
    try await Self.write(1, #""name":"Ada""#, to: store)
    let transaction = try await store.begin()
    try await store.connections.write(continuing: true) { connection in
      let process = try connection.run("SELECT pg_backend_pid()::int8").int(0, 0)
      try PostgresConnection(PostgresServer.shared.get().url).run(
        "SELECT pg_terminate_backend($1::int8::int)", .int(process))
    }
    await #expect(throws: CacheError.self) { _ = try await transaction.commit(settling: nil) }
    try await Self.write(2, #""name":"Eva""#, to: store)
    #expect(try await Self.read(1, from: store) == #"{"user":{"id":"1","name":"Ada"}}"#)
    #expect(try await Self.read(2, from: store) == #"{"user":{"id":"2","name":"Eva"}}"#)
  }

  @Test("a write waits for another process for a limited time")
  func limitedWait() async throws {
    let url = try PostgresSchema.newForTest()
    let first = try await Self.open(url)
    let second = try await Self.open(url) { $0.maxWait = .seconds(1) }
    let transaction = try await first.begin()
    #expect(try await code { _ = try await second.begin() } == .busy)
    await transaction.rollback()
    let next = try await second.begin()
    await next.rollback()
  }

  @Test("a removal whose commit fails reports nothing as removed")
  func refusedCommit() async throws {
    let url = try PostgresSchema.newForTest()
    let store = try await Self.open(url)
    try await Self.write(1, #""name":"Ada""#, to: store)
    let other = try PostgresConnection(url)
    try other.run(
      """
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'refused by a trigger'; END $$
      """)
    try other.run(
      """
      CREATE CONSTRAINT TRIGGER refusal AFTER DELETE ON gqlrun_record
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()
      """)
    let progress = RemovalProgress()
    let task = HousekeepingTask.remove(try RecordSelection("User:*"))
    await #expect(throws: CacheError.self) { _ = try await store.run(task, progress) }
    #expect(progress.removed.isEmpty)
    #expect(try await Self.read(1, from: store) == #"{"user":{"id":"1","name":"Ada"}}"#)
    try other.run("DROP TRIGGER refusal ON gqlrun_record")
    _ = try await store.run(task, progress)
    #expect(progress.removed.records == 1)
  }

  @Test("a user has a cache of its own beside that of another user, which it may not read")
  func otherUser() async throws {
    let server = try PostgresServer.shared.get()
    let (others, othersURL) = server.newSchema()
    let (name, url) = server.newSchema()
    let owner = try PostgresConnection(server.url)
    try owner.run("CREATE SCHEMA \(others)")
    let theirs = try await Self.open(othersURL)
    try await Self.write(1, #""name":"Ada""#, to: theirs)
    for statement in [
      "CREATE ROLE \(name) LOGIN", "CREATE SCHEMA \(name) AUTHORIZATION \(name)",
      "GRANT USAGE ON SCHEMA \(others) TO \(name)",
    ] {
      try owner.run(statement)
    }
    let store = try await Self.open(
      url.replacing("user=test", with: "user=\(name)") + "%2C\(others)")
    #expect(try await Self.read(1, from: store) == "miss at user")
    try await Self.write(1, #""name":"Eva""#, to: store)
    #expect(try await Self.read(1, from: store) == #"{"user":{"id":"1","name":"Eva"}}"#)
    #expect(try await Self.read(1, from: theirs) == #"{"user":{"id":"1","name":"Ada"}}"#)
  }

  @Test("a user who owns only a schema can use a cache in it")
  func ownSchema() async throws {
    let server = try PostgresServer.shared.get()
    let (name, url) = server.newSchema()
    let owner = try PostgresConnection(server.url)
    try owner.run("CREATE ROLE \(name) LOGIN")
    try owner.run("CREATE SCHEMA \(name) AUTHORIZATION \(name)")
    let store = try await Self.open(url.replacing("user=test", with: "user=\(name)"))
    try await Self.write(1, #""name":"Ada""#, to: store)
    #expect(try await Self.read(1, from: store) == #"{"user":{"id":"1","name":"Ada"}}"#)
    try await store.clear()
    #expect(try await Self.read(1, from: store) == "miss at user")
  }

  @Test("a user who may only read reads, and a write is refused")
  func readOnly() async throws {
    let url = try PostgresSchema.newForTest()
    try await Self.write(1, #""name":"Ada""#, to: try await Self.open(url))
    let store = try await Self.open(url + "%20-cdefault_transaction_read_only%3Don")
    #expect(try await Self.read(1, from: store) == #"{"user":{"id":"1","name":"Ada"}}"#)
    #expect(
      try await code { try await Self.write(2, #""name":"Eva""#, to: store) } == .readOnly)
  }

  @Test("tables of a newer version are refused, unchanged")
  func newerVersion() async throws {
    let url = try PostgresSchema.newForTest()
    try await Self.write(1, #""name":"Ada""#, to: try await Self.open(url))
    try PostgresConnection(url).run("UPDATE gqlrun_cache SET version = 2")
    #expect(try await code { _ = try await Self.open(url) } == .foreignDatabase)
  }

  @Test("a server that cannot be reached is an error without the password")
  func unreachable() async throws {
    let error = try await #require(throws: CacheError.self) {
      _ = try await Self.open("postgresql://ada:secret-word@127.0.0.1:1/none")
    }
    #expect(error.code == .storage)
    #expect(error.message.contains("127.0.0.1"))
    #expect(!error.message.contains("secret-word"))
  }

  @Test("lists of many records are read in a few requests")
  func readsAhead() async throws {
    let url = try PostgresSchema.newForTest()
    let store = try await Self.open(url)
    let document = "{ posts { id author { id name } } }"
    let posts = (0..<500).map {
      #"{"__typename":"Post","id":"\#($0)","author":{"__typename":"User","id":"u\#($0)","name":"n"}}"#
    }
    try await CacheUnderTest(store: store).write(
      #"{"data":{"posts":[\#(posts.joined(separator: ","))]}}"#, document)
    let plan = try prepare(document).plan
    let requests = try await store.connections.read { connection in
      let source = PostgresSource(connection)
      _ = try RecordReader(plan, source: source, types: ConcreteTypes()).read()
      return source.requests
    }
    // The root, the list's segments, the posts, the authors.
    #expect(requests <= 5)
  }
}

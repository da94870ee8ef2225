import GQLRunTestSupport
import Testing

/// A cache in PostgreSQL under real programs.
@Suite("The cache in PostgreSQL", .needsPostgres)
struct PostgresCacheTests {
  private static let pipeline = """
    version: 1
    endpoint: { url: "http://127.0.0.1:1/graphql" }
    store: { kind: postgres, url: "${env:CACHE_URL}" }
    keys: { types: { Country: [code] } }
    chain: [cache-read, fetch, response-code, parse, cache-write]
    """

  /// A folder with a pipeline file, and the URL of an empty schema.
  private static func folder() throws -> (Folder, url: String) {
    let folder = try Folder()
    try folder.write(pipeline, to: "shared.pipeline.yaml")
    try folder.write(
      #"{"data":{"country":{"__typename":"Country","code":"DE","name":"Germany"}}}"#,
      to: "de.json")
    let server = try PostgresServer.shared.get()
    let (name, url) = server.newSchema()
    try server.execute("CREATE SCHEMA \(name)")
    return (folder, url)
  }

  private static let document = "query($code:ID!){country(code:$code){code name}}"

  @Test("what one process stores, another one answers from the cache, lists and removes")
  func severalProcesses() async throws {
    let (folder, url) = try Self.folder()
    try folder.write(Self.document, to: "q.graphql")
    let result = try await Program.shell(
      """
      export CACHE_URL='\(url)'
      set -e
      "$GQLRUN" cache import q.graphql de.json --var code=DE --keys Country=code --store "$CACHE_URL"
      "$GQLRUN" run q.graphql --var code=DE --pipeline shared.pipeline.yaml --policy cache-only
      "$GQLRUN" cache get Country:DE --store "$CACHE_URL"
      "$GQLRUN" logout --pipeline shared.pipeline.yaml
      "$GQLRUN" cache get Country:DE --store "$CACHE_URL" || echo "exit $?"
      """, in: folder)
    #expect(result.status == 0, "\(result)")
    let lines = result.output.split(separator: "\n")
    #expect(lines.contains(#"{"data":{"country":{"code":"DE","name":"Germany"}}}"#), "\(result)")
    #expect(
      lines.contains { $0.contains(#""key":"Country:DE""#) && $0.contains(#""name":"Germany""#) })
    #expect(lines.last == "exit 1", "\(result)")
  }

  @Test("many processes that write at once all write")
  func writers() async throws {
    let (folder, url) = try Self.folder()
    try folder.write(Self.document, to: "q.graphql")
    let result = try await Program.shell(
      """
      export CACHE_URL='\(url)'
      ids=()
      for i in 0 1 2 3 4 5; do
        sed "s/DE/C$i/" de.json > $i.json
        "$GQLRUN" cache import q.graphql $i.json --var code=C$i --keys Country=code --store "$CACHE_URL" & ids+=($!)
      done
      for id in "${ids[@]}"; do wait $id || exit 1; done
      "$GQLRUN" cache dump --store "$CACHE_URL"
      """, in: folder)
    #expect(result.status == 0, "\(result)")
    for index in 0..<6 { #expect(result.output.contains(#""key":"Country:C\#(index)""#)) }
  }

  @Test("a database that cannot be reached is a warning, or an error for a required store")
  func unreachable() async throws {
    let (folder, _) = try Self.folder()
    try folder.write(
      Self.pipeline.replacing("CACHE_URL}\"", with: "CACHE_URL}\", required: true"),
      to: "required.pipeline.yaml")
    let environment = ["CACHE_URL": "postgresql://ada:secret-word@127.0.0.1:1/none"]
    for (file, status) in [("shared", Int32(69)), ("required", 65)] {
      let result = try await Program.run(
        ["run", Self.document, "--var", "code=DE", "--pipeline", "\(file).pipeline.yaml"],
        in: folder, environment: environment)
      #expect(result.status == status, "\(result)")
      #expect(result.errors.contains("cannot open the cache in PostgreSQL"), "\(result)")
      #expect(!result.errors.contains("secret-word"))
    }
  }
}

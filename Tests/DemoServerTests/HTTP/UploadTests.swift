import GQLRunDemoServer
import GQLRunJSON
import NIOCore
import Testing

/// Requests with files: https://github.com/jaydenseric/graphql-multipart-request-spec
@Suite(.timeLimit(.minutes(10))) struct UploadTests {
  private static let fields = "{ filename contentType size sha256 }"
  private static let one = "mutation ($file: Upload!) { uploadFile(file: $file) \(fields) }"
  /// The SHA-256 of `abc`.
  private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
  private static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  private static let headers = [
    "Content-Type": "multipart/form-data; boundary=Xy-1", "GraphQL-Preflight": "1",
  ]

  private static func part(_ name: String, _ value: String) -> String {
    "--Xy-1\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n"
  }

  private static func file(_ name: String, _ fileName: String, contents: String) -> String {
    "--Xy-1\r\nContent-Disposition: form-data; name=\"\(name)\"; filename=\"\(fileName)\"\r\n"
      + "Content-Type: image/png\r\n\r\n\(contents)\r\n"
  }

  private static func form(
    _ query: String, variables: String, map: String, _ files: String...
  ) -> String {
    let operations = "{\"query\":\(JSONValue.string(query).jsonText()),\"variables\":\(variables)}"
    return part("operations", operations) + part("map", map) + files.joined() + "--Xy-1--\r\n"
  }

  private func reply(
    _ form: String, headers: [String: String] = Self.headers
  ) async throws -> HTTPReply {
    try await RawClient.reply("POST", headers: headers, body: form)
  }

  private static func described(_ name: String, _ contents: String) throws -> JSONValue {
    let isEmpty = contents.isEmpty
    try #require(isEmpty || contents == "abc")
    return [
      "filename": .string(name), "contentType": "image/png", "size": isEmpty ? 0 : 3,
      "sha256": .string(isEmpty ? empty : abc),
    ]
  }

  @Test func `a file gives its name, type, size and hash`() async throws {
    let form = Self.form(
      Self.one, variables: #"{"file":null}"#, map: #"{"0":["variables.file"]}"#,
      Self.file("0", "a.png", contents: "abc")
    )
    try await DemoServer.withServer { server in
      let reply = try await RawClient(server)
        .send("POST", "/graphql", headers: Self.headers, body: form)
      #expect(reply.status == 200, "\(reply.text)")
      #expect(
        try JSONValue(parsing: reply.body)
          == ["data": ["uploadFile": try Self.described("a.png", "abc")]])
      // The log has the request, not the file.
      let logged = server.log.last?.bodyText ?? ""
      #expect(logged.hasPrefix(#"{"query":"mutation"#) && logged.hasSuffix(#"{"file":null}}"#))
    }
  }

  @Test func `files in a list and in an input object, one for several paths`() async throws {
    let form = Self.form(
      """
      mutation ($files: [Upload!]!, $input: AttachInput!) {
        uploadFiles(files: $files) \(Self.fields) attach(input: $input) { filename }
      }
      """, variables: #"{"files":[null,null],"input":{"attachments":[null,null]}}"#,
      map: #"{"a":["variables.files.1","variables.input.attachments.0"],"#
        + #""b":["variables.files.0","variables.input.attachments.1"]}"#,
      Self.file("a", #"na\"ïve; 名前.png"#, contents: "abc"), Self.file("b", "empty", contents: ""))
    let data = try JSONValue(parsing: try await reply(form).body)["data"]
    let name = "na\"ïve; 名前.png"
    #expect(
      data?["uploadFiles"]
        == [try Self.described("empty", ""), try Self.described(name, "abc")])
    #expect(data?["attach"] == [["filename": .string(name)], ["filename": "empty"]])
  }

  /// The delimiter is found wherever the pieces of the body begin and end.
  @Test func `a form may be cut at every byte`() async throws {
    let contents = "abc\r\n--Xy-\r\r\n--Xy\r\n\r"
    // The name of a header field may begin as the closing delimiter ends.
    let file = Self.file("0", "a.png", contents: contents)
      .replacing("Content-Type", with: "--x: y\r\nContent-Type")
    let form = Self.form(
      Self.one, variables: #"{"file":null}"#, map: #"{"0":["variables.file"]}"#, file)
    try await RawClient.withServer { client, _ in
      let whole = try await client.send("POST", "/graphql", headers: Self.headers, body: form)
      let size = try JSONValue(parsing: whole.body)["data"]?["uploadFile"]?["size"]
      #expect(size?.intValue == contents.utf8.count, "\(whole.text)")
      var headers = Self.headers
      headers["Transfer-Encoding"] = "chunked"
      for step in [1, 2, 3, 5, 7, 11] {
        let bytes = Array(form.utf8)
        var body = ""
        for start in stride(from: 0, to: bytes.count, by: step) {
          let piece = bytes[start..<min(start + step, bytes.count)]
          body +=
            "\(String(piece.count, radix: 16))\r\n\(String(decoding: piece, as: UTF8.self))\r\n"
        }
        let head = RawClient.request("POST", "/graphql", headers: headers)
        let reply = try await client.exchange(head + Array((body + "0\r\n\r\n").utf8))
        #expect(reply.text == whole.text, "pieces of \(step) bytes")
      }
    }
  }

  @Test func `an upload larger than the largest body is read`() async throws {
    var configuration = DemoServer.Configuration()
    configuration.maxBodyBytes = 1000
    let contents = String(repeating: "\r\n--Xy-2", count: 100_000)
    let form = Self.form(
      Self.one, variables: #"{"file":null}"#, map: #"{"0":["variables.file"]}"#,
      Self.file("0", "a.png", contents: contents))
    let reply = try await RawClient.reply(
      "POST", headers: Self.headers, body: form, configuration: configuration)
    let size = try JSONValue(parsing: reply.body)["data"]?["uploadFile"]?["size"]
    #expect(size?.intValue == contents.utf8.count, "\(reply.text)")
  }

  @Test(arguments: [
    (#"{"file":null}"#, #"{"0":["variables.other"]}"#, "is not null"),
    (#"{"file":"x"}"#, #"{"0":["variables.file"]}"#, "is not null"),
    (#"{"file":null}"#, #"{"0":["variables.file","variables.file"]}"#, "has two files"),
    (#"{"file":null}"#, #"{"0":[]}"#, "names no path"),
    (#"{"file":null}"#, #"{"0":["file"]}"#, "such as"),
    (#"{"file":null}"#, "[]", "is a JSON object"),
    (#"{"file":null}"#, #"{"1":["variables.file"]}"#, "does not name"),
    (#"{"file":null}"#, #"{"0":["variables.file"],"1":["variables.file.0"]}"#, "is not null"),
    (#"{"file":null,"more":null}"#, #"{"0":["variables.file"],"1":["variables.more"]}"#, "lacks 1"),
    ("1", "{}", "not an object"),
  ])
  func `a form that does not fit its map is refused`(
    _ variables: String, map: String, message: String
  ) async throws {
    let reply = try await reply(
      Self.form(Self.one, variables: variables, map: map, Self.file("0", "a", contents: "abc")))
    #expect(reply.status == 400 && reply.text.contains(message), "\(reply.text)")
  }

  @Test(arguments: [
    ("", "ends without"), ("--Xy-1", "ends without"), ("--Xy-1--\r\n", "operations and map"),
    ("--Xy-1\r\nContent-Disposition: form-data\r\n\r\n", "has no name"),
    ("--Xy-1\r\nx\r\n\r\n", "no colon"), ("--Xy-1 x\r\n", "text after the boundary"),
    ("--Xy-1\r\n" + String(repeating: "x", count: 20_000), "header fields"),
    (UploadTests.part("map", "{}"), "operations and map"),
    (UploadTests.part("operations", "[]") + "--Xy-1--", "not an array"),
    (UploadTests.part("operations", "{") + "--Xy-1--", "The request body is"),
    (
      UploadTests.part("operations", #"{"query":"{ __typename }"}"#) + "--Xy-1--",
      "operations and map"
    ),
  ])
  func `a broken form is refused`(_ form: String, _ message: String) async throws {
    let reply = try await reply(form)
    #expect(reply.status == 400 && reply.text.contains(message), "\(reply.text)")
  }

  @Test func `only a file is a value of the type Upload, and of no other`() async throws {
    try await RawClient.withServer { client, _ in
      let described: JSONValue = [
        "fileName": "a", "contentType": "b", "size": 1, "sha256": .string(Self.abc),
      ]
      for value in ["a.png", described] as [JSONValue] {
        let reply = try await client.post(Self.one, variables: ["file": value])
        #expect(reply.status == 422 && reply.text.contains("Upload value invalid"), "\(reply.text)")
      }
      let literal = try await client.post("mutation { uploadFile(file: \"a\") { size } }")
      #expect(literal.text.hasPrefix(#"{"data":null"#), "\(literal.text)")
      #expect(literal.text.contains("Upload value invalid"), "\(literal.text)")
      let form = Self.form(
        "query ($id: ID!) { node(id: $id) { id } }", variables: #"{"id":null}"#,
        map: #"{"0":["variables.id"]}"#, Self.file("0", "a", contents: "abc"))
      let other = try await client.send("POST", "/graphql", headers: Self.headers, body: form)
      #expect(other.status == 422 && other.text.contains("A file is no value of the type"))
    }
  }

  /// Web pages can send forms to other origins, but not these header fields.
  @Test func `a form needs a preflight field and a boundary`() async throws {
    let form = Self.form("{ __typename }", variables: "{}", map: "{}")
    var headers = Self.headers
    #expect(try await reply(form, headers: headers).status == 200)
    headers["GraphQL-Preflight"] = nil
    let refused = try await reply(form, headers: headers)
    #expect(refused.status == 400 && refused.text.contains("GraphQL-Require-Preflight"))
    headers["Apollo-Require-Preflight"] = "1"
    #expect(try await reply(form, headers: headers).status == 200)
    headers["Content-Type"] = "multipart/form-data"
    let unbounded = try await reply(form, headers: headers)
    #expect(unbounded.status == 400 && unbounded.text.contains("a boundary of"))
  }
}

import GQLRunJSON
import NIOCore
import Testing

@testable import GQLRunDemoServer

/// Responses in several parts, in both formats.
@Suite(.timeLimit(.minutes(10))) struct PartTests {
  private static let accept = [
    PartFormat.ids: "multipart/mixed;incrementalSpec=v0.2, application/json",
    .paths: "multipart/mixed;deferSpec=20220824, application/json",
  ]

  private func parts(_ query: String, _ format: PartFormat) throws -> [JSONValue] {
    let executor = DemoExecutor(feedSize: 2000)
    let request = OperationRequest(query: query)
    guard case .ready(let operation) = executor.prepare(request, isIncremental: true) else {
      Issue.record("the operation is refused")
      return []
    }
    #expect(operation.hasParts)
    var execution = executor.start(operation, as: format)
    var bytes: [UInt8] = []
    while let chunk = execution.next() { bytes += chunk.bytes }
    return try Self.parts(of: String(decoding: bytes, as: UTF8.self))
  }

  private static func parts(of body: String) throws -> [JSONValue] {
    let pieces = body.split(separator: "\r\n--graphql", omittingEmptySubsequences: false)
    #expect(pieces.first == "" && pieces.last == "--\r\n")
    return try pieces.dropFirst().dropLast().map { piece in
      let sides = piece.split(separator: "\r\n\r\n", maxSplits: 1)
      return try JSONValue(parsing: String(sides[1]))
    }
  }

  private static let documents = [
    "{ country(code: \"CA\") { code ... @defer { name capital } } }",
    "{ ... @defer(label: \"all\") { country(code: \"CA\") { code } } trouble { ok } }",
    "{ country(code: \"CA\") { ...F @defer languages { code } } } "
      + "fragment F on Country { name languages { name ... @defer { native } } }",
    "{ country(code: \"CA\") { continent { code } ... @defer { continent { name code } code } } }",
    "{ country(code: \"CA\") { ... @defer { ... @defer { name } code } } }",
    "{ languages { code ... @defer { name } } }",
    "{ languages @stream { code } }",
    "{ languages @stream(initialCount: 3, label: \"L\") { code countries { code } } }",
    "{ languages @stream(initialCount: 100000) { code } }",
    "{ feed(first: 40) { edges @stream(initialCount: 1) { node { id ... @defer { title } "
      + "tags @stream(initialCount: 2) { id } } } } }",
    "{ feed(first: 1500) { edges { node { id ... @defer { likeCount } } } } }",
    "{ search(text: \"user1\", first: 30) @stream { __typename ... on User @defer { login } } }",
    "{ trouble { ok ... @defer { error nested { items(size: 3) @stream } } } }",
    "{ country(code: \"CA\") { code ... @defer(if: false) { name } } languages @stream { code } }",
    "{ none: country(code: \"-\") { ... @defer { name } } languages @stream { code } }",
  ]

  @Test(arguments: documents, PartFormat.allCases)
  func `parts together are the response without directives`(
    _ document: String, _ format: PartFormat
  ) throws {
    let parts = try parts(document, format)
    let whole = try JSONValue(parsing: DemoExecutor(feedSize: 2000).execute(document))
    #expect(Self.merged(parts)["data"] == whole["data"])
    let errors = Self.merged(parts)["errors"]?.arrayValue ?? []
    #expect(errors.count == whole["errors"]?.arrayValue?.count ?? 0)
    #expect(parts.dropLast().allSatisfy { $0["hasNext"] == true })
    #expect(parts.last?["hasNext"] == false)
  }

  @Test func `parts with ids announce and complete what is pending`() throws {
    let parts = try parts(
      "{ country(code: \"CA\") { code ... @defer(label: \"N\") { name } } "
        + "languages @stream(initialCount: 1) { code } }", .ids)
    #expect(
      parts[0]["pending"]
        == [
          ["id": "0", "path": ["country"], "label": "N"], ["id": "1", "path": ["languages"]],
        ])
    #expect(
      parts[1] == [
        "incremental": [["id": "0", "data": ["name": "Canada"]]], "completed": [["id": "0"]],
        "hasNext": true,
      ])
    let completed = parts.dropFirst(2).map { $0["completed"] }
    #expect(completed.dropLast().allSatisfy { $0 == nil } && completed.last == [["id": "1"]])
    #expect(parts.count > 3)
  }

  @Test func `parts with paths name the position of each`() throws {
    let parts = try parts(
      "{ country(code: \"CA\") { ... @defer(label: \"N\") { name } } "
        + "languages @stream(initialCount: 1) { code } }",
      .paths)
    #expect(
      parts[1]["incremental"]
        == [["path": ["country"], "label": "N", "data": ["name": "Canada"]]])
    #expect(parts[2]["incremental"]?.arrayValue?.first?["path"] == ["languages", 1])
    #expect(parts[0]["pending"] == nil && parts[1]["completed"] == nil)
  }

  @Test(arguments: PartFormat.allCases)
  func `an error in a fragment does not null the object`(_ format: PartFormat) throws {
    let parts = try parts("{ trouble { ok ... @defer { requiredError } } }", format)
    #expect(parts[0]["data"] == ["trouble": ["ok": "ok"]])
    let error: JSONValue?
    switch format {
    case .ids:
      #expect(parts[1]["incremental"] == nil)
      error = parts[1]["completed"]?.arrayValue?.first?["errors"]?.arrayValue?.first
    case .paths:
      #expect(parts[1]["incremental"]?.arrayValue?.first?["data"] == .null)
      error = parts[1]["incremental"]?.arrayValue?.first?["errors"]?.arrayValue?.first
    }
    #expect(error?["path"] == ["trouble", "requiredError"])
  }

  @Test(arguments: PartFormat.allCases)
  func `an error in an element ends its list`(_ format: PartFormat) throws {
    let parts = try parts(
      "{ trouble { requiredItems(size: 100, failEvery: 60) @stream(initialCount: 2) } }", format)
    #expect(parts[0]["data"] == ["trouble": ["requiredItems": [0, 1]]])
    #expect(parts.count == 4 && parts[3]["hasNext"] == false)
    let text = parts[3].jsonText()
    #expect(text.contains("Element 59 fails.") && text.contains(#""requiredItems",59"#))
  }

  @Test func `a nulled parent takes its fragments along`() throws {
    let parts = try parts(
      "{ trouble { nested { ok ... @defer { ok2: ok } requiredError } } "
        + "languages @stream { code } }",
      .ids)
    #expect(parts[0]["data"]?["trouble"] == ["nested": .null])
    #expect(parts[0]["pending"]?.arrayValue?.count == 1)
  }

  @Test(arguments: PartFormat.allCases) func `a response over HTTP`(_ format: PartFormat)
    async throws
  {
    try await RawClient.withServer { client, _ in
      let headers = ["Accept": try #require(Self.accept[format])]
      let query = "{ country(code: \"CA\") { code ... @defer { name } } }"
      let reply = try await client.post(query, headers: headers)
      #expect(reply.status == 200 && reply.isComplete)
      #expect(reply[header: "content-type"] == format.contentType)
      #expect(try Self.parts(of: reply.text).count == 2)
      let cut = try await client.post(query, path: "/graphql?close-after=1", headers: headers)
      #expect(!cut.isComplete && cut.text.hasSuffix("\"hasNext\":true}\r\n--graphql"))
      // Without the directives, or without the client's consent, there is one response.
      let plain = try await client.post("{ country(code: \"CA\") { code } }", headers: headers)
      #expect(plain[header: "content-type"]?.hasPrefix("application/json") == true)
      let ignored = try await client.post(query, headers: ["Accept": "application/json"])
      #expect(ignored.text == #"{"data":{"country":{"code":"CA","name":"Canada"}}}"#)
    }
  }

  @Test func `the client's preference decides on the format`() {
    #expect(PartFormat.preferred(accept: Self.accept[.ids].map(AcceptedRange.all)) == .ids)
    #expect(
      PartFormat.preferred(
        accept: AcceptedRange.all(
          in: "multipart/mixed;incrementalSpec=v0.2;q=0.5, multipart/mixed;deferSpec=20220824"))
        == .paths)
    #expect(PartFormat.preferred(accept: AcceptedRange.all(in: "multipart/mixed, */*")) == nil)
  }

  @Test func `a list of any size is streamed in the memory of one part`() throws {
    let executor = DemoExecutor(feedSize: 200_000)
    let request = OperationRequest(
      query: "{ feed(first: 200000) { edges @stream { node { id ... @defer { title } } } } }")
    guard case .ready(let operation) = executor.prepare(request, isIncremental: true) else {
      Issue.record("the operation is refused")
      return
    }
    var execution = executor.start(operation, as: .ids)
    var largest = 0
    var parts = 0
    while parts < 20_000, let chunk = execution.next() {
      largest = max(largest, chunk.bytes.count)
      if chunk.endsPart { parts += 1 }
    }
    #expect(parts == 20_000 && largest < 100_000)
  }
}

extension PartTests {
  /// The parts as one response.
  private static func merged(_ parts: [JSONValue]) -> JSONValue {
    var data = parts.first?["data"] ?? .null
    var errors = parts.first?["errors"]?.arrayValue ?? []
    var paths: [String: [JSONValue]] = [:]
    for part in parts {
      for entry in part["pending"]?.arrayValue ?? [] {
        paths[entry["id"]?.stringValue ?? ""] = entry["path"]?.arrayValue
      }
      for entry in (part["incremental"]?.arrayValue ?? []) + (part["completed"]?.arrayValue ?? []) {
        errors += entry["errors"]?.arrayValue ?? []
        let id = entry["id"]?.stringValue
        var path = entry["path"]?.arrayValue ?? id.flatMap { paths[$0] } ?? []
        if let items = entry["items"]?.arrayValue {
          if id == nil { path.removeLast() }
          data = data.changed(at: path[...]) { .array(($0.arrayValue ?? []) + items) }
        } else if let fields = entry["data"] {
          data = data.changed(at: path[...]) { $0.merged(with: fields) }
        }
      }
    }
    return ["data": data, "errors": .array(errors)]
  }
}

extension JSONValue {
  fileprivate func changed(at path: ArraySlice<JSONValue>, _ change: (Self) -> Self) -> Self {
    guard let first = path.first else { return change(self) }
    if let index = first.intValue, var elements = arrayValue {
      elements[index] = elements[index].changed(at: path.dropFirst(), change)
      return .array(elements)
    }
    var members = objectValue ?? [:]
    let key = first.stringValue ?? ""
    members[key] = (members[key] ?? .null).changed(at: path.dropFirst(), change)
    return .object(members)
  }

  fileprivate func merged(with other: Self) -> Self {
    if let elements = arrayValue, let others = other.arrayValue, elements.count == others.count {
      return .array(zip(elements, others).map { $0.merged(with: $1) })
    }
    guard var members = objectValue, let others = other.objectValue else { return other }
    for other in others {
      members[other.key] = members[other.key]?.merged(with: other.value) ?? other.value
    }
    return .object(members)
  }
}

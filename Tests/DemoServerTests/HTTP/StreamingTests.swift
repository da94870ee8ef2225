import GQLRunJSON
import NIOCore
import Testing

@testable import GQLRunDemoServer

/// Answers of any size in the memory of one piece.
@Suite(.serialized, .timeLimit(.minutes(10))) struct StreamingTests {
  private static let feed: JSONValue = ["first": 12_000]

  @Test func `pieces are of one size, and together they are the response`() throws {
    let executor = DemoExecutor()
    let request = OperationRequest(
      query: ExecutionTests.benchmark, variables: ["first": 300])
    guard case .ready(let operation) = executor.prepare(request) else {
      Issue.record("the operation is refused")
      return
    }
    var execution = executor.start(operation)
    var pieces: [[UInt8]] = []
    while let piece = execution.next() { pieces.append(piece) }
    #expect(execution.isFinished)
    #expect(pieces.count > 10)
    for piece in pieces.dropLast() {
      #expect(
        piece.count >= OperationExecution.pieceSize
          && piece.count < OperationExecution.pieceSize + 2048)
    }
    let whole = executor.execute(ExecutionTests.benchmark, variables: ["first": 300])
    #expect(pieces.flatMap { $0 } == whole)
    #expect(try JSONValue(parsing: whole)["data"]?["feed"]?["edges"]?.arrayValue?.count == 300)
  }

  @Test func `a large answer is never held`() async throws {
    try await DemoServer.withServer { server in
      var reply = HTTPReply(keepsBody: false)
      let body =
        #"{"query":\#(JSONValue.string(ExecutionTests.benchmark)),"variables":\#(Self.feed)}"#
      let request = RawClient.request(
        "POST", "/graphql", headers: RawClient.json, body: body)
      try await RawClient(server).connect { inbound, outbound in
        try await outbound.write(ByteBuffer(bytes: request))
        for try await buffer in inbound {
          reply.feed(buffer.readableBytesView)
        }
      }
      #expect(reply.isComplete)
      #expect(reply.bodyCount > 50 << 20)
      #expect(server.log.bytesWritten == reply.bodyCount)
      #expect(server.log.largestChunk < OperationExecution.pieceSize + 2048)
    }
  }

  @Test func `a client that does not read holds the server back`() async throws {
    try await RawClient.withServer { client, server in
      let body =
        #"{"query":\#(JSONValue.string(ExecutionTests.benchmark)),"variables":{"first":1000000}}"#
      let request = RawClient.request(
        "POST", "/graphql", headers: RawClient.json, body: body)
      try await client.connect { inbound, outbound in
        try await outbound.write(ByteBuffer(bytes: request))
        var iterator = inbound.makeAsyncIterator()
        _ = try await iterator.next()
        // Meanwhile the server has time to answer others, and to write four gigabytes.
        for _ in 0..<200 { _ = try await client.post("{ countries { name } }") }
        #expect(server.log.bytesWritten < 64 << 20)
      }
    }
  }

  @Test func `a client may leave at any time`() async throws {
    try await RawClient.withServer { client, _ in
      let body = #"{"query":"{ feed(first: 1000000) { edges { node { body } } } }"}"#
      let request = RawClient.request(
        "POST", "/graphql", headers: RawClient.json, body: body)
      for pieces in 0..<4 {
        try await client.connect { inbound, outbound in
          try await outbound.write(ByteBuffer(bytes: request))
          var iterator = inbound.makeAsyncIterator()
          for _ in 0..<pieces { _ = try await iterator.next() }
        }
      }
      let reply = try await client.post("{ __typename }")
      #expect(reply.status == 200)
    }
  }
}

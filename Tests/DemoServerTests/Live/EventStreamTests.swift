import GQLRunJSON
import NIOCore
import Testing

@testable import GQLRunDemoServer

private let multipart = "multipart/mixed;boundary=x;subscriptionSpec=1.0"

/// Subscriptions over server-sent events and multipart responses.
@Suite(.timeLimit(.minutes(10))) struct EventStreamTests {
  private static let countdown = "subscription { countdown(from: 1, delay: 0) }"

  private func reply(
    _ query: String = countdown, accept: String, path: String = "/graphql"
  ) async throws -> HTTPReply {
    try await RawClient.reply(
      to: query, path: path, headers: ["Accept": accept], configuration: .patient)
  }

  @Test(arguments: ["text/event-stream", "*/*", "text/event-stream, application/json"])
  func `server-sent events`(_ accept: String) async throws {
    let reply = try await reply(accept: accept)
    #expect(reply.status == 200 && reply.isComplete)
    #expect(reply[header: "content-type"] == "text/event-stream; charset=utf-8")
    #expect(
      reply.text == """
        :

        event: next
        data: {"data":{"countdown":1}}

        event: next
        data: {"data":{"countdown":0}}

        event: complete
        data:


        """)
  }

  @Test(arguments: [multipart, "text/event-stream;q=0.5, multipart/mixed;subscriptionSpec=\"1.0\""])
  func `multipart responses`(_ accept: String) async throws {
    let reply = try await reply(accept: accept)
    #expect(reply.status == 200 && reply.isComplete)
    #expect(
      reply[header: "content-type"] == "multipart/mixed;boundary=graphql;subscriptionSpec=1.0")
    let part = "\r\nContent-Type: application/json\r\n\r\n"
    #expect(
      reply.text == "\r\n--graphql\(part){\"payload\":{\"data\":{\"countdown\":1}}}\r\n--graphql"
        + "\(part){\"payload\":{\"data\":{\"countdown\":0}}}\r\n--graphql--\r\n")
  }

  @Test func `a subscription by GET`() async throws {
    let reply = try await RawClient.reply(
      "GET", "/graphql?query=subscription%20%7Bcountdown(from:0)%7D",
      headers: ["Accept": "text/event-stream"], configuration: .patient)
    #expect(reply.text.contains(#"data: {"data":{"countdown":0}}"#))
  }

  @Test(arguments: ["application/json", "multipart/mixed, application/json"])
  func `a subscription needs an event stream`(_ accept: String) async throws {
    let reply = try await reply(accept: accept)
    #expect(reply.status == 406)
    #expect(reply.text.contains("text/event-stream"))
  }

  @Test func `an invalid operation is an event for clients that accept nothing else`() async throws
  {
    let events = try await reply("subscription { nope }", accept: "text/event-stream")
    #expect(events.status == 200)
    #expect(events.text.contains("event: next\ndata: {\"errors\":[{\"message\":\"Cannot query"))
    #expect(events.text.hasSuffix("event: complete\ndata:\n\n"))
    let single = try await reply(
      "subscription { nope }", accept: "text/event-stream, application/graphql-response+json")
    #expect(single.status == 422 && single.text.hasPrefix(#"{"errors":"#))
    let argument = try await reply(
      "subscription { countdown(from: -5) }", accept: "text/event-stream, application/json")
    #expect(argument.text.contains("must be at least 0; it is -5."))
  }

  @Test func `a query is one event`() async throws {
    let reply = try await reply("{ __typename }", accept: "text/event-stream")
    #expect(reply.text.contains("event: next\ndata: {\"data\":{\"__typename\":\"Query\"}}\n\n"))
    #expect(reply.text.hasSuffix("event: complete\ndata:\n\n"))
  }

  @Test func `an event may fail, and others follow`() async throws {
    let reply = try await reply(
      "subscription { countdown(from: 2, delay: 0, failAt: 1) }", accept: "text/event-stream")
    let events = reply.text.split(separator: "\n").filter { $0.hasPrefix("data: ") }
    #expect(events.count == 3)
    #expect(events[1].hasPrefix(#"data: {"data":null,"errors":[{"message":"The number 1 fails.""#))
  }

  @Test(arguments: ["text/event-stream", multipart], [0, 1, 3])
  func `close-after breaks the stream`(_ accept: String, _ count: Int) async throws {
    let reply = try await reply(
      "subscription { countdown(from: 9, delay: 0) }", accept: accept,
      path: "/graphql?close-after=\(count)")
    #expect(!reply.isComplete)
    #expect(reply.text.split(separator: "countdown").count - 1 == count)
  }

  @Test(arguments: ["text/event-stream", multipart])
  func `signs of life between events`(_ accept: String) async throws {
    let (ticks, continuation) = AsyncStream.makeStream(of: Void.self)
    var configuration = DemoServer.Configuration()
    configuration.heartbeat = .seconds(7)
    // Three heartbeats, then silence.
    for _ in 0..<3 { continuation.yield() }
    let times = TickSource(ticks)
    configuration.sleep = { duration in
      if duration == .seconds(7) { try await times.next() } else { try await waitForCancellation() }
    }
    let sign = accept == "text/event-stream" ? ":\n\n" : "{}\r\n--graphql"
    let expected = accept == "text/event-stream" ? 4 : 3
    try await DemoServer.withServer(configuration) { server in
      let body = #"{"query":"subscription { countdown(from: 1, delay: 5) }"}"#
      try await RawClient(server).connect { inbound, outbound in
        let request = RawClient.request(
          "POST", "/graphql", headers: ["Content-Type": "application/json", "Accept": accept],
          body: body)
        try await outbound.write(ByteBuffer(bytes: request))
        var reply = HTTPReply()
        var iterator = inbound.makeAsyncIterator()
        while !(reply.text.parts(endingWith: sign).count == expected
          && reply.text.contains("countdown")),
          let buffer = try await iterator.next()
        {
          reply.feed(buffer.readableBytesView)
        }
        #expect(reply.text.parts(endingWith: sign).count == expected)
      }
    }
  }

  @Test func `likes reach subscribers, each with its number, and they are forgotten`() async throws
  {
    let store = FeedStore()
    let likes = store.likes(of: 3)
    #expect(store.subscriberCount == 1)
    for _ in 0..<3 { _ = try store.like(3) }
    _ = try store.like(4)
    var iterator: AsyncStream<Int>.Iterator? = likes.makeAsyncIterator()
    for expected in 0...3 { #expect(await iterator?.next() == expected) }
    let waiting = Task { await store.likes(of: 3).first { $0 > 1000 } }
    waiting.cancel()
    _ = await waiting.value
    iterator = nil
    withExtendedLifetime(likes) {}
    #expect(store.subscriberCount <= 1)
  }

  @Test func `a slow subscriber keeps the newest likes`() async throws {
    let store = FeedStore()
    let likes = store.likes(of: 1)
    for _ in 0..<10_000 { _ = try store.like(1) }
    #expect(await likes.first { _ in true } == 10_000 - FeedStore.maxBufferedLikes + 1)
  }

  @Test func `the server likes posts by itself`() async throws {
    let times = TickSource()
    var configuration = DemoServer.Configuration()
    configuration.likeInterval = .milliseconds(3)
    configuration.sleep = { duration in
      if duration == .milliseconds(3) {
        try await times.next()
      } else {
        try await waitForCancellation()
      }
    }
    try await RawSocket.withServer(configuration) { socket in
      _ = try await socket.initialize()
      try await socket.subscribe("subscription { likesChanged(post: \"P_1\") { likeCount } }")
      let first = try #require(try await socket.message())
      times.tick(2)
      let second = try #require(try await socket.message())
      #expect(first != second)
    }
  }
}

extension String {
  fileprivate func parts(endingWith separator: String) -> [Substring] {
    Array(split(separator: separator, omittingEmptySubsequences: false).dropLast())
  }
}

/// Lets sleepers continue, one for each tick.
private final class TickSource: Sendable {
  private let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init(_ ticks: AsyncStream<Void>? = nil) {
    let own = AsyncStream.makeStream(of: Void.self)
    stream = ticks ?? own.stream
    continuation = own.continuation
  }

  func tick(_ count: Int) { for _ in 0..<count { continuation.yield() } }

  func next() async throws {
    guard await stream.first(where: { _ in true }) != nil else {
      return try await waitForCancellation()
    }
    try Task.checkCancellation()
  }
}

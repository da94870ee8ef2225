import GQLRunLive
import Testing

@Suite("Shared event streams")
struct SharedEventStreamTests {
  /// The events of a text that arrives in chunks of a size, and the error that ends it.
  private func events(
    _ text: String, chunk: Int, maxBytes: Int = 1000
  ) -> (events: [SharedEventStream.Event], error: StreamError?) {
    var stream = SharedEventStream(maxBytes: maxBytes)
    var events: [SharedEventStream.Event] = []
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: chunk) {
      let part = Array(bytes[start..<min(start + chunk, bytes.count)])
      let result = part.withUnsafeBytes { part in
        Result { () throws(StreamError) in
          var offset = 0
          while let event = try stream.next(part, from: &offset) { events.append(event) }
        }
      }
      if case .failure(let error) = result { return (events, error) }
    }
    return (events, nil)
  }

  private func expect(
    _ text: String, _ expected: [SharedEventStream.Event], _ message: String? = nil,
    location: SourceLocation = #_sourceLocation
  ) {
    for size in 1...max(text.utf8.count, 1) {
      let found = events(text, chunk: size)
      #expect(found.events == expected, "in chunks of \(size) bytes", sourceLocation: location)
      #expect(found.error?.message == message, sourceLocation: location)
    }
  }

  private func next(_ id: Int, _ payload: String) -> SharedEventStream.Event {
    .next(id, payload: Array(payload.utf8)[...])
  }

  @Test("have the events of several operations, and members in any order")
  func operations() {
    expect(
      """
      :

      event: next
      data: {"id":"1","payload":{"data":{"a":1}}}

      event: next
      data: {"payload":{"data":{"a":2}},
      data: "id":"2"}

      event: complete
      data: {"id":"1"}

      data: {"id":"2","payload":{}}

      event: complete
      data: {"id":"2"}


      """,
      [
        next(1, #"{"data":{"a":1}}"#), next(2, #"{"data":{"a":2}}"#), .complete(1), next(2, "{}"),
        .complete(2),
      ])
  }

  @Test("ignore ids of others, other events and an event that has no end")
  func ignored() {
    expect(
      """
      event: next
      data: {"id":"a-b","payload":{}}

      event: ping
      data: nonsense

      event: complete
      data: {"id":"1"}

      event: next
      data: {"id":"1","pay
      """, [.complete(1)])
  }

  @Test(
    "report what is wrong with an event",
    arguments: [
      "event: next\ndata: {\"payload\":{}}\n\n": "an event `next` has no id of an operation",
      "event: complete\ndata: {}\n\n": "an event `complete` has no id of an operation",
      "event: complete\n\n":
        "an event `complete` has no data, where an operation's id was expected",
      "event: next\ndata:\n\n": "an event `next` has no data, where an operation's id was expected",
      "event: next\ndata: {\"id\":\"1\"}\n\n": "the payload of an event `next` is not an object",
      "event: next\ndata: {\"id\":\"1\",\"payload\":[]}\n\n":
        "the payload of an event `next` is not an object",
      "data: {}\nevent: other\n\n": "the name of an event follows its data; it must precede them",
    ] as [String: String])
  func bad(_ text: String, _ message: String) {
    expect("event: complete\ndata: {\"id\":\"7\"}\n\n" + text, [.complete(7)], message)
  }

  @Test("an event that is too large is not kept")
  func large() {
    let text = "data: {\"id\":\"1\",\"payload\":\(String(repeating: " ", count: 1000))"
    for size in [1, 7, 2000] {
      let found = events(text, chunk: size)
      #expect(found.events.isEmpty)
      #expect(found.error == StreamError(.tooLarge, "an event is larger than 1000 bytes"))
    }
  }
}

import GQLRunLive
import Testing

/// What a splitter found in a stream: its payloads, and how it ended.
struct SplitStream: Equatable {
  var payloads: [String] = []
  var isComplete = false
  var error: StreamError?

  /// Feeds a text in chunks of the given size.
  init(_ text: String, _ splitter: some StreamSplitter, chunk: Int) {
    var splitter = splitter
    let bytes = Array(text.utf8)
    var payload: [UInt8]?
    do throws(StreamError) {
      for start in stride(from: 0, to: bytes.count, by: chunk) {
        let part = Array(bytes[start..<min(start + chunk, bytes.count)])
        var offset = 0
        while let piece = try Self.next(&splitter, part, &offset) {
          switch piece {
          case .begin: payload = []
          case .bytes(let range): payload?.append(contentsOf: part[range])
          case .held(let held): payload?.append(contentsOf: held)
          case .end:
            payloads.append(String(decoding: payload ?? [], as: UTF8.self))
            payload = nil
          case .complete: isComplete = true
          }
        }
      }
      try splitter.finish()
    } catch {
      self.error = error
    }
  }

  private static func next(
    _ splitter: inout some StreamSplitter, _ bytes: [UInt8], _ offset: inout Int
  ) throws(StreamError) -> StreamPiece? {
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(StreamError) in try splitter.next(bytes, from: &offset) }
    }
    return try result.get()
  }
}

/// One text, cut into chunks of every size.
func split(_ text: String, _ splitter: some StreamSplitter) -> SplitStream {
  let whole = SplitStream(text, splitter, chunk: max(text.utf8.count, 1))
  for size in 1..<max(text.utf8.count, 2) {
    #expect(SplitStream(text, splitter, chunk: size) == whole, "in chunks of \(size) bytes")
  }
  return whole
}

@Suite("Server-sent events")
struct EventStreamSplitterTests {
  @Test(
    "are split at empty lines, whatever ends the lines", arguments: ["\n", "\r", "\r\n"])
  func lines(_ end: String) {
    let found = split(
      [
        "event: next", "data: {\"a\":1}", "", "event:next", "data:{}", "", "event: complete", "",
        "",
      ]
      .joined(separator: end), EventStreamSplitter())
    #expect(found.payloads == ["{\"a\":1}", "{}"])
    #expect(found.isComplete)
    #expect(found.error == nil)
  }

  @Test("with several lines of data have line feeds between them")
  func severalLines() {
    let found = split(
      "data: {\ndata: \"a\":1\ndata\ndata: }\n\nevent: complete\n\n", EventStreamSplitter())
    #expect(found.payloads == ["{\n\"a\":1\n\n}"])
  }

  @Test("of other names, comments and other fields are ignored")
  func ignored() {
    let found = split(
      """
      \u{FEFF}: ping

      id: 7
      retry: 100
      event: ping
      data: nothing

      :
      event: next
      datas: no
      data: {}

      event: complete
      data:


      """, EventStreamSplitter())
    #expect(found.payloads == ["{}"])
    #expect(found.isComplete)
  }

  @Test("after `complete` are not read")
  func afterComplete() {
    let found = split(
      "event: complete\ndata: {}\n\nevent: next\ndata: {}\n\n", EventStreamSplitter())
    #expect(found.payloads == [])
    #expect(found.isComplete)
  }

  @Test(
    "that end early are an error",
    arguments: [
      ("", "the event stream ended without the event `complete`"),
      ("event: next\ndata: {}\n\n", "the event stream ended without the event `complete`"),
      ("event: next\ndata: {}\n", "the event stream ended inside an event"),
      ("event: complete\n", "the event stream ended without the event `complete`"),
    ])
  func truncated(_ text: String, _ message: String) {
    #expect(split(text, EventStreamSplitter()).error == StreamError(.truncated, message))
  }

  @Test("that are named after their data are an error")
  func lateName() {
    #expect(split("data: {}\nevent: complete\n\n", EventStreamSplitter()).error?.code == .malformed)
    #expect(
      split("data: {}\nevent: next\n\nevent: complete\n\n", EventStreamSplitter()).payloads == [
        "{}"
      ])
  }
}

@Suite("Multipart responses")
struct MultipartSplitterTests {
  private func split(_ text: String, boundary: String = "graphql") -> SplitStream {
    LiveTests.split(text, MultipartSplitter(boundary: boundary))
  }

  @Test("are split at the boundary, with or without carriage returns", arguments: ["\r\n", "\n"])
  func parts(_ end: String) {
    let found = split(
      [
        "--graphql", "Content-Type: application/json", "", "{}", "--graphql  ", "content-type: x",
        "",
        "{\"a\":1}", "--graphql--", "",
      ].joined(separator: end))
    #expect(found.payloads.map { $0.trimmed } == ["{}", "{\"a\":1}"])
    #expect(found.isComplete)
    #expect(found.error == nil)
  }

  @Test("have a preamble and an epilogue, which are ignored")
  func surroundings() {
    let found = split("{}\r\n--graphql\r\n\r\n{\"a\":1}\r\n--graphql--\r\n--graphql\r\n\r\n{}")
    #expect(found.payloads.map { $0.trimmed } == ["{\"a\":1}"])
    #expect(found.isComplete)
  }

  @Test("may use a dash as boundary")
  func dash() {
    let found = split(
      "\r\n---\r\nx: y\r\n\r\n{\"a\":[\n-1]}\r\n---\r\n\r\n{}\r\n-----\r\n", boundary: "-")
    #expect(found.payloads.map { $0.trimmed } == ["{\"a\":[\n-1]}", "{}"])
    #expect(found.isComplete)
  }

  @Test("contain text that begins like a delimiter")
  func almost() {
    let found = split("--graphql\n\n\"--graphql\"\n--graph\n--graphql--")
    #expect(found.payloads.map { $0.trimmed } == ["\"--graphql\"\n--graph"])
  }

  @Test("may end with an empty part")
  func emptyPart() {
    let found = split("--graphql\r\n\r\n{}\r\n--graphql\r\n\r\n\r\n--graphql--")
    #expect(found.payloads.map { $0.trimmed } == ["{}", ""])
    #expect(found.isComplete)
  }

  @Test("may end with a part without header fields")
  func barePart() {
    let found = split("--graphql\r\nx: y\r\n\r\n{}\r\n--graphql\r\n--graphql--")
    #expect(found.payloads.map { $0.trimmed } == ["{}"])
    #expect(found.isComplete)
  }

  @Test(
    "that end before the last boundary are an error",
    arguments: ["", "--graphql", "--graphql\r\n\r\n{}", "--graphql\r\n\r\n{}\r\n--graphql-"])
  func truncated(_ text: String) {
    #expect(split(text).error?.code == .truncated)
  }

  @Test("with header fields without end are an error")
  func longFields() {
    let text = "--graphql\r\n" + String(repeating: "x: y\r\n", count: 4_000)
    let found = SplitStream(text, MultipartSplitter(boundary: "graphql"), chunk: 1_000)
    #expect(found.error?.code == .tooLarge)
  }
}

@Suite("Messages with a payload")
struct EnvelopeSplitterTests {
  @Test(
    "give its bytes, wherever it is",
    arguments: [
      (#"{"payload":{"data":{"a":"}\"\\"}}}"#, #"{"data":{"a":"}\"\\"}}"#),
      (#" { "type" : "next", "payload" : [1, 2] , "id" : "1" } "#, "[1, 2]"),
      (#"{"a":{"payload":1},"payload":"x,}","b":[]}"#, #""x,}""#),
      (#"{"payload":12.5e3}"#, "12.5e3"),
    ])
  func payload(_ text: String, _ payload: String) {
    for size in 1...text.utf8.count {
      #expect(Envelope(text, chunk: size).payload == payload, "in chunks of \(size) bytes")
    }
  }

  @Test("give the other members, too")
  func others() throws {
    let text = #"{"id":"1","payload":null,"errors":[{"message":"}"}],"done":true}"#
    for size in 1...text.utf8.count {
      let envelope = Envelope(text, chunk: size)
      #expect(envelope.payload == nil)
      #expect(envelope.splitter.isNull)
      #expect(
        envelope.others == [
          "id=\"1\"", "payload=null", #"errors=[{"message":"}"}]"#, "done=true",
        ])
      #expect(envelope.splitter.hasEnded)
    }
  }

  @Test(
    "that are not objects are an error",
    arguments: [
      "[]", "{,}", #"{"a" 1}"#, #"{"a":1,}"#, #"{"a":1 2}"#, "{} {", "{1:2}", #"{"a":1}}"#,
    ])
  func malformed(_ text: String) {
    for size in 1...text.utf8.count {
      #expect(Envelope(text, chunk: size).error?.code == .malformed, "in chunks of \(size) bytes")
    }
  }

  @Test("that end early are an error", arguments: ["", "{", #"{"a":"#, #"{"payload":{"a":1}"#])
  func truncated(_ text: String) {
    #expect(Envelope(text, chunk: 1).error?.code == .truncated)
  }

  @Test("keep a bounded amount beside the payload")
  func limit() {
    let text = #"{"x":""# + String(repeating: "x", count: EnvelopeSplitter.maxBytes) + "\"}"
    #expect(Envelope(text, chunk: 4_096).error?.code == .tooLarge)
  }
}

private struct Envelope {
  var payload: String?
  var error: StreamError?
  var splitter = EnvelopeSplitter(member: "payload")

  var others: [String] {
    splitter.others.map {
      "\(String(decoding: $0.key, as: UTF8.self))=\(String(decoding: $0.value, as: UTF8.self))"
    }
  }

  init(_ text: String, chunk: Int) {
    let bytes = Array(text.utf8)
    var found: [UInt8]?
    do {
      for start in stride(from: 0, to: bytes.count, by: chunk) {
        let part = Array(bytes[start..<min(start + chunk, bytes.count)])
        var offset = 0
        try part.withUnsafeBytes { bytes in
          while let piece = try splitter.next(bytes, from: &offset) {
            switch piece {
            case .begin: found = []
            case .bytes(let range): found?.append(contentsOf: bytes[range])
            case .held, .end, .complete: break
            }
          }
        }
      }
      try splitter.finish()
    } catch {
      self.error = error as? StreamError
    }
    payload = found.map { String(decoding: $0, as: UTF8.self) }
  }
}

extension String {
  fileprivate var trimmed: String {
    String(drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
  }
}

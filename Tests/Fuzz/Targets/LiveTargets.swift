@testable import GQLRunJSON
@testable import GQLRunLive

/// What a splitter finds in a stream: payloads, and how it ends.
private struct Split: Equatable {
  var payloads: [[UInt8]] = []
  var isOpen = false
  var completed = 0
  var error: StreamError?
  var end: StreamError?

  init(_ splitter: some StreamSplitter, _ chunks: [[UInt8]]) {
    var splitter = splitter
    do throws(StreamError) {
      for chunk in chunks {
        let pieces = chunk.withUnsafeBytes { bytes in
          // Positions are those of this chunk.
          Self.pieces(&splitter, bytes)
        }
        for piece in pieces.found { take(piece, chunk) }
        if let error = pieces.error { throw error }
      }
      do throws(StreamError) { try splitter.finish() } catch { end = error }
    } catch {
      self.error = error
    }
  }

  private static func pieces(
    _ splitter: inout some StreamSplitter, _ bytes: UnsafeRawBufferPointer
  ) -> (found: [StreamPiece], error: StreamError?) {
    var (found, offset) = ([StreamPiece](), 0)
    do throws(StreamError) {
      while let piece = try splitter.next(bytes, from: &offset) {
        found.append(piece)
        expect(found.count <= 4 * bytes.count + 4, "a splitter that does not advance")
      }
      return (found, nil)
    } catch {
      return (found, error)
    }
  }

  private mutating func take(_ piece: StreamPiece, _ chunk: [UInt8]) {
    switch piece {
    case .begin:
      expect(!isOpen, "a payload begins within another")
      isOpen = true
      payloads.append([])
    case .bytes(let range): append(Array(chunk[range]))
    case .held(let bytes): append(bytes)
    // Also the end of a message without a payload.
    case .end: isOpen = false
    case .complete:
      isOpen = false
      completed += 1
    }
  }

  private mutating func append(_ bytes: [UInt8]) {
    expect(isOpen, "bytes outside of a payload")
    payloads[payloads.count - 1] += bytes
  }
}

private func checkChunks(_ splitter: some StreamSplitter, _ bytes: [UInt8], decision: UInt8) {
  let whole = Split(splitter, [bytes])
  expectEqual(Split(splitter, chunks(of: bytes, decision)), whole, of: "in chunks")
  expectEqual(Split(splitter, bytes.map { [$0] }), whole, of: "byte by byte")
}

/// Server-sent events in any chunks.
@Sendable func fuzzEventStreams(_ input: FuzzInput) throws {
  var input = input
  let decision = input.decide()
  checkChunks(EventStreamSplitter(isShared: decision % 2 == 0), input.bytes, decision: decision)
  let whole = sharedEvents([input.bytes])
  expectEqual(sharedEvents(chunks(of: input.bytes, decision)), whole, of: "shared, in chunks")
}

private func sharedEvents(_ chunks: [[UInt8]]) -> [String] {
  var stream = SharedEventStream(maxBytes: 200)
  var events: [String] = []
  for chunk in chunks {
    let more = chunk.withUnsafeBytes { bytes in
      var (found, offset) = ([String](), 0)
      do throws(StreamError) {
        while let event = try stream.next(bytes, from: &offset) {
          switch event {
          case .next(let id, let payload):
            found.append("next \(id) \(String(decoding: payload, as: UTF8.self))")
          case .complete(let id): found.append("complete \(id)")
          }
        }
        return (found, false)
      } catch {
        return (found + ["\(error)"], true)
      }
    }
    events += more.0
    if more.1 { break }
  }
  return events
}

/// Responses of the type `multipart/mixed` in any chunks, with boundaries that begin like their content.
@Sendable func fuzzMultipart(_ input: FuzzInput) throws {
  var input = input
  let decision = input.decide()
  let boundary = ["-", "--", "a", "aab", "gc0p4Jq0M2Yt08jU534c0p", "--a--"][Int(decision / 8 % 6)]
  checkChunks(MultipartSplitter(boundary: boundary), input.bytes, decision: decision)
}

/// Messages over WebSocket: the quick reading against the general one, in any chunks; a session takes any message.
@Sendable func fuzzSockets(_ input: FuzzInput) throws {
  var input = input
  let decision = input.decide()
  checkChunks(EnvelopeSplitter(member: "payload", limit: 400), input.bytes, decision: decision)
  checkChunks(EnvelopeSplitter(member: nil, limit: 400), input.bytes, decision: decision)
  let others = members(input.bytes, [input.bytes])
  expectEqual(members(input.bytes, chunks(of: input.bytes, decision)), others, of: "members")
  input.bytes.withUnsafeBytes { bytes in
    let plain = SocketMessage(plain: bytes)
    let general = try? SocketMessage(anyForm: bytes)
    if let plain, let general { expectEqual(general, plain, of: "the plain form") }
  }
  if (try? JSONValue(parsing: input.bytes)) != nil, input.bytes.first == UInt8(ascii: "{") {
    let found = try? JSONMembers.members(ofObject: input.bytes)
    expect(found != nil, "no members of a valid object")
  }
  if let value = try? JSONValue(parsing: input.bytes), let elements = value.arrayValue,
    input.bytes.first == UInt8(ascii: "[")
  {
    let found = try JSONMembers.elements(ofList: input.bytes).map { try JSONValue(parsing: $0) }
    expectEqual(found, elements, of: "elements")
  }
  try runSession(input.bytes, decision)
}

private func members(_ bytes: [UInt8], _ chunks: [[UInt8]]) -> [[String]] {
  var splitter = EnvelopeSplitter(member: "payload", limit: 400)
  for chunk in chunks {
    let isOver = chunk.withUnsafeBytes { bytes in
      var offset = 0
      do throws(StreamError) {
        while try splitter.next(bytes, from: &offset) != nil {}
        return false
      } catch {
        return true
      }
    }
    if isOver { return [] }
  }
  return splitter.others.map {
    [String(decoding: $0.key, as: UTF8.self), String(decoding: $0.value, as: UTF8.self)]
  }
}

/// The lines of the input are messages of a server.
private func runSession(_ bytes: [UInt8], _ decision: UInt8) throws {
  var session = SocketSession(parameters: nil, durations: .init(idle: .seconds(1)))
  var now = Duration.zero
  _ = session.opened(decision % 2 == 0 ? .transport : .legacy, at: now)
  for id in 1...2 { _ = session.begin(id, Array("{}".utf8)) }
  for message in bytes.split(separator: 0x0A, maxSplits: 20, omittingEmptySubsequences: false) {
    let received = Array(message).withUnsafeBytes { session.received($0, at: now) }
    if case .result(let id, let payload) = received {
      expect(session.isOpen && id >= 1 && id <= 2, "a result of \(id)")
      expect(payload.upperBound <= message.count, "a payload outside of its message")
    }
    now += .milliseconds(Int(decision) * 10)
    _ = session.check(at: now)
    expect(session.count <= 2, "more operations than were begun")
  }
}

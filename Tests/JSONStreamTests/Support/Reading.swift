import GQLRunTestSupport

@testable import GQLRunJSON

/// How a text arrives: the lengths of its pieces.
struct Cuts: Sendable, CustomStringConvertible {
  var description: String
  var lengths: @Sendable (_ total: Int) -> [Int]

  static let whole = Cuts(description: "in one piece") { [$0] }

  static func every(_ length: Int) -> Cuts {
    Cuts(description: "in pieces of \(length)") { total in
      stride(from: 0, to: total, by: length).map { min(length, total - $0) }
    }
  }

  static func at(_ position: Int) -> Cuts {
    Cuts(description: "cut at \(position)") { [min(position, $0), max($0 - position, 0)] }
  }

  static func random(seed: UInt64) -> Cuts {
    Cuts(description: "cut at random, seed \(seed)") { total in
      var random = SeededRandom(seed)
      var lengths: [Int] = []
      var rest = total
      while rest > 0 {
        let length = min(rest, Int.random(in: 1...17, using: &random))
        lengths.append(length)
        rest -= length
      }
      return lengths
    }
  }
}

/// What came of reading a text: the events as a transcript, and the error if there was one.
struct Reading {
  var transcript: [UInt8] = []
  var error: JSONError?
  var scope = JSONEventScope()
  /// How many bytes yajl looked at.
  var scanned = 0

  /// Whether this reading of a text that was cut says the same as the reading of the whole.
  ///
  /// Events and error code must be equal. So must the offset, except that of an offending token which was
  /// cut: then it is in that token, not at its start.
  func agrees(with whole: Reading) -> Bool {
    guard transcript == whole.transcript, error?.code == whole.error?.code else { return false }
    guard let error, let wholeError = whole.error else { return true }
    if error.offset == wholeError.offset { return true }
    return error.code == .syntax && error.offset > wholeError.offset
  }
}

/// The context of the transcribing handlers.
private struct Transcript {
  var scope: JSONEventScope
  var bytes: [UInt8] = []
  /// Cancel at this event; never if 0.
  var cancelAt: Int

  mutating func note(_ mark: Character, _ text: UnsafeRawBufferPointer? = nil) -> Int32 {
    bytes.append(mark.asciiValue ?? 0)
    if let text {
      bytes.append(contentsOf: String(text.count).utf8)
      bytes.append(UInt8(ascii: ":"))
      bytes.append(contentsOf: text)
    }
    return cancelAt != 0 && scope.events >= cancelAt ? 0 : 1
  }
}

private func transcript(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<Transcript> {
  guard let context else { preconditionFailure("the parser hands its context back") }
  return context.assumingMemoryBound(to: Transcript.self)
}

extension JSONEventHandlers {
  /// Writes every event down.
  fileprivate static var transcribing: JSONEventHandlers {
    JSONEventHandlers(
      null: {
        transcript($0).pointee.scope.count()
        return transcript($0).pointee.note("n")
      },
      boolean: {
        transcript($0).pointee.scope.count()
        return transcript($0).pointee.note($1 == 0 ? "f" : "t")
      },
      number: {
        guard transcript($0).pointee.scope.checkNumber($2) else { return 0 }
        return transcript($0).pointee.note("#", UnsafeRawBufferPointer(start: $1, count: $2))
      },
      string: {
        guard transcript($0).pointee.scope.checkString($2) else { return 0 }
        return transcript($0).pointee.note("s", UnsafeRawBufferPointer(start: $1, count: $2))
      },
      startObject: {
        guard transcript($0).pointee.scope.enter() else { return 0 }
        return transcript($0).pointee.note("{")
      },
      key: {
        guard transcript($0).pointee.scope.checkKey($2) else { return 0 }
        return transcript($0).pointee.note("k", UnsafeRawBufferPointer(start: $1, count: $2))
      },
      endObject: {
        transcript($0).pointee.scope.leave()
        return transcript($0).pointee.note("}")
      },
      startArray: {
        guard transcript($0).pointee.scope.enter() else { return 0 }
        return transcript($0).pointee.note("[")
      },
      endArray: {
        transcript($0).pointee.scope.leave()
        return transcript($0).pointee.note("]")
      })
  }
}

/// Reads a text that arrives in pieces.
///
/// Each piece is copied to memory of exactly its size, so that the address sanitizer sees a read beyond it.
///
/// - Parameter marksLast: Whether the parser knows which piece is the last one.
func read(
  _ text: [UInt8], _ cuts: Cuts = .whole, limits: JSONLimits = JSONLimits(),
  options: JSONParser.Options = JSONParser.Options(), cancelAt: Int = 0, marksLast: Bool = false
) -> Reading {
  let context = UnsafeMutablePointer<Transcript>.allocate(capacity: 1)
  context.initialize(to: Transcript(scope: JSONEventScope(limits: limits), cancelAt: cancelAt))
  defer {
    context.deinitialize(count: 1)
    context.deallocate()
  }
  var reading = Reading()
  do throws(JSONError) {
    var parser = try JSONParser(handlers: .transcribing, context: context, options: options)
    do throws(JSONError) {
      var position = 0
      for length in cuts.lengths(text.count) {
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 1)
        defer { piece.deallocate() }
        piece.copyBytes(from: text[position..<position + length])
        position += length
        try parser.feed(
          UnsafeRawBufferPointer(piece), isLast: marksLast && position == text.count)
      }
      try parser.finish()
    } catch {
      reading.error = error
    }
    reading.scanned = parser.scanned
  } catch {
    reading.error = error
  }
  reading.transcript = context.pointee.bytes
  reading.scope = context.pointee.scope
  return reading
}

func read(_ text: String, _ cuts: Cuts = .whole) -> Reading {
  read(Array(text.utf8), cuts)
}

extension JSONEventHandlers {
  /// Handlers that do nothing but count, for a context that is only a scope.
  static var counting: JSONEventHandlers {
    JSONEventHandlers(
      null: {
        scope($0).pointee.count()
        return 1
      },
      boolean: { context, _ in
        scope(context).pointee.count()
        return 1
      },
      number: { context, _, length in scope(context).pointee.checkNumber(length) ? 1 : 0 },
      string: { context, _, length in scope(context).pointee.checkString(length) ? 1 : 0 },
      startObject: { scope($0).pointee.enter() ? 1 : 0 },
      key: { context, _, length in scope(context).pointee.checkKey(length) ? 1 : 0 },
      endObject: {
        scope($0).pointee.leave()
        return 1
      },
      startArray: { scope($0).pointee.enter() ? 1 : 0 },
      endArray: {
        scope($0).pointee.leave()
        return 1
      })
  }
}

private func scope(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<JSONEventScope> {
  guard let context else { preconditionFailure("the parser hands its context back") }
  return context.assumingMemoryBound(to: JSONEventScope.self)
}

extension JSONParser {
  mutating func feed(_ text: String) throws {
    let bytes = Array(text.utf8)
    let result = bytes.withUnsafeBytes { bytes in Result { try feed(bytes) } }
    try result.get()
  }
}

/// A response as it came over a raw connection, read piece by piece.
struct HTTPReply: Sendable {
  private(set) var status = 0
  private(set) var headers: [(name: String, value: String)] = []
  private(set) var body: [UInt8] = []
  /// How many bytes of the body came, also when they are not kept.
  private(set) var bodyCount = 0
  /// Whether the body ended the way its head promised.
  private(set) var isComplete = false

  private let keepsBody: Bool
  private var pending: [UInt8] = []
  private var state = State.head

  private enum State {
    case head
    case length(Int)
    case chunkSize
    case chunk(Int)
    case chunkEnd, untilClose, done
  }

  init(keepsBody: Bool = true) {
    self.keepsBody = keepsBody
  }

  subscript(header name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  var text: String { String(decoding: body, as: UTF8.self) }

  mutating func feed(_ bytes: some Sequence<UInt8>) {
    pending.append(contentsOf: bytes)
    while step() {}
  }

  /// Reads one part of what is pending; false when more bytes are needed.
  private mutating func step() -> Bool {
    switch state {
    case .head:
      guard let end = pending.firstRange(of: Array("\r\n\r\n".utf8)) else { return false }
      readHead(String(decoding: pending[..<end.lowerBound], as: UTF8.self))
      pending.removeSubrange(..<end.upperBound)
    case .length(let count):
      if count == 0 { return end() }
      return take(count) { .length(count - $0) }
    case .chunkSize:
      guard let line = takeLine() else { return false }
      let size = Int(line, radix: 16) ?? 0
      state = size == 0 ? .done : .chunk(size)
      isComplete = size == 0
    case .chunk(let count):
      return take(count) { count == $0 ? .chunkEnd : .chunk(count - $0) }
    case .chunkEnd:
      guard takeLine() != nil else { return false }
      state = .chunkSize
    case .untilClose:
      return take(.max) { _ in .untilClose }
    case .done:
      return false
    }
    return true
  }

  private mutating func readHead(_ head: String) {
    let lines = head.split(separator: "\r\n")
    status = lines.first.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
    headers = lines.dropFirst().map { line in
      let sides = line.split(separator: ":", maxSplits: 1)
      return (String(sides[0]), String(sides[1].drop { $0 == " " }))
    }
    if self[header: "transfer-encoding"] == "chunked" {
      state = .chunkSize
    } else if let length = self[header: "content-length"].flatMap({ Int($0) }) {
      state = .length(length)
    } else {
      state = .untilClose
    }
  }

  private mutating func end() -> Bool {
    state = .done
    isComplete = true
    return false
  }

  private mutating func take(_ count: Int, next: (Int) -> State) -> Bool {
    guard !pending.isEmpty else { return false }
    let taken = min(count, pending.count)
    if keepsBody { body += pending[..<taken] }
    bodyCount += taken
    pending.removeFirst(taken)
    state = next(taken)
    return true
  }

  private mutating func takeLine() -> String? {
    guard let end = pending.firstRange(of: Array("\r\n".utf8)) else { return nil }
    defer { pending.removeSubrange(..<end.upperBound) }
    return String(decoding: pending[..<end.lowerBound], as: UTF8.self)
  }
}

import GQLRunJSON
import GQLRunPipeline

/// Extracts the values at a path from JSON text, chunk by chunk.
///
/// Buffers one extracted value, whatever the size of the text. The text comes from our own writer,
/// so its grammar is not validated again.
struct JSONPicker {
  private enum Key: Equatable {
    /// With quotation marks, as in the text.
    case name([UInt8])
    case each
    case index(Int)
  }

  private let path: ResultPath?
  private let keys: [Key]
  /// The first value whose shape does not fit the path; null fits any path.
  private(set) var mismatch: PathMismatch?
  /// The number of open containers, and how many of the outermost ones are on the path.
  private var depth = 0
  private var onPath = 0
  /// For each container on the path: whether it is a list, and the current index in it.
  private var isList: [Bool] = []
  private var location: [Int] = []
  private var expectsKey = false
  private var isMatch = true
  private var scanner = JSONScanner()
  private var isKey = false
  private var key: [UInt8] = []
  private var inScalar = false
  /// The depth at which the current extracted value began; -1 if there is none.
  private var pickDepth = -1
  private var picked: [UInt8] = []

  init(_ path: ResultPath?) {
    self.path = path
    keys = (path?.steps ?? []).map {
      switch $0 {
      case .key(let name): .name(Array("\"\(name)\"".utf8))
      case .each: .each
      case .index(let index): .index(index)
      }
    }
  }

  /// Parses a chunk, and passes the values that end in it to `body`.
  mutating func feed(
    _ bytes: UnsafeRawBufferPointer, _ body: ([UInt8]) throws -> Void
  ) rethrows {
    var offset = 0
    while let token = scanner.next(bytes, from: &offset) {
      switch token {
      case .string(let range, let isStart, let isEnd):
        if isStart { beginString() }
        if isKey { key += bytes[range] } else if pickDepth >= 0 { picked += bytes[range] }
        guard isEnd else { break }
        if isKey {
          isKey = false
          isMatch = keys[onPath - 1] == .name(key)
        } else if pickDepth == depth {
          try end(body)
        }
      case .scalar(let range, let isStart):
        if isStart { begin(bytes[range.lowerBound]) }
        inScalar = true
        if pickDepth >= 0 { picked += bytes[range] }
      case .mark(let mark):
        if inScalar { try endScalar(body) }
        try take(mark, body)
      case .whiteSpace:
        if inScalar { try endScalar(body) }
      }
    }
  }

  private mutating func beginString() {
    isKey = expectsKey && depth == onPath && pickDepth < 0
    if isKey {
      expectsKey = false
      key.removeAll(keepingCapacity: true)
    } else {
      begin(UInt8(ascii: "\""))
    }
  }

  private mutating func take(_ mark: UInt8, _ body: ([UInt8]) throws -> Void) rethrows {
    let isOpening = mark == UInt8(ascii: "{") || mark == UInt8(ascii: "[")
    let follows = isOpening && begin(mark)
    if pickDepth >= 0 { picked.append(mark) }
    switch mark {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      depth += 1
      guard follows else { return }
      onPath = depth
      let list = mark == UInt8(ascii: "[")
      isList.append(list)
      location.append(0)
      expectsKey = !list
      isMatch = list && matches(0)
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      depth -= 1
      if depth < onPath {
        onPath = depth
        isList.removeLast()
        location.removeLast()
        isMatch = false
        // An empty object ends without a key.
        expectsKey = false
      }
      if pickDepth == depth { try end(body) }
    case UInt8(ascii: ",") where pickDepth < 0 && depth == onPath && depth > 0:
      if isList[depth - 1] {
        location[depth - 1] += 1
        isMatch = matches(location[depth - 1])
      } else {
        expectsKey = true
      }
    default: break
    }
  }

  /// Passes a scalar that ends with the text to `body`.
  mutating func finish(_ body: ([UInt8]) throws -> Void) rethrows {
    if inScalar { try endScalar(body) }
    if pickDepth == 0, depth == 0, !picked.isEmpty { try end(body) }
  }

  /// Begins a value. Returns whether the path continues inside it.
  @discardableResult
  private mutating func begin(_ byte: UInt8) -> Bool {
    guard pickDepth < 0, depth == onPath, isMatch else { return false }
    if depth == keys.count {
      pickDepth = depth
      picked.removeAll(keepingCapacity: true)
      return false
    }
    if mismatch == nil, !fits(byte), let path {
      mismatch = PathMismatch(path, at: depth, isList: byte == UInt8(ascii: "["))
    }
    return true
  }

  /// Whether a value that begins with `byte` fits the next step of the path.
  private func fits(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "n"): true
    case UInt8(ascii: "{"): if case .name = keys[depth] { true } else { false }
    case UInt8(ascii: "["): if case .name = keys[depth] { false } else { true }
    default: false
    }
  }

  private func matches(_ index: Int) -> Bool {
    switch keys[onPath - 1] {
    case .each: true
    case .index(let wanted): wanted == index
    case .name: false
    }
  }

  private mutating func endScalar(_ body: ([UInt8]) throws -> Void) rethrows {
    inScalar = false
    if pickDepth == depth { try end(body) }
  }

  private mutating func end(_ body: ([UInt8]) throws -> Void) rethrows {
    pickDepth = -1
    isMatch = depth > 0 && isList[depth - 1] ? isMatch : false
    try body(picked)
    picked.removeAll(keepingCapacity: true)
  }
}

extension ResultData {
  /// Calls `body` with all values at a path that are not null; without a path, with the whole data.
  ///
  /// - Returns: The first value that does not fit the path; `nil` if all fit.
  @discardableResult
  func forEachValue(
    at path: ResultPath?, _ body: ([UInt8]) throws -> Void
  ) throws -> PathMismatch? {
    var picker = JSONPicker(path)
    func pass(_ bytes: [UInt8]) throws {
      if !bytes.elementsEqual("null".utf8) { try body(bytes) }
    }
    try forEachChunk { try picker.feed($0) { try pass($0) } }
    try picker.finish { try pass($0) }
    return picker.mismatch
  }
}

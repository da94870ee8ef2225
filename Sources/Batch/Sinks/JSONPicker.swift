import GQLRunPipeline

/// Extracts the values at a path from JSON text, chunk by chunk.
///
/// Buffers one extracted value, whatever the size of the text. The text comes from our own writer,
/// so its grammar is not validated again.
struct JSONPicker {
  private enum Key: Equatable {
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
  private var inString = false
  private var isEscaped = false
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
      case .key(let name): .name(Array(name.utf8))
      case .each: .each
      case .index(let index): .index(index)
      }
    }
  }

  /// Parses a chunk, and passes the values that end in it to `body`.
  mutating func feed(
    _ bytes: UnsafeRawBufferPointer, _ body: ([UInt8]) throws -> Void
  ) rethrows {
    for byte in bytes {
      if inString {
        if pickDepth >= 0 { picked.append(byte) } else if isKey, byte != 0x22 { key.append(byte) }
        if isEscaped {
          isEscaped = false
        } else if byte == 0x5C {
          isEscaped = true
        } else if byte == 0x22 {
          inString = false
          if isKey {
            isKey = false
            if pickDepth < 0 { isMatch = keys[onPath - 1] == .name(key) }
          } else if pickDepth == depth {
            try end(body)
          }
        }
        continue
      }
      switch byte {
      case 0x22:
        inString = true
        if expectsKey, depth == onPath, pickDepth < 0 {
          isKey = true
          expectsKey = false
          key.removeAll(keepingCapacity: true)
        } else {
          begin(byte)
          if pickDepth >= 0 { picked.append(byte) }
        }
      case 0x7B, 0x5B:
        let follows = begin(byte)
        if pickDepth >= 0 { picked.append(byte) }
        depth += 1
        if follows {
          onPath = depth
          let list = byte == 0x5B
          isList.append(list)
          location.append(0)
          expectsKey = !list
          isMatch = list && matches(0)
        }
      case 0x7D, 0x5D:
        if inScalar { try endScalar(body) }
        depth -= 1
        if pickDepth >= 0 { picked.append(byte) }
        if depth < onPath {
          onPath = depth
          isList.removeLast()
          location.removeLast()
          isMatch = false
        }
        if pickDepth == depth { try end(body) }
      case 0x2C:
        if inScalar { try endScalar(body) }
        if pickDepth >= 0 {
          picked.append(byte)
        } else if depth == onPath, depth > 0 {
          if isList[depth - 1] {
            location[depth - 1] += 1
            isMatch = matches(location[depth - 1])
          } else {
            expectsKey = true
          }
        }
      case 0x3A:
        if pickDepth >= 0 { picked.append(byte) }
      case 0x20, 0x09, 0x0A, 0x0D:
        if inScalar { try endScalar(body) }
      default:
        if !inScalar {
          begin(byte)
          inScalar = true
        }
        if pickDepth >= 0 { picked.append(byte) }
      }
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
      mismatch = PathMismatch(path, at: depth, isList: byte == 0x5B)
    }
    return true
  }

  /// Whether a value that begins with `byte` fits the next step of the path.
  private func fits(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "n"): true
    case 0x7B: if case .name = keys[depth] { true } else { false }
    case 0x5B: if case .name = keys[depth] { false } else { true }
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

/// A regular expression or glob that is matched in linear time, whatever the pattern.
///
/// Understands literals, `.`, `[a-z]`, `[^a-z]`, `\d`, `\w`, `\s` and their opposites, groups, `|`, `*`,
/// `+`, `?`, `{m}`, `{m,}`, `{m,n}`, `^` and `$`. There is no backtracking: all alternatives are
/// followed at once, so a pattern sent by a stranger cannot stall the server.
struct StringPattern: Sendable {
  /// What is wrong with a pattern.
  struct Failure: Error, Hashable {
    var message: String
  }

  /// The longest pattern, in Unicode scalars; it bounds the recursion over its parts.
  static let maxLength = 1000
  /// The most parts a pattern may have; repeated ones count as often as they repeat.
  static let maxParts = 4096
  /// How deep groups may nest.
  static let maxDepth = 64

  private enum Instruction: Sendable {
    case character(CharacterTest)
    case fork(Int, Int)
    case jump(Int)
    case start
    case end
    case match
  }

  private var program: [Instruction] = []
  private var parts = 0

  /// Compiles a regular expression that matches somewhere in a text.
  init(regex: String) throws(Failure) {
    try Self.requireLength(of: regex)
    var parser = PatternParser(regex)
    let node = try parser.parse()
    try emit(node)
    program.append(.match)
  }

  /// Compiles a glob for a whole text: `*` is any text, `?` one character, all else itself.
  init(glob: String) throws(Failure) {
    try Self.requireLength(of: glob)
    program.append(.start)
    for scalar in glob.unicodeScalars {
      switch scalar {
      case "*":
        let fork = program.count
        program += [.fork(fork + 1, fork + 3), .character(.any), .jump(fork)]
      case "?": program.append(.character(.any))
      default: program.append(.character(.one(scalar)))
      }
    }
    program += [.end, .match]
  }

  /// Whether the pattern matches somewhere in the text.
  func matches(_ text: String) -> Bool {
    let scalars = Array(text.unicodeScalars)
    var current = ThreadSet(count: program.count)
    var next = ThreadSet(count: program.count)
    for position in 0...scalars.count {
      if follow(0, at: position, of: scalars.count, into: &current) { return true }
      guard position < scalars.count else { break }
      next.removeAll()
      for thread in current.threads {
        guard case .character(let test) = program[thread], test.accepts(scalars[position]) else {
          continue
        }
        if follow(thread + 1, at: position + 1, of: scalars.count, into: &next) { return true }
      }
      swap(&current, &next)
    }
    return false
  }

  /// Adds what can be reached without reading a character; true when that includes the match.
  private func follow(
    _ first: Int, at position: Int, of count: Int, into set: inout ThreadSet
  ) -> Bool {
    var pending = [first]
    while let thread = pending.popLast() {
      guard set.insert(thread) else { continue }
      switch program[thread] {
      case .character: break
      case .fork(let first, let second): pending += [second, first]
      case .jump(let target): pending.append(target)
      case .start: if position == 0 { pending.append(thread + 1) }
      case .end: if position == count { pending.append(thread + 1) }
      case .match: return true
      }
    }
    return false
  }

  private static func requireLength(of pattern: String) throws(Failure) {
    guard pattern.unicodeScalars.count <= maxLength else {
      throw Failure(message: "The pattern is longer than \(maxLength) characters.")
    }
  }

  private mutating func emit(_ node: PatternNode) throws(Failure) {
    parts += 1
    guard parts <= Self.maxParts else {
      throw Failure(message: "The pattern is too large.")
    }
    switch node {
    case .empty: break
    case .character(let test): program.append(.character(test))
    case .start: program.append(.start)
    case .end: program.append(.end)
    case .sequence(let nodes):
      for node in nodes { try emit(node) }
    case .either(let first, let second):
      let fork = program.count
      program.append(.jump(0))
      try emit(first)
      let jump = program.count
      program.append(.jump(0))
      program[fork] = .fork(fork + 1, program.count)
      try emit(second)
      program[jump] = .jump(program.count)
    case .repetition(let body, let minimum, let maximum):
      for _ in 0..<minimum { try emit(body) }
      if let maximum {
        for _ in minimum..<maximum { try emitOptional(body) }
      } else {
        let fork = program.count
        program.append(.jump(0))
        try emit(body)
        program.append(.jump(fork))
        program[fork] = .fork(fork + 1, program.count)
      }
    }
  }

  private mutating func emitOptional(_ body: PatternNode) throws(Failure) {
    let fork = program.count
    program.append(.jump(0))
    try emit(body)
    program[fork] = .fork(fork + 1, program.count)
  }
}

/// Instructions to go on from, each at most once.
private struct ThreadSet {
  private(set) var threads: [Int] = []
  private var isMember: [Bool]

  init(count: Int) {
    isMember = Array(repeating: false, count: count)
  }

  mutating func insert(_ thread: Int) -> Bool {
    if isMember[thread] { return false }
    isMember[thread] = true
    threads.append(thread)
    return true
  }

  mutating func removeAll() {
    for thread in threads { isMember[thread] = false }
    threads.removeAll(keepingCapacity: true)
  }
}

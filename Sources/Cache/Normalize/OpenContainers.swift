/// One open object or list of the response.
struct OpenContainer {
  enum Kind: UInt8 { case envelope, root, object, list }

  var kind: Kind
  /// The object's plan, or -1 until its type is known; unused in lists.
  var plan: Int32 = -1
  /// The selection of the object or of the list's elements; -1 for lists of leaf values.
  var node: Int32 = -1
  /// The index of the field that is expected next.
  var next = 0
  /// The start of the text: its `{` or `[`, or the mark before it.
  var textStart = 0
  /// The start of the object's seen bits, and of its candidate ranges after them, in
  /// ``OpenContainers``.
  fileprivate var seenBase = 0
  fileprivate var candidateBase = 0
  /// The range of the value of `__typename` in the text, with its quotes; -1 if it is unknown.
  var typenameStart = -1
  var typenameEnd = -1
  /// Whether the object has fields that the operation does not select.
  fileprivate var hasUnknown = false
  /// The field whose value is being read, for paths in error messages.
  var field: UnsafeMutablePointer<FieldPlan>?
  /// Lists: the start of the current segment's elements, and the total number of elements.
  var segmentStart = 0
  var elementCount = 0
  /// Lists: the index of the first segment name in ``OpenContainers/segmentNames``.
  var firstSegment = 0
  /// Whether a later part of the response extends it.
  var isPart = false

  init(_ kind: Kind) { self.kind = kind }
}

/// The open objects and lists of a response: which fields of each object occurred, and where the
/// values are that may be part of its key.
///
/// The memory grows with the depth of the response; events do not allocate.
struct OpenContainers: ~Copyable {
  private var containers: UnsafeMutablePointer<OpenContainer>
  private(set) var depth = 0
  private var capacity = 8
  private let maxDepth: Int
  /// For each open object: a bit for each field, set when its key occurred; then the start and end
  /// of each value that may be part of the object's key.
  private var words: UnsafeMutablePointer<Int>
  private var wordCount = 0
  private var wordCapacity = 64
  /// The keys that the operation does not select, by depth.
  private var unknownKeys = KeyHashes()
  /// The names of the segments of open lists.
  var segmentNames: [UInt64] = []

  init(maxDepth: Int) {
    self.maxDepth = maxDepth
    containers = .allocate(capacity: capacity)
    words = .allocate(capacity: wordCapacity)
  }

  deinit {
    containers.deallocate()
    words.deallocate()
  }

  /// The innermost container; valid until the next ``push(_:)``.
  @inline(__always)
  var top: UnsafeMutablePointer<OpenContainer> {
    assert(depth > 0)
    return containers + (depth &- 1)
  }

  subscript(index: Int) -> OpenContainer {
    precondition(index >= 0 && index < depth)
    return containers[index]
  }

  @inline(__always)
  mutating func push(_ container: OpenContainer) {
    if depth == capacity { grow() }
    (containers + depth).initialize(to: container)
    depth &+= 1
  }

  @inline(never)
  private mutating func grow() {
    // The parser enforces the depth limit first; a deferred object adds no depth.
    precondition(depth < maxDepth, "more open containers than the depth limit allows")
    capacity *= 2
    containers = containers.grown(to: capacity, keeping: depth)
  }

  @inline(__always)
  mutating func pop() {
    if top.pointee.plan >= 0 { wordCount = top.pointee.seenBase }
    depth &-= 1
  }

  // MARK: Fields of objects

  /// Sets the plan of the innermost object. None of its fields has occurred yet.
  @inline(__always)
  mutating func setPlan(_ plan: Int32, _ object: UnsafeMutablePointer<ObjectPlan>) {
    let seenWords = object.pointee.seenWords
    let count = seenWords &+ 2 &* object.pointee.candidateCount
    top.pointee.plan = plan
    top.pointee.seenBase = wordCount
    top.pointee.candidateBase = wordCount &+ seenWords
    if wordCapacity &- wordCount < count { growWords(count) }
    var i = 0
    while i < count {
      words[wordCount &+ i] = 0
      i &+= 1
    }
    wordCount &+= count
  }

  @inline(never)
  private mutating func growWords(_ extra: Int) {
    while wordCapacity - wordCount < extra { wordCapacity *= 2 }
    words = words.grown(to: wordCapacity, keeping: wordCount)
  }

  /// Marks the field with this index of an object as seen; returns false if it already was.
  @inline(__always)
  func markSeen(_ index: Int, of object: UnsafeMutablePointer<OpenContainer>) -> Bool {
    let seen = words + (object.pointee.seenBase &+ index >> 6)
    let bit = 1 << (index & 63)
    if seen.pointee & bit != 0 { return false }
    seen.pointee |= bit
    return true
  }

  /// Sets the range of a value that may be part of an object's key.
  @inline(__always)
  func setCandidate(
    _ candidate: Int32, of object: UnsafeMutablePointer<OpenContainer>, start: Int, end: Int
  ) {
    let slot = words + (object.pointee.candidateBase &+ 2 &* Int(candidate))
    slot[0] = start
    slot[1] = end
  }

  /// The range of a value that may be part of an object's key; empty if the object lacks it.
  @inline(__always)
  func candidate(
    _ candidate: Int32, of object: UnsafeMutablePointer<OpenContainer>
  ) -> (start: Int, end: Int) {
    let slot = words + (object.pointee.candidateBase &+ 2 &* Int(candidate))
    return (slot[0], slot[1])
  }

  /// Adds a key that the operation does not select to the innermost object; returns false if the
  /// object already has it.
  @inline(never)
  mutating func addUnknownKey(_ key: Bytes) -> Bool {
    if !top.pointee.hasUnknown {
      top.pointee.hasUnknown = true
      unknownKeys.begin(depth &- 1)
    }
    return unknownKeys.insert(key, at: depth &- 1)
  }
}

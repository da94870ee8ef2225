/// A value that is captured as text or skipped, while it is open.
struct Capture {
  /// What the captured text is for.
  enum Target: UInt8 {
    /// A custom scalar as the value of a field, or as a list element.
    case leaf, element
    /// An object whose type comes after fields whose meaning depends on it.
    case deferred
    /// A member of the response beside `data`.
    case errors, extensions
  }

  private(set) var target = Target.leaf
  /// The start of the captured text.
  private(set) var start = 0
  /// The number of open containers of the value, and of objects among them.
  private var depth = 0
  private var objectDepth = 0
  private var keys = KeyHashes()

  /// Starts a value that is captured as the text from `start` on.
  mutating func begin(_ target: Target, start: Int, opening: UInt8) {
    self.target = target
    self.start = start
    begin(opening)
  }

  /// Starts a container of the value; the first one starts a skipped value.
  mutating func begin(_ opening: UInt8) {
    depth &+= 1
    guard opening == UInt8(ascii: "{") else { return }
    keys.begin(objectDepth)
    objectDepth &+= 1
  }

  /// Ends a container; returns whether the value is complete.
  mutating func end(_ closing: UInt8) -> Bool {
    depth &-= 1
    if closing == UInt8(ascii: "}") { objectDepth &-= 1 }
    return depth == 0
  }

  /// Adds a key of the innermost object; returns false if the object already has it.
  mutating func add(_ key: Bytes) -> Bool {
    keys.insert(key, at: objectDepth &- 1)
  }
}

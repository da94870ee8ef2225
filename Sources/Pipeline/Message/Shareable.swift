/// A value that copies share until one of them is changed (copy-on-write).
struct Shareable<Value: Sendable>: Sendable {
  /// Sendable: `value` is only written in `_modify`, after checking that the reference to the box
  /// is unique. Every other owner sees a value that does not change.
  private final class Box: @unchecked Sendable {
    var value: Value

    init(_ value: Value) { self.value = value }
  }

  private var box: Box

  init(_ value: Value) { box = Box(value) }

  var value: Value {
    @inline(__always) _read { yield box.value }
    _modify {
      if !isKnownUniquelyReferenced(&box) { copy() }
      yield &box.value
    }
  }

  /// Not inlined: the frames of asynchronous functions would hold a whole value at each change.
  @inline(never)
  private mutating func copy() { box = Box(box.value) }
}

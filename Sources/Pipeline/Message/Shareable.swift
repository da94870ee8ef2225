/// A value that copies share until one of them is changed.
struct Shareable<Value: Sendable>: Sendable {
  /// Sendable: `value` is written in `_modify` only, after it was made sure that nobody else refers to the
  /// box; whoever has a reference of its own sees a value that does not change.
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

  /// Out of line: asynchronous functions would keep room for a whole value at each place that changes one.
  @inline(never)
  private mutating func copy() { box = Box(box.value) }
}

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
      if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
      yield &box.value
    }
  }
}

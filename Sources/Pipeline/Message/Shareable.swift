/// A value that copies share until one of them is changed.
struct Shareable<Value: Sendable>: Sendable {
  /// Sendable: what several refer to is never written to.
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

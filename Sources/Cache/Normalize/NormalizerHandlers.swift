import GQLRunJSON

/// The callbacks of yajl: each gets the state from the context, lets the scope count the event and
/// enforce the limits, and forwards the event.
let normalizerHandlers = JSONEventHandlers(
  null: { context in
    guard let state = state(context) else { return 0 }
    state.pointee.scope.count()
    return state.pointee.onNull() ? 1 : 0
  },
  boolean: { context, value in
    guard let state = state(context) else { return 0 }
    state.pointee.scope.count()
    let text: StaticString = value != 0 ? "true" : "false"
    return state.pointee.onLiteral(
      Bytes(start: text.utf8Start, count: text.utf8CodeUnitCount), "a boolean") ? 1 : 0
  },
  number: { context, text, count in
    guard let state = state(context), let text else { return 0 }
    guard state.pointee.scope.checkNumber(count) else { return 0 }
    let start = UnsafeRawPointer(text).assumingMemoryBound(to: UInt8.self)
    return state.pointee.onLiteral(Bytes(start: start, count: count), "a number") ? 1 : 0
  },
  string: { context, text, count in
    guard let state = state(context) else { return 0 }
    guard state.pointee.scope.checkString(count) else { return 0 }
    return state.pointee.onString(Bytes(start: text ?? Bytes.emptyStart, count: count)) ? 1 : 0
  },
  startObject: { context in
    guard let state = state(context), state.pointee.scope.enter() else { return 0 }
    return state.pointee.onStartObject() ? 1 : 0
  },
  key: { context, text, count in
    guard let state = state(context) else { return 0 }
    guard state.pointee.scope.checkKey(count) else { return 0 }
    return state.pointee.onKey(Bytes(start: text ?? Bytes.emptyStart, count: count)) ? 1 : 0
  },
  endObject: { context in
    guard let state = state(context) else { return 0 }
    state.pointee.scope.leave()
    return state.pointee.onEndObject() ? 1 : 0
  },
  startArray: { context in
    guard let state = state(context), state.pointee.scope.enter() else { return 0 }
    return state.pointee.onStartArray() ? 1 : 0
  },
  endArray: { context in
    guard let state = state(context) else { return 0 }
    state.pointee.scope.leave()
    return state.pointee.onEndArray() ? 1 : 0
  })

@inline(__always)
private func state(
  _ context: UnsafeMutableRawPointer?
) -> UnsafeMutablePointer<NormalizerState>? {
  context?.assumingMemoryBound(to: NormalizerState.self)
}

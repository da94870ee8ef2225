package import GQLRunCache
package import GQLRunJSON

/// Analyzes a response as it streams, in bounded memory.
package final class ShapeAnalyzer {
  private let state: UnsafeMutablePointer<ShapeState>
  private var parser: JSONParser

  /// - Parameter keys: The key fields of each type.
  package init(keys: KeyRules) throws {
    state = .allocate(capacity: 1)
    state.initialize(
      to: ShapeState(
        keyFields: { keys.types[$0] ?? keys.defaultFields },
        names: keys.types.values.reduce(into: Set(keys.defaultFields)) { $0.formUnion($1) }))
    do {
      parser = try JSONParser(handlers: shapeHandlers, context: state)
    } catch {
      state.deinitialize(count: 1)
      state.deallocate()
      throw error
    }
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
  }

  package func feed(_ bytes: UnsafeRawBufferPointer) throws(JSONError) { try parser.feed(bytes) }

  package func finish() throws(JSONError) -> ShapeReport {
    try parser.finish()
    return state.pointee.report
  }

  /// Analyzes a file.
  package static func analyze(_ path: String, keys: KeyRules) throws -> ShapeReport {
    let analyzer = try ShapeAnalyzer(keys: keys)
    let file = try ResponseFile(path)
    while let chunk = try file.next() { try analyzer.feed(chunk) }
    return try analyzer.finish()
  }
}

private let shapeHandlers = JSONEventHandlers(
  null: { context in
    guard let state = shape(context) else { return 0 }
    state.pointee.scope.count()
    state.pointee.scalar(count: 4, isNull: true)
    return 1
  },
  boolean: { context, value in
    guard let state = shape(context) else { return 0 }
    state.pointee.scope.count()
    state.pointee.scalar(count: value == 0 ? 5 : 4, isNull: false)
    return 1
  },
  number: { context, text, count in
    guard let state = shape(context), state.pointee.scope.checkNumber(count) else { return 0 }
    state.pointee.text(UnsafeRawBufferPointer(start: text, count: count), isString: false)
    return 1
  },
  string: { context, text, count in
    guard let state = shape(context), state.pointee.scope.checkString(count) else { return 0 }
    state.pointee.text(UnsafeRawBufferPointer(start: text, count: count), isString: true)
    return 1
  },
  startObject: { context in
    guard let state = shape(context), state.pointee.scope.enter() else { return 0 }
    state.pointee.open(isObject: true)
    return 1
  },
  key: { context, text, count in
    guard let state = shape(context), state.pointee.scope.checkKey(count) else { return 0 }
    state.pointee.key(UnsafeRawBufferPointer(start: text, count: count))
    return 1
  },
  endObject: { context in
    guard let state = shape(context) else { return 0 }
    state.pointee.scope.leave()
    state.pointee.close()
    return 1
  },
  startArray: { context in
    guard let state = shape(context), state.pointee.scope.enter() else { return 0 }
    state.pointee.open(isObject: false)
    return 1
  },
  endArray: { context in
    guard let state = shape(context) else { return 0 }
    state.pointee.scope.leave()
    state.pointee.close()
    return 1
  })

private func shape(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<ShapeState>? {
  context?.assumingMemoryBound(to: ShapeState.self)
}

/// Builds a ``JSONValue`` from a text that arrives in chunks.
public struct JSONValueBuilder: ~Copyable {
  private var parser: JSONParser
  private let context: UnsafeMutablePointer<TreeContext>

  /// Creates a builder for one text.
  ///
  /// - Throws: ``JSONError/Code/outOfMemory`` if the parser cannot be allocated.
  public init(
    options: JSONValue.ParsingOptions = JSONValue.ParsingOptions()
  ) throws(JSONError) {
    let context = UnsafeMutablePointer<TreeContext>.allocate(capacity: 1)
    context.initialize(to: TreeContext(options: options))
    do throws(JSONError) {
      parser = try JSONParser(handlers: .tree, context: context)
    } catch {
      context.deinitialize(count: 1)
      context.deallocate()
      throw error
    }
    self.context = context
  }

  deinit {
    context.deinitialize(count: 1)
    context.deallocate()
  }

  /// Parses the next chunk of the text.
  ///
  /// - Throws: The first error of the text; every further call throws it again.
  public mutating func feed(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
    try parser.feed(bytes)
  }

  /// Ends the text and returns its value.
  ///
  /// - Throws: ``JSONError/Code/unexpectedEnd`` if the text is incomplete, or another error of the
  ///   text.
  public mutating func finish() throws(JSONError) -> JSONValue {
    try parser.finish()
    guard let value = context.pointee.values.last else {
      preconditionFailure("a complete text has a value")
    }
    return value
  }
}

/// The containers under construction. Starts with the scope, like every handler context.
private struct TreeContext {
  var scope: JSONEventScope
  let allowsDuplicateKeys: Bool
  /// Complete values whose container is still open, with their keys at the same indices in `keys`.
  var values: [JSONValue] = []
  var keys: [String] = []
  /// The index of the first value and key of each open container.
  var starts: [(values: Int, keys: Int)] = []

  init(options: JSONValue.ParsingOptions) {
    scope = JSONEventScope(limits: options.limits)
    allowsDuplicateKeys = options.allowsDuplicateKeys
  }

  mutating func start() -> Int32 {
    guard scope.enter() else { return 0 }
    starts.append((values.count, keys.count))
    return 1
  }

  mutating func endArray() -> Int32 {
    scope.leave()
    let start = starts.removeLast().values
    let elements = Array(values[start...])
    values.removeSubrange(start...)
    values.append(.array(elements))
    return 1
  }

  mutating func endObject() -> Int32 {
    scope.leave()
    let start = starts.removeLast()
    let members = zip(keys[start.keys...], values[start.values...]).map {
      JSONObject.Member(key: $0, value: $1)
    }
    values.removeSubrange(start.values...)
    keys.removeSubrange(start.keys...)
    var hasDuplicates = false
    let object = JSONObject(members: members) { _ in hasDuplicates = true }
    if hasDuplicates && !allowsDuplicateKeys {
      scope.fail(.duplicateKey)
      return 0
    }
    values.append(.object(object))
    return 1
  }
}

extension JSONEventHandlers {
  /// Handlers that build a ``JSONValue`` in a `TreeContext`.
  fileprivate static var tree: JSONEventHandlers {
    JSONEventHandlers(
      null: { context in
        let tree = treeContext(context)
        tree.pointee.scope.count()
        tree.pointee.values.append(.null)
        return 1
      },
      boolean: { context, value in
        let tree = treeContext(context)
        tree.pointee.scope.count()
        tree.pointee.values.append(.boolean(value != 0))
        return 1
      },
      number: { context, text, length in
        let tree = treeContext(context)
        guard tree.pointee.scope.checkNumber(length) else { return 0 }
        let bytes = UnsafeRawBufferPointer(start: text, count: length)
        let number = JSONNumber(verified: String(decoding: bytes, as: UTF8.self))
        tree.pointee.values.append(.number(number))
        return 1
      },
      string: { context, text, length in
        let tree = treeContext(context)
        guard tree.pointee.scope.checkString(length) else { return 0 }
        let bytes = UnsafeRawBufferPointer(start: text, count: length)
        tree.pointee.values.append(.string(String(decoding: bytes, as: UTF8.self)))
        return 1
      },
      startObject: { treeContext($0).pointee.start() },
      key: { context, text, length in
        let tree = treeContext(context)
        guard tree.pointee.scope.checkKey(length) else { return 0 }
        let bytes = UnsafeRawBufferPointer(start: text, count: length)
        tree.pointee.keys.append(String(decoding: bytes, as: UTF8.self))
        return 1
      },
      endObject: { treeContext($0).pointee.endObject() },
      startArray: { treeContext($0).pointee.start() },
      endArray: { treeContext($0).pointee.endArray() })
  }
}

private func treeContext(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<TreeContext> {
  context.unsafelyUnwrapped.assumingMemoryBound(to: TreeContext.self)
}

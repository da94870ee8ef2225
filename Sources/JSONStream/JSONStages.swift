import CYajl

/// yajl alone, without handlers and without guard: the floor under every figure of parsing.
///
/// It reads the text and tells nobody. Not for use: it accepts what the guard refuses.
package struct BareParser: ~Copyable {
  private let handle: OpaquePointer

  package init() throws(JSONError) {
    guard let handle = yajl_alloc(nil, nil, nil) else {
      throw JSONError(code: .outOfMemory, message: "no memory for a JSON parser", offset: 0)
    }
    self.handle = handle
  }

  deinit { yajl_free(handle) }

  /// Reads the next bytes. Returns false when yajl refuses the text.
  package mutating func feed(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress else { return true }
    return yajl_parse(handle, base.assumingMemoryBound(to: UInt8.self), bytes.count)
      == yajl_status_ok
  }

  /// Says that the text has ended. Returns false when it ended too early.
  package mutating func finish() -> Bool { yajl_complete_parse(handle) == yajl_status_ok }
}

/// The guard alone, for measuring what strictness costs on top of yajl.
package struct GuardScanner {
  private var textGuard = JSONGuard()

  package init() {}

  /// Checks the next bytes. Returns false when one of them cannot stand in a JSON text.
  package mutating func feed(_ bytes: UnsafeRawBufferPointer) -> Bool {
    textGuard.scan(bytes) == bytes.count
  }
}

extension JSONEventHandlers {
  /// Handlers that count events and hold them against the limits, and do nothing else. Their context
  /// is a ``JSONEventScope``.
  package static let counting = JSONEventHandlers(
    null: { scope($0)?.pointee.count() == nil ? 0 : 1 },
    boolean: { context, _ in scope(context)?.pointee.count() == nil ? 0 : 1 },
    number: { context, _, count in scope(context)?.pointee.checkNumber(count) == true ? 1 : 0 },
    string: { context, _, count in scope(context)?.pointee.checkString(count) == true ? 1 : 0 },
    startObject: { scope($0)?.pointee.enter() == true ? 1 : 0 },
    key: { context, _, count in scope(context)?.pointee.checkKey(count) == true ? 1 : 0 },
    endObject: { scope($0)?.pointee.leave() == nil ? 0 : 1 },
    startArray: { scope($0)?.pointee.enter() == true ? 1 : 0 },
    endArray: { scope($0)?.pointee.leave() == nil ? 0 : 1 })

  private static func scope(
    _ context: UnsafeMutableRawPointer?
  ) -> UnsafeMutablePointer<JSONEventScope>? {
    context?.assumingMemoryBound(to: JSONEventScope.self)
  }
}

/// Strict parsing without a reader: the guard, yajl, and handlers that only count.
package struct CountingParser: ~Copyable {
  private let scope: UnsafeMutablePointer<JSONEventScope>
  private var parser: JSONParser

  package init() throws(JSONError) {
    scope = .allocate(capacity: 1)
    scope.initialize(to: JSONEventScope())
    do {
      parser = try JSONParser(handlers: .counting, context: scope)
    } catch {
      scope.deallocate()
      throw error
    }
  }

  deinit { scope.deallocate() }

  /// How many events there were so far.
  package var events: Int { scope.pointee.events }

  package mutating func feed(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
    try parser.feed(bytes)
  }

  package mutating func finish() throws(JSONError) { try parser.finish() }
}

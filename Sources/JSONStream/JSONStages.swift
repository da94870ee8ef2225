import CYajl

/// yajl alone, without handlers and guard: the lower bound for every parsing measurement.
///
/// For measurements only: it accepts text that the guard rejects.
package struct BareParser: ~Copyable {
  private let handle: OpaquePointer

  package init() throws(JSONError) {
    guard let handle = yajl_alloc(nil, nil, nil) else {
      throw JSONError(code: .outOfMemory, message: "no memory for a JSON parser", offset: 0)
    }
    self.handle = handle
  }

  deinit { yajl_free(handle) }

  /// Parses the next chunk. Returns false if yajl rejects the text.
  package mutating func feed(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress else { return true }
    return yajl_parse(handle, base.assumingMemoryBound(to: UInt8.self), bytes.count)
      == yajl_status_ok
  }

  /// Ends the text. Returns false if it is incomplete.
  package mutating func finish() -> Bool { yajl_complete_parse(handle) == yajl_status_ok }
}

/// The guard alone, to measure the cost of strictness on top of yajl.
package struct GuardScanner {
  private var textGuard = JSONGuard()

  package init() {}

  /// Checks the next chunk. Returns false if it has a byte that is not valid in JSON.
  package mutating func feed(_ bytes: UnsafeRawBufferPointer) -> Bool {
    textGuard.scan(bytes) == bytes.count
  }
}

extension JSONEventHandlers {
  /// Handlers that count events and enforce the limits. Their context is a ``JSONEventScope``.
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

/// Strict parsing without a consumer: the guard, yajl, and handlers that only count.
package struct CountingParser: ~Copyable {
  private let scope: UnsafeMutablePointer<JSONEventScope>
  private var parser: JSONParser

  package init(limits: JSONLimits = JSONLimits()) throws(JSONError) {
    scope = .allocate(capacity: 1)
    scope.initialize(to: JSONEventScope(limits: limits))
    do {
      parser = try JSONParser(handlers: .counting, context: scope)
    } catch {
      scope.deallocate()
      throw error
    }
  }

  deinit { scope.deallocate() }

  /// The number of events delivered.
  package var events: Int { scope.pointee.events }

  package mutating func feed(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
    try parser.feed(bytes)
  }

  package mutating func finish() throws(JSONError) { try parser.finish() }
}

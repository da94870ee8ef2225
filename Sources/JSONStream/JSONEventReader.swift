/// An event of a JSON text.
package enum JSONEvent {
  case null
  case boolean(Bool)
  /// A number, with the text as sent.
  case number(UnsafeRawBufferPointer)
  case string(UnsafeRawBufferPointer)
  /// The key of a member, before its value.
  case key(UnsafeRawBufferPointer)
  case start(isObject: Bool)
  case end(isObject: Bool)
}

/// Takes the events of a ``JSONEventReader``.
package protocol JSONEventReceiver: AnyObject {
  /// Takes an event, whose text is valid until the call returns; returns false to stop the reader.
  func receive(_ event: JSONEvent) -> Bool
}

/// A ``JSONParser`` that passes its events to an object.
///
/// For receivers whose own work costs more than a dynamic call for each event; others have ``JSONEventHandlers``.
package struct JSONEventReader: ~Copyable {
  /// The context of the handlers; the scope is first.
  fileprivate struct Context {
    var scope: JSONEventScope
    let receiver: any JSONEventReceiver
  }

  private let context: UnsafeMutablePointer<Context>
  private var parser: JSONParser

  /// - Throws: ``JSONError/Code/outOfMemory``.
  package init(
    _ receiver: any JSONEventReceiver, limits: JSONLimits = JSONLimits()
  ) throws(JSONError) {
    context = .allocate(capacity: 1)
    context.initialize(to: Context(scope: JSONEventScope(limits: limits), receiver: receiver))
    do {
      parser = try JSONParser(handlers: receiverHandlers, context: context)
    } catch {
      context.deinitialize(count: 1)
      context.deallocate()
      throw error
    }
  }

  deinit {
    context.deinitialize(count: 1)
    context.deallocate()
  }

  /// Reads the next chunk of the text.
  package mutating func feed(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
    try parser.feed(bytes)
  }

  /// Ends the text.
  package mutating func finish() throws(JSONError) { try parser.finish() }
}

private func pass(_ context: UnsafeMutableRawPointer?, _ event: JSONEvent) -> Int32 {
  let context = context.unsafelyUnwrapped
    .assumingMemoryBound(to: JSONEventReader.Context.self)
  switch event {
  case .null, .boolean: context.pointee.scope.count()
  case .end: context.pointee.scope.leave()
  case .start: guard context.pointee.scope.enter() else { return 0 }
  case .number(let text): guard context.pointee.scope.checkNumber(text.count) else { return 0 }
  case .string(let text): guard context.pointee.scope.checkString(text.count) else { return 0 }
  case .key(let text): guard context.pointee.scope.checkKey(text.count) else { return 0 }
  }
  if context.pointee.receiver.receive(event) { return 1 }
  context.pointee.scope.fail(JSONFailureCode(rawValue: JSONFailureCode.firstHandlerCode))
  return 0
}

private let receiverHandlers = JSONEventHandlers(
  null: { pass($0, .null) },
  boolean: { pass($0, .boolean($1 != 0)) },
  number: { pass($0, .number(UnsafeRawBufferPointer(start: $1, count: $2))) },
  string: { pass($0, .string(UnsafeRawBufferPointer(start: $1, count: $2))) },
  startObject: { pass($0, .start(isObject: true)) },
  key: { pass($0, .key(UnsafeRawBufferPointer(start: $1, count: $2))) },
  endObject: { pass($0, .end(isObject: true)) },
  startArray: { pass($0, .start(isObject: false)) },
  endArray: { pass($0, .end(isObject: false)) })

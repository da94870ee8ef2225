import GQLRunPipeline

/// A connection for any number of operations, from any thread.
protocol OperationConnection: AnyObject, Sendable {
  /// The protocol of the connection, as HTTP archives name it.
  var version: String { get }

  /// Connects.
  func open()
  /// The operation of a request. It has not begun.
  func operation(for request: HTTPRequestMessage) -> SocketOperation
  func begin(_ operation: SocketOperation)
  func end(_ operation: SocketOperation)
  /// Notes that a reader waits, or does not wait any more.
  func noteWaiting(_ change: Int)
  /// Notes the bytes of a result that is not read yet.
  func noteUnread(_ bytes: Int)
  /// Notes bytes that were read, or are not wanted any more.
  func noteRead(_ bytes: Int)
  /// Reads on, if enough results were read.
  func drained()
  /// Ends all operations, and returns when the connection is closed.
  func shutDown() async
}

/// The response with which a server answered an operation instead of beginning it.
struct OperationAnswered: Error {
  var response: HTTPResponseMessage
}

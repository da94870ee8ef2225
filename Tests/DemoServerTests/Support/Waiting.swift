import GQLRunDemoServer

/// Waits until the task is cancelled, without a clock.
func waitForCancellation() async throws {
  let (never, continuation) = AsyncStream.makeStream(of: Never.self)
  for await _ in never {}
  continuation.finish()
  try Task.checkCancellation()
}

extension DemoServer.Configuration {
  /// The defaults, except that in real time no signs of life come between events, and the initialization of a WebSocket
  /// connection is not limited: a busy machine may need longer for a test.
  static var patient: Self {
    var configuration = Self()
    configuration.heartbeat = .seconds(86_400)
    configuration.initializationTimeout = .seconds(86_400)
    return configuration
  }
}

import GQLRunDemoServer

/// Lets so many requests with a delay pass, and holds those that follow until it is opened.
///
/// What a test does in the middle of a run is then done there, however late the test comes to it.
actor Hold {
  private var left: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(after count: Int) { left = count }

  /// Uses a server that sleeps by a hold.
  static func withServer<Result>(
    after count: Int, _ body: (Hold, LiveDemoServer) async throws -> Result
  ) async throws -> Result {
    let hold = Hold(after: count)
    var configuration = DemoServer.Configuration()
    configuration.sleep = { _ in await hold.pass() }
    return try await DemoServer.withServer(configuration) { try await body(hold, $0) }
  }

  /// Replaces the sleep of a server.
  func pass() async {
    if left > 0 {
      left -= 1
      return
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiting.append($0) }
    } onCancel: {
      Task { await open() }
    }
  }

  func open() {
    left = .max
    for continuation in waiting { continuation.resume() }
    waiting = []
  }
}

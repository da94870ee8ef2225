/// Waits until the task is cancelled, without a clock.
func waitForCancellation() async throws {
  let (never, continuation) = AsyncStream.makeStream(of: Never.self)
  for await _ in never {}
  continuation.finish()
  try Task.checkCancellation()
}

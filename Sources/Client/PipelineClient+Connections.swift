public import GQLRunPipeline

extension PipelineClient {
  /// The state of the connections of this client's subscriptions.
  public var connectionState: ConnectionState { SubscriptionRegister.of(services).current }

  /// The state of the connections of this client's subscriptions: the current one, and each one that follows.
  ///
  /// ```swift
  /// for await state in client.connectionStates {
  ///   banner.isHidden = state == .open || state == .idle
  /// }
  /// ```
  ///
  /// Never ends by itself. A slow reader misses states, but not the last one.
  public var connectionStates: AsyncStream<ConnectionState> {
    SubscriptionRegister.of(services).states()
  }

  /// Ends the connections of all subscriptions, for example while a program is in the background.
  ///
  /// The subscriptions themselves do not end: after ``resumeSubscriptions()`` they connect again, and each delivers
  /// an element whose `gap` is set. Subscriptions that begin meanwhile wait.
  public func pauseSubscriptions() { SubscriptionRegister.of(services).pause() }

  /// Connects the subscriptions again that ``pauseSubscriptions()`` has paused.
  public func resumeSubscriptions() { SubscriptionRegister.of(services).resume() }
}

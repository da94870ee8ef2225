/// The events of one or more subscriptions.
package struct SubscriptionReport: Codable, Sendable {
  /// The number of concurrent subscriptions.
  package var subscriptions: Int
  /// From the start to the end of the last subscription, in seconds.
  package var seconds: Double
  package var events: Int
  package var eventsPerSecond: Double
  /// From the arrival of the last bytes of an event to its delivery: reading, storing and plugins. `nil`
  /// without events.
  package var delivery: Latencies?
  /// Between the deliveries of two events of a subscription. `nil` with fewer than two events.
  package var intervals: Latencies?
  /// The mean difference between one interval and the next one, in seconds; 0 for events at a steady
  /// rate. `nil` with fewer than three events.
  package var jitterSeconds: Double?
  /// The number of times that a lost connection was opened again.
  package var reconnects: Int
  /// The number of events that were dropped, because they were not read in time.
  package var dropped: Int
  /// The number of events with GraphQL errors.
  package var eventsWithErrors: Int
  /// The errors that ended subscriptions, the most frequent first; at most ten.
  package var failures: [LoadReport.ErrorCount]
  /// The number of opened connections; `nil` without a network.
  package var connections: Int?
  package var receivedBytes: Int
  /// Processor time of this program per second; 2 means two cores.
  package var clientLoad: Double
  /// The processor time of this program per event, in seconds; `nil` without events.
  package var processorSecondsPerEvent: Double?
}

/// The state of the connections of a client's subscriptions, whatever their transport is.
public enum ConnectionState: Sendable, Hashable {
  /// No subscription runs, or all are paused.
  case idle
  /// A subscription connects, and none is connected.
  case connecting
  /// At least one subscription is connected.
  case open
  /// All subscriptions wait before they connect again, the first one until this time, in seconds since 1970.
  case waiting(until: Double)
}

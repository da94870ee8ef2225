public import GQLRunLanguage

/// How a pipeline treats subscriptions: the section `subscriptions` of its file.
public struct SubscriptionSettings: Sendable {
  /// What happens to events that the caller does not read in time.
  public enum Overflow: String, Sendable, Hashable, CaseIterable {
    /// Nothing is read ahead: the connection applies back-pressure, and the server slows down.
    case block
    /// The oldest waiting event is dropped. A gap with the number of dropped events precedes the next
    /// one.
    case dropOldest = "drop-oldest"
    /// The subscription ends with an error after the waiting events.
    case fail
  }

  /// A query that fetches what was missed while the connection was lost.
  public struct CatchUp: Sendable {
    /// The name of the query; `nil` is the only query of ``document``.
    public var query: String?
    /// The document with the query; `nil` is the document of the subscription.
    public var document: Document?
    /// The path of the document's file, for messages.
    public var file: String?
    /// Whether the caller gets the result, marked by ``GraphQLResponse/isCatchUp``. Otherwise only the
    /// cache does.
    public var isDelivered: Bool

    /// Creates the declaration of a query; see the properties.
    public init(
      query: String? = nil, document: Document? = nil, file: String? = nil,
      isDelivered: Bool = false
    ) {
      self.query = query
      self.document = document
      self.file = file
      self.isDelivered = isDelivered
    }
  }

  /// What happens to events that the caller does not read in time. `block` by default.
  public var overflow = Overflow.block
  /// The number of events that wait for the caller, unless ``overflow`` is `block`. 1,000 by default.
  public var maxWaiting = 1_000
  /// The size of the events that wait for the caller, unless ``overflow`` is `block`. 64 MiB by
  /// default. One event may be larger.
  public var maxWaitingBytes = ByteSize.mebibytes(64)
  /// How long a subscription that was connected tries to connect again without receiving an event. 5 minutes by
  /// default. A connection of 30 seconds ends this time, too.
  ///
  /// The plugin `max-retry` connects again; without it, a lost connection ends the subscription.
  public var patience = Duration.seconds(300)
  /// The query that runs after a connection was lost and is open again, before events continue; `nil`, the
  /// default, runs none.
  public var catchUp: CatchUp?

  /// Creates settings with the default values.
  public init() {}
}

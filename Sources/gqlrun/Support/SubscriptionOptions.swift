import ArgumentParser
import Foundation
import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

/// The options of operations with any number of results: subscriptions and watched queries.
struct SubscriptionOptions: ParsableArguments {
  @Flag(
    help: "Print the result of a query again whenever the cache changes, also by another process.")
  var watch = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "End a subscription after this many events, or --watch after this many results.",
      valueName: "count"))
  var first: Int?

  @Option(
    name: .customLong("for"),
    help: ArgumentHelp(
      "End a subscription or --watch after this time, such as 30s or 5m; a number is seconds.",
      valueName: "duration"), transform: TimeLimit.init)
  var limit: TimeLimit?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Give up when a subscription has lost its connection and received nothing for this time; 5m by default, "
        + "or as the pipeline says.", valueName: "duration"),
    transform: TimeLimit.init)
  var patience: TimeLimit?

  @Option(
    help: ArgumentHelp(
      "Where gaps of a subscription are reported: `notes` on standard error, or `inline`, also as a line "
        + "{\"gap\":{…}} between the events.", valueName: "notes|inline"))
  var gaps = GapReport.notes

  func validate() throws {
    if let first, first < 1 {
      throw ValidationError("cannot use --first \(first): give the number of events, from 1")
    }
  }

  /// - Throws: ``Failure`` if an option is given that the operation does not have.
  func check(_ operation: PreparedOperation) throws {
    if watch, operation.type != .query {
      throw Failure(
        .usage,
        "cannot watch \(operation.label): --watch is for queries"
          + (operation.type == .subscription ? "; a subscription prints its events without it" : "")
      )
    }
    for (isGiven, name) in [(patience != nil, "--patience"), (gaps != .notes, "--gaps")]
    where isGiven && operation.type != .subscription {
      throw Failure(
        .usage, "cannot use \(name) with \(operation.label): it is for subscriptions")
    }
    guard !isLive(operation) else { return }
    for (isGiven, name) in [(first != nil, "--first"), (limit != nil, "--for")] where isGiven {
      throw Failure(
        .usage, "cannot use \(name) with \(operation.label): it ends subscriptions and --watch")
    }
  }

  /// Whether the operation has results until something ends it.
  func isLive(_ operation: PreparedOperation) -> Bool { watch || operation.type == .subscription }
}

/// Where `gqlrun run` reports that events of a subscription may be missing.
enum GapReport: String, CaseIterable, ExpressibleByArgument {
  case notes, inline
}

/// Ends the events of a subscription after a number of them or a time.
final class EventLimit: Sendable {
  private let rest: Locked<Int>
  private let hasPassed = Locked(false)

  init(_ options: SubscriptionOptions) { rest = Locked(options.first ?? .max) }

  /// Whether the time is over.
  var isOver: Bool { hasPassed.withLock { $0 } }

  func end() { hasPassed.withLock { $0 = true } }

  /// Counts an event. Returns whether it was the last one.
  func count() -> Bool {
    rest.withLock { rest in
      rest -= 1
      return rest <= 0
    }
  }
}

extension ResponseStream {
  /// The results of a watched query.
  ///
  /// A failure before the first result ends the stream; later ones, and data that the cache no longer has,
  /// are warnings.
  init(_ watch: OperationWatch, label: String, isQuiet: Bool) {
    let watch = watch.makeAsyncIterator()
    let hasBegun = Locked(false)
    self.init(pull: {
      var watch = watch
      while let event = await watch.next() {
        switch event {
        case .response(let response):
          hasBegun.withLock { $0 = true }
          return response
        case .missing(let miss):
          if !isQuiet {
            Terminal.warning("\(label): waiting for data that is not in the cache: \(miss)")
          }
        case .failure(let error):
          guard hasBegun.withLock({ $0 }) else { throw error }
          if !isQuiet { Terminal.warning(gqlrun.Failure(describing: error).message) }
        }
      }
      throw CancellationError()
    })
  }

  /// The same stream, which ends when its time is over.
  func ending(at limit: EventLimit) -> ResponseStream {
    mapErrors { error in
      guard error is CancellationError, limit.isOver else { throw error }
      return nil
    }
  }
}

extension SubscriptionGap {
  /// Why events may be missing, for people; `nil` if it is not known.
  var reason: String? {
    if lostConnection { return cause.map { Failure(describing: $0).message } }
    return dropped > 0 ? "they were not read in time" : nil
  }

  /// The warning about a lost connection and dropped events.
  var note: String {
    let time = Date(timeIntervalSince1970: since).formatted(.iso8601)
    var parts: [String] = []
    if lostConnection {
      parts.append(
        "the connection was lost and is open again; events since \(time) may be missing"
          + (reason.map { " (\($0))" } ?? ""))
    }
    switch catchUp {
    case .succeeded: parts.append("the query of `catch_up` has fetched the current state")
    case .failed(let error):
      parts.append("the query of `catch_up` failed: \(Failure(describing: error).message)")
    case nil: break
    }
    if dropped > 0 {
      parts.append(
        "\(Quantity.count(dropped, "event")) since \(time) \(dropped == 1 ? "was" : "were") dropped, because "
          + "they were not read in time")
    }
    return parts.joined(separator: "; ")
  }
}

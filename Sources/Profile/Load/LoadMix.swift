package import GQLRunPipeline
import GQLRunSupport

/// The operations of a load, which take turns in proportion to their weights.
///
/// A class: all requests of a run take the next one from it.
package final class LoadMix: Sendable {
  /// One operation of a load.
  package struct Operation: Sendable {
    /// The name in reports.
    package var name: String
    /// The share of the requests, relative to the weights of the others.
    package var weight: Double
    /// The requests, which are sent in turn; at least one.
    package var requests: [GraphQLRequest]
    /// Why a response is a failure; `nil` if it is not. The second argument is the time since the request began, in
    /// milliseconds.
    package var problem: @Sendable (GraphQLResponse, Double) -> String?

    package init(
      name: String, weight: Double = 1, requests: [GraphQLRequest],
      problem: @escaping @Sendable (GraphQLResponse, Double) -> String? = { response, _ in
        response.errors.first.map { "GraphQL error: \($0.message)" }
      }
    ) {
      self.name = name
      self.weight = weight
      self.requests = requests
      self.problem = problem
    }
  }

  /// What is sent next.
  package struct Choice: Sendable {
    /// The index of the operation.
    package var operation: Int
    package var request: GraphQLRequest
  }

  package let operations: [Operation]
  private let turns: Locked<[Turn]>

  private struct Turn {
    /// How much of its share the operation is behind.
    var credit = 0.0
    var sent = 0
  }

  /// - Parameter operations: At least one, each with a weight above 0 and at least one request.
  package init(_ operations: [Operation]) {
    precondition(
      !operations.isEmpty && operations.allSatisfy { $0.weight > 0 && !$0.requests.isEmpty })
    self.operations = operations
    turns = Locked(operations.map { _ in Turn() })
  }

  /// The first request of the first operation; takes no turn.
  package var first: Choice { Choice(operation: 0, request: operations[0].requests[0]) }

  /// The operation that is furthest behind its share, and its next request.
  ///
  /// After any number of requests, an operation is less than one request from its share per other operation: the
  /// smooth weighted round robin of nginx.
  package func next() -> Choice {
    let (operation, number) = turns.withLock { turns in
      var best = 0
      var total = 0.0
      for (index, operation) in operations.enumerated() {
        turns[index].credit += operation.weight
        total += operation.weight
        if turns[index].credit > turns[best].credit { best = index }
      }
      turns[best].credit -= total
      turns[best].sent += 1
      return (best, turns[best].sent - 1)
    }
    let requests = operations[operation].requests
    return Choice(operation: operation, request: requests[number % requests.count])
  }
}

import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPlugins

/// An upper bound of the cost of requests, computed from their documents.
///
/// Lists without `first` or `last` count as one object, since only the server knows their length.
public struct EstimatedCost: Sendable, Hashable {
  /// The number of requests, counting only the first page of each task.
  public var requests = 0
  /// The number of objects that connections and lists with a given size may return.
  public var objects = 0
  /// GitHub's points: the number of list fetches divided by 100, at least 1 per request.
  ///
  /// https://docs.github.com/en/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api
  public var points = 0

  static func + (left: Self, right: Self) -> Self {
    func sum(_ left: Int, _ right: Int) -> Int {
      let (result, isTooLarge) = left.addingReportingOverflow(right)
      return isTooLarge ? .max : result
    }
    return Self(
      requests: sum(left.requests, right.requests), objects: sum(left.objects, right.objects),
      points: sum(left.points, right.points))
  }
}

extension EstimatedCost {
  /// The cost of one request.
  init(_ tree: SelectionTree, _ variables: JSONObject) {
    var walk = Walk(tree: tree, variables: variables)
    walk.add(tree.root, parents: 1, depth: 0)
    requests = 1
    objects = Int(walk.objects)
    points = Int(max(1, (walk.lists / 100).rounded()))
  }

  private struct Walk {
    let tree: SelectionTree
    let variables: JSONObject
    var objects = 0.0
    var lists = 0.0
    /// Above any server's limit; keeps numbers from files from overflowing.
    private static let most = 1e15

    mutating func add(_ scope: SelectionTree.Scope, parents: Double, depth: Int) {
      guard depth < 64 else { return }
      for entry in tree.fields(of: scope) {
        guard let inner = tree.below([entry]).first else { continue }
        let size = size(of: entry.field)
        if let size {
          lists = min(lists + parents, Self.most)
          objects = min(objects + parents * size, Self.most)
        } else if isObject(entry) {
          objects = min(objects + parents, Self.most)
        }
        add(inner, parents: min(parents * (size ?? 1), Self.most), depth: depth + 1)
      }
    }

    /// The wrapper fields of connections are not objects.
    private func isObject(_ entry: SelectionTree.Entry) -> Bool {
      !["edges", "node", "nodes", "pageInfo"].contains(entry.name)
    }

    private func size(of field: Field) -> Double? {
      guard
        let argument = field.arguments.first(where: { ["first", "last"].contains($0.name.value) })
      else { return nil }
      let given = JSONValue(argument.value, variables: variables)?.doubleValue
      return given.map { min(max($0, 0), Self.most) }
    }
  }
}

/// What a request is expected to cost before a response has shown it.
struct ExpectedCost: Sendable {
  /// All that determines the cost: the operation, or the connection with the number of objects and the size of a page.
  var label: String
  /// Requests whose costs are in proportion to their estimates: those of one connection.
  var group: String
  var cost: EstimatedCost

  /// The estimate in the unit of a server; `nil` if it counts requests.
  func estimate(for adapter: RequestBudget.Kind) -> RequestBudget.Estimate? {
    switch adapter {
    case .headers: nil
    case .github: RequestBudget.Estimate(group: group, points: Double(cost.points))
    case .shopify: RequestBudget.Estimate(group: group, points: Double(max(cost.objects, 1)))
    }
  }
}

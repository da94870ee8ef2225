import GQLRunJSON
import GQLRunLanguage

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

  init(requests: Int = 0, objects: Int = 0, points: Int = 0) {
    self.requests = requests
    self.objects = objects
    self.points = points
  }

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

    init(tree: SelectionTree, variables: JSONObject) {
      self.tree = tree
      self.variables = variables
    }

    mutating func add(_ set: SelectionSet, parents: Double, depth: Int) {
      guard depth < 64 else { return }
      for field in tree.fields(of: set) {
        guard let inner = field.selectionSet else { continue }
        let size = size(of: field)
        if let size {
          lists = min(lists + parents, Self.most)
          objects = min(objects + parents * size, Self.most)
        } else if isObject(field) {
          objects = min(objects + parents, Self.most)
        }
        add(inner, parents: min(parents * (size ?? 1), Self.most), depth: depth + 1)
      }
    }

    /// The wrapper fields of connections are not objects.
    private func isObject(_ field: Field) -> Bool {
      !["edges", "node", "nodes", "pageInfo"].contains(field.name.value)
    }

    private func size(of field: Field) -> Double? {
      guard
        let argument = field.arguments.first(where: { ["first", "last"].contains($0.name.value) })
      else { return nil }
      let given: Double? =
        switch argument.value {
        case .int(let text, _): Double(text)
        case .variable(let name): variables[name.value]?.doubleValue
        default: nil
        }
      return given.map { min(max($0, 0), Self.most) }
    }
  }
}

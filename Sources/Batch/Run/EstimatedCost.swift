import GQLRunJSON
import GQLRunLanguage

/// What requests ask of a server at most, as far as their documents tell.
///
/// Lists without `first` or `last` count as one object: only the server knows how long they are.
public struct EstimatedCost: Sendable, Hashable {
  /// The first pages only: how many follow is known when they are there.
  public var requests = 0
  /// Objects that connections and lists of a given size may bring.
  public var objects = 0
  /// By GitHub's formula: the lists that must be fetched, by the hundred, and 1 at least for each request.
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
    /// More than any server gives; numbers from files must not overflow.
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

    /// What connections wrap their objects in is none itself.
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

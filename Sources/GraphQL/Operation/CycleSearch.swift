/// A depth-first search for cycles among named nodes, which visits each node once.
///
/// Uses an explicit stack, because a path can be as long as a document.
package struct CycleSearch<Edge> {
  /// The nodes that were visited.
  private(set) var visited: Set<String> = []

  package init() {}

  /// Visits all nodes that a node leads to.
  ///
  /// - Parameters:
  ///   - name: The node to start from; `nil` if it has no name, to which no edge can lead.
  ///   - edges: Its edges.
  ///   - target: The node that an edge leads to; `nil` to ignore the edge.
  ///   - successors: The edges of the node that an edge leads to.
  ///   - onCycle: Called with the edges of a cycle, the last one by itself, without a copy; returns whether to continue.
  package mutating func visit<Failure: Error>(
    _ name: String?, edges: [Edge], target: (Edge) -> String?,
    successors: (Edge) throws(Failure) -> [Edge],
    onCycle: (ArraySlice<Edge>, Edge) throws(Failure) -> Bool
  ) throws(Failure) {
    if let name, !visited.insert(name).inserted { return }
    var open: [(name: String?, edges: ArraySlice<Edge>)] = [(name, edges[...])]
    var depths: [String: Int] = [:]
    if let name { depths[name] = 0 }
    /// The edge from each open node to the next.
    var path: [Edge] = []
    while let last = open.indices.last {
      guard let edge = open[last].edges.popFirst() else {
        if let name = open.removeLast().name { depths[name] = nil }
        _ = path.popLast()
        continue
      }
      guard let name = target(edge) else { continue }
      if let depth = depths[name] {
        guard try onCycle(path[depth...], edge) else { return }
      } else if visited.insert(name).inserted {
        depths[name] = open.count
        open.append((name, try successors(edge)[...]))
        path.append(edge)
      }
    }
  }
}

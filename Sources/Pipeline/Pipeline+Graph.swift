import GQLRunSupport

extension Pipeline {
  /// The format of a diagram.
  public enum GraphFormat: Sendable {
    /// Graphviz DOT: https://graphviz.org/doc/info/lang.html
    case dot
    /// Mermaid: https://mermaid.js.org/syntax/flowchart.html
    case mermaid
  }

  /// The chain as a diagram: the path of a request, the path of its result, and cache hits.
  ///
  /// - Parameter format: The format of the diagram.
  /// - Returns: The source text of the diagram.
  public func graph(_ format: GraphFormat) -> String {
    let drawing = Drawing(self)
    return switch format {
    case .dot: drawing.dot
    case .mermaid: drawing.mermaid
    }
  }
}

/// The nodes and edges of a diagram, independent of its format.
private struct Drawing {
  struct Node {
    var id: String
    var label: String
    var isWrap = false
  }

  struct Edge {
    var from: String
    var to: String
    var label = ""
    /// Whether the edge belongs to the result or to the store.
    var isDotted = false
  }

  private let title: String
  private let server: String
  private let store: String?
  private var groups: [(stage: String, nodes: [Node])] = []
  private var edges: [Edge] = []

  init(_ pipeline: Pipeline) {
    title = pipeline.name ?? "pipeline"
    server = pipeline.endpoint.map(\.authority) ?? "server"
    store =
      pipeline.store.kind == .none
      ? nil
      : [pipeline.store.kind.rawValue, pipeline.store.path].compactMap { $0 }
        .joined(separator: " ")
    var last = "caller"
    for (index, entry) in pipeline.entries.enumerated() {
      let id = "entry\(index)"
      var label = entry.id
      if let name = entry.pluginName, name != entry.id { label += " (\(name))" }
      if entry.condition != .always { label += ", when \(entry.condition)" }
      add(
        Node(id: id, label: Printable.line(label), isWrap: entry.placement?.kind == .wrap),
        to: entry.placement?.stages.first?.rawValue ?? "code")
      if entry.traits.contains(.fetches) {
        edges.append(Edge(from: last, to: id))
        edges.append(Edge(from: id, to: "server", label: "request"))
        last = "server"
        continue
      }
      edges.append(Edge(from: last, to: id))
      if entry.traits.contains(.readsCache), store != nil {
        edges.append(Edge(from: "store", to: id, isDotted: true))
        edges.append(Edge(from: id, to: "caller", label: "hit", isDotted: true))
      }
      if entry.traits.contains(.writesCache), store != nil {
        edges.append(Edge(from: id, to: "store", isDotted: true))
      }
      last = id
    }
    edges.append(Edge(from: last, to: "caller", label: "result", isDotted: true))
  }

  private mutating func add(_ node: Node, to stage: String) {
    if groups.last?.stage == stage {
      groups[groups.count - 1].nodes.append(node)
    } else {
      groups.append((stage, [node]))
    }
  }

  var dot: String {
    func quoted(_ text: String) -> String {
      "\""
        + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
    var lines = [
      "digraph \(quoted(title)) {", "  rankdir=TB", "  node [shape=box, fontname=\"sans-serif\"]",
      "  caller [shape=plaintext]", "  server [label=\(quoted(server)), shape=oval]",
    ]
    if let store { lines.append("  store [label=\(quoted(store)), shape=cylinder]") }
    for (index, group) in groups.enumerated() {
      lines += ["  subgraph cluster\(index) {", "    label=\(quoted(group.stage))"]
      lines += group.nodes.map {
        "    \($0.id) [label=\(quoted($0.label))\($0.isWrap ? ", peripheries=2" : "")]"
      }
      lines.append("  }")
    }
    for edge in edges {
      let label = edge.label.isEmpty ? [] : ["label=\(quoted(edge.label))"]
      let style = edge.isDotted ? ["style=dashed"] : []
      let all = (label + style).joined(separator: ", ")
      lines.append("  \(edge.from) -> \(edge.to)\(all.isEmpty ? "" : " [\(all)]")")
    }
    return (lines + ["}", ""]).joined(separator: "\n")
  }

  var mermaid: String {
    func quoted(_ text: String) -> String {
      "\"" + text.replacing("#", with: "#35;").replacing("\"", with: "#quot;") + "\""
    }
    var lines = [
      "flowchart TB", "  caller([caller])", "  server((\(quoted(server))))",
    ]
    if let store { lines.append("  store[(\(quoted(store)))]") }
    for (index, group) in groups.enumerated() {
      lines.append("  subgraph stage\(index) [\(quoted(group.stage))]")
      lines += group.nodes.map {
        "    \($0.id)" + ($0.isWrap ? "[[\(quoted($0.label))]]" : "[\(quoted($0.label))]")
      }
      lines.append("  end")
    }
    for edge in edges {
      let arrow = edge.isDotted ? "-.->" : "-->"
      lines.append(
        "  \(edge.from) \(arrow)\(edge.label.isEmpty ? "" : "|\(edge.label)|") \(edge.to)")
    }
    return (lines + [""]).joined(separator: "\n")
  }
}

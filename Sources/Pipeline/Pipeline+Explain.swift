import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport
import HTTPTypes

/// An interceptor that can preview its change of a request without sending it, for `gqlrun pipeline
/// explain`.
package protocol RequestPreviewing: GraphQLInterceptor {
  /// Returns the request as the interceptor passes it on in the first attempt.
  func preview(of request: GraphQLRequest) -> GraphQLRequest
}

extension Pipeline {
  /// Explains how the pipeline handles a request, as `gqlrun pipeline explain` prints it: the
  /// policy, the HTTP request, and the plugins that apply.
  ///
  /// Nothing is sent and no store is opened. The request has the changes of `apq` and of `on_error` of `fetch`; a line
  /// names the entries with ``PluginTraits/changesHeaders`` or ``PluginTraits/changesRequests``, whose changes it
  /// does not have.
  ///
  /// - Parameter request: The request to explain.
  /// - Returns: Lines of text, without secrets.
  public func explanation(of request: GraphQLRequest) -> String {
    explanation(of: request, server: nil)
  }

  /// The same with a name of the endpoint's server, such as a variable, instead of its scheme, its host and the slash
  /// after it; `nil` shows them.
  package func explanation(of request: GraphQLRequest, server: String?) -> String {
    let route = Route(entries) { $0.condition.holds(for: request) }
    let policy = route.policy(of: request)
    var rows: [(String, [String])] = [
      ("pipeline", [shownName]),
      ("policy", ["\(policy): \(meaning(of: policy, for: request))"]),
      ("store", [[store.kind.rawValue, store.path].compactMap { $0 }.joined(separator: " ")]),
    ]
    if let facts = request.operation?.planFacts {
      rows.append(("plan", Self.lines(facts)))
    }
    rows.append(("request", requestLines(previewed(request), server: server)))
    var facts = TextTable()
    for (label, texts) in rows {
      for (index, text) in texts.enumerated() { facts.add(index == 0 ? "  " + label : "", text) }
    }
    var chain = TextTable()
    for entry in entries {
      let applies = entry.condition.holds(for: request)
      chain.add(
        "    \(applies ? "↓" : "·") \(entry.id)",
        remark(on: entry, request, policy, applies: applies))
    }
    let title = "  chain, from the first that receives the request to the last"
    return (facts.lines + [title] + chain.lines).map { Printable.line($0) + "\n" }.joined()
  }

  /// The name, and the file. That of the default pipeline already has parentheses.
  private var shownName: String {
    (name ?? "without name") + (file.map { $0.hasPrefix("(") ? " \($0)" : " (\($0))" } ?? "")
  }

  /// What the policy makes of the request in this chain, which may lack the plugins that it needs.
  private func meaning(of policy: CachePolicy, for request: GraphQLRequest) -> String {
    let parts = entries.filter { $0.condition.holds(for: request) }.flatMap(\.parts)
    let reads = parts.contains(where: \.isCacheRead)
    let stores = parts.contains(where: \.isCacheWrite)
    let writes =
      policy.writesCache && stores ? "and stores the result" : "without storing the result"
    if request.operationType == .mutation {
      return policy == .cacheOnly
        ? "rejected, because a mutation cannot be answered from the cache"
        : "a mutation never reads the cache; uses the network \(writes)"
    }
    guard reads else {
      return policy == .cacheOnly
        ? "fails, because no plugin of the chain reads the cache" : "uses the network \(writes)"
    }
    return switch policy {
    case .cacheFirst: "reads the cache; uses the network if a field is missing, \(writes)"
    case .networkOnly, .noCache: "uses the network \(writes)"
    case .cacheOnly: "reads the cache, never uses the network"
    case .cacheAndNetwork: "reads the cache, then uses the network in any case, \(writes)"
    case .networkFirst:
      "uses the network \(writes); reads the cache if the network or the server fails"
    }
  }

  private static func lines(_ facts: PlanFacts) -> [String] {
    let fields = Quantity.count(facts.fields, "field")
    let sets = Quantity.count(facts.selectionSets, "selection set")
    let added =
      facts.addedFields == 0 ? "" : ", \(facts.addedFields) of them added to identify objects"
    return ["\(fields) in \(sets)\(added)"] + facts.rootKeys.map { "stored as \($0)" }
  }

  /// The request at the end of the GraphQL stage, as far as its interceptors can preview it.
  private func previewed(_ request: GraphQLRequest) -> GraphQLRequest {
    entries.filter { $0.condition.holds(for: request) }.flatMap(\.parts)
      .reduce(request) { request, part in
        guard case .graphQL(let interceptor as any RequestPreviewing) = part else { return request }
        return interceptor.preview(of: request)
      }
  }

  /// A line with the entries whose changes ``previewed(_:)`` lacks; empty if there are none.
  private func unshownChanges(of request: GraphQLRequest) -> [String] {
    let names = entries.filter {
      $0.condition.holds(for: request)
        && $0.traits.intersects([.changesHeaders, .changesRequests])
    }.map { "`\($0.id)`" }
    return names.isEmpty ? [] : ["without the changes by \(names.listed())"]
  }

  private func requestLines(_ request: GraphQLRequest, server: String?) -> [String] {
    guard let endpoint else { return ["no endpoint"] }
    let builder = HTTPRequestBuilder(endpoint: endpoint)
    let message: HTTPRequestMessage
    do throws(ChainError) {
      message = try builder.message(for: request)
    } catch {
      return ["not sent: \(error.message)"]
    }
    let members = builder.members(of: request).keys.joined(separator: ", ")
    let hiding = SecretHiding(secrets + message.secrets)
    var line = message.description
    if let server, message.head.authority == endpoint.authority {
      let path = (message.head.path ?? "").prefix { $0 != "?" }
      line = "\(message.head.method.rawValue) \(server)\(path.dropFirst())"
    }
    var lines = [hiding.text(line)]
    if let socket = message.webSocket {
      lines.append("over WebSocket with \(socket.subprotocols.joined(separator: " or "))")
    }
    if message.eventStream != nil {
      lines.append("its events arrive on the event stream of all subscriptions")
    }
    lines += message.head.headerFields.map { field in
      let name = field.name.rawName
      return "\(name): \(hiding.value(field.value, ofField: name))"
    }
    lines.append(
      message.bodyCount.map { "a body of \($0) bytes with \(members)" }
        ?? "no body; in the URL: \(members)")
    return lines + unshownChanges(of: request)
  }

  private func remark(
    on entry: PipelineEntry, _ request: GraphQLRequest, _ policy: CachePolicy, applies: Bool
  ) -> String {
    guard applies else { return "skipped for this operation: when \(entry.condition)" }
    var parts: [String] = []
    if let name = entry.pluginName, let placement = entry.placement {
      if name != entry.id { parts.append(name) }
      parts.append("\(placement.kind.rawValue), \(placement.stageText)")
    }
    if entry.condition != .always { parts.append("when \(entry.condition)") }
    let isQuery = request.operationType == .query
    if entry.traits.contains(.readsCache) {
      parts.append(
        isQuery && policy.readsCacheFirst
          ? "reads the cache"
          : isQuery && policy == .networkFirst
            ? "reads the cache if the network or the server fails" : "not used with \(policy)")
    } else if entry.traits.contains(.writesCache), !policy.writesCache {
      parts.append("not used with \(policy)")
    } else if policy == .cacheOnly, isQuery,
      entry.traits.intersects([.fetches, .checksStatus, .parses])
    {
      parts.append("not reached with cache-only")
    }
    return parts.joined(separator: "; ")
  }
}

extension Pipeline {
  /// The format of a diagram.
  public enum GraphFormat: Sendable {
    /// Graphviz DOT: https://graphviz.org/doc/info/lang.html
    case dot
    /// Mermaid: https://mermaid.js.org/syntax/flowchart.html
    case mermaid
    /// A picture, in the light or dark colors that the reader prefers: https://www.w3.org/TR/SVG2/
    case svg
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
    case .svg: ChainPicture(self).text
    }
  }
}

extension Pipeline {
  fileprivate var drawnServer: String { endpoint.map(\.authority) ?? "server" }

  /// The kind and path of the store; `nil` without one.
  fileprivate var drawnStore: String? {
    store.kind == .none
      ? nil : [store.kind.rawValue, store.path].compactMap { $0 }.joined(separator: " ")
  }
}

extension PipelineEntry {
  fileprivate var drawnName: String {
    var name = id
    if let plugin = pluginName, plugin != id { name += " (\(plugin))" }
    if condition != .always { name += ", when \(condition)" }
    return Printable.line(name)
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
    server = pipeline.drawnServer
    store = pipeline.drawnStore
    var last = "caller"
    for (index, entry) in pipeline.entries.enumerated() {
      let id = "entry\(index)"
      add(
        Node(id: id, label: entry.drawnName, isWrap: entry.placement?.kind == .wrap),
        to: entry.placement?.stages.first?.rawValue ?? "code")
      edges.append(Edge(from: last, to: id))
      if entry.traits.contains(.fetches) {
        edges.append(Edge(from: id, to: "server", label: "request"))
        last = "server"
        continue
      }
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
      let references = [
        ("#", "#35;"), ("\"", "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("&", "#amp;"),
      ]
      return "\"" + references.reduce(text) { $0.replacing($1.0, with: $1.1) } + "\""
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

/// The chain of a pipeline as a picture. A request passes it from top to bottom, and reaches the server at the right of
/// `fetch`; the response passes the rest, and the result returns along the right side. The store is at the left.
private struct ChainPicture {
  private struct Box {
    var x: Double
    var y: Double
    var width: Double
    var height = 28.0

    var right: Double { x + width }
    var bottom: Double { y + height }
    var middle: (x: Double, y: Double) { (x + width / 2, y + height / 2) }
  }

  private var shapes: [String] = []
  private var lines: [String] = []
  private var size = (width: 0.0, height: 0.0)
  private let title: String

  /// The most columns of a name in a box; its tooltip has all of them.
  private static let maxName = 56
  private static let margin = 16.0
  /// From the top of a row to that of the next one.
  private static let row = 44.0
  /// The space that a new stage needs for its name.
  private static let stage = 26.0

  init(_ pipeline: Pipeline) {
    title = "The chain of \(Printable.line(pipeline.name ?? "a pipeline"))"
    let names = pipeline.entries.map(\.drawnName)
    let store = pipeline.drawnStore.map { Printable.line($0) }
    let server = Printable.line(pipeline.drawnServer)
    let left = Self.margin + (store.map { Self.width($0) + 56 } ?? 0)
    let width = max(names.map(Self.width).max() ?? 0, Self.width("caller"), 130)
    let serverX = left + width + 92
    // Results return at the right of everything.
    let lane = serverX + Self.width(server) + 28
    let caller = Box(x: left, y: Self.margin, width: width)
    box(caller, "caller", kind: "end")

    var y = caller.bottom + 22
    var stage: String?
    var last = caller
    var storeRows: [(box: Box, isRead: Bool)] = []
    for (name, entry) in zip(names, pipeline.entries) {
      let next = entry.placement?.stages.first?.rawValue ?? "code"
      if next != stage { y += Self.stage }
      let node = Box(x: left, y: y, width: width)
      if next != stage { text(next, x: left, y: y - 8, kind: "soft") }
      stage = next
      box(node, name, kind: entry.placement?.kind == .wrap ? "wrap" : "step")
      connect(last, node)
      last = node
      if entry.traits.contains(.fetches) {
        let box = Box(x: serverX, y: y, width: Self.width(server))
        self.box(box, server, kind: "end")
        arrow([(node.right, node.middle.y), (box.x, node.middle.y)])
        text("request", x: (node.right + box.x) / 2, y: node.middle.y - 6, kind: "label")
        last = box
      }
      if store != nil, entry.traits.contains(.readsCache) {
        storeRows.append((node, true))
        arrow(
          [
            (node.right, node.middle.y), (lane, node.middle.y), (lane, caller.middle.y),
            (caller.right, caller.middle.y),
          ], isDotted: true)
        text("hit", x: node.right + 24, y: node.middle.y - 6, kind: "label")
      }
      if store != nil, entry.traits.contains(.writesCache) { storeRows.append((node, false)) }
      y = node.bottom + Self.row - node.height
    }
    arrow(
      [
        (last.right, last.middle.y), (lane, last.middle.y), (lane, caller.middle.y),
        (caller.right, caller.middle.y),
      ], isDotted: true)
    text("result", x: caller.right + 36, y: caller.middle.y - 6, kind: "label")
    if let store { self.store(store, storeRows, middle: (caller.y + y) / 2) }
    size = (lane + Self.margin, y)
  }

  /// The store, beside the entries that use it.
  private mutating func store(
    _ name: String, _ users: [(box: Box, isRead: Bool)], middle: Double
  ) {
    let rows = users.map(\.box.middle.y)
    let center = rows.isEmpty ? middle : ((rows.min() ?? 0) + (rows.max() ?? 0)) / 2
    let store = Box(x: Self.margin, y: center - 20, width: Self.width(name), height: 40)
    let (x, top, bottom) = (Self.number(store.x), store.y, store.bottom)
    let curve = "\(Self.number(store.width / 2)) 6 0 0"
    shapes.append(
      "<path class=\"end\" d=\"M\(x) \(Self.number(top)) V\(Self.number(bottom)) A\(curve) 0 "
        + "\(Self.number(store.right)) \(Self.number(bottom)) V\(Self.number(top)) A\(curve) 0 \(x) "
        + "\(Self.number(top)) A\(curve) 0 \(Self.number(store.right)) \(Self.number(top))\">"
        + "<title>\(QuotedText.markup(name))</title></path>")
    text(Self.shown(name), x: store.middle.x, y: store.middle.y + 8, kind: "name")
    for (box, isRead) in users {
      let points = [
        (store.middle.x, box.middle.y < center ? top - 6 : bottom + 6),
        (store.middle.x, box.middle.y), (box.x, box.middle.y),
      ]
      arrow(isRead ? points : points.reversed(), isDotted: true)
    }
  }

  /// An arrow to the next entry: from the one above it, or from the server at its right.
  private mutating func connect(_ from: Box, _ to: Box) {
    if from.x == to.x {
      arrow([(from.middle.x, from.bottom), (to.middle.x, to.y)])
    } else {
      arrow([
        (from.middle.x, from.bottom), (from.middle.x, to.middle.y), (to.right, to.middle.y),
      ])
      text("response", x: (to.right + from.x) / 2, y: to.middle.y - 6, kind: "label")
    }
  }

  private mutating func box(_ box: Box, _ name: String, kind: String) {
    func rectangle(_ inset: Double) -> String {
      "<rect class=\"\(kind)\" x=\"\(Self.number(box.x + inset))\" y=\"\(Self.number(box.y + inset))\" "
        + "width=\"\(Self.number(box.width - 2 * inset))\" height=\"\(Self.number(box.height - 2 * inset))\" "
        + "rx=\"\(kind == "end" ? 14 : 4)\"><title>\(QuotedText.markup(name))</title></rect>"
    }
    shapes.append(rectangle(0))
    if kind == "wrap" { shapes.append(rectangle(3)) }
    text(Self.shown(name), x: box.middle.x, y: box.middle.y + 4.5, kind: "name")
  }

  private mutating func text(_ text: String, x: Double, y: Double, kind: String) {
    shapes.append(
      "<text class=\"\(kind)\" x=\"\(Self.number(x))\" y=\"\(Self.number(y))\">\(QuotedText.markup(text))</text>"
    )
  }

  private mutating func arrow(_ points: [(x: Double, y: Double)], isDotted: Bool = false) {
    let path = points.enumerated().map { index, point in
      "\(index == 0 ? "M" : "L")\(Self.number(point.x)) \(Self.number(point.y))"
    }
    lines.append(
      "<path class=\"arrow\(isDotted ? " dotted" : "")\" d=\"\(path.joined(separator: " "))\" "
        + "marker-end=\"url(#head)\"/>")
  }

  private static func shown(_ name: String) -> String {
    guard name.width > maxName else { return name }
    var beginning = String(name.prefix(maxName - 1))
    while beginning.width >= maxName { beginning.removeLast() }
    return beginning + "…"
  }

  /// The width of a box with a name: the font has columns of one width.
  private static func width(_ name: String) -> Double {
    Double(min(name.width, maxName)) * 7.9 + 28
  }

  private static func number(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }

  var text: String {
    let (width, height) = (Self.number(size.width), Self.number(size.height))
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" height="\(height)" \
      role="img" aria-label="\(QuotedText.markup(title))">
      <style>
      .page { fill: #ffffff; } rect, path { fill: #ffffff; stroke: #59636e; stroke-width: 1.2; }
      .end { fill: #eef1f4; } .arrow { fill: none; } .dotted { stroke-dasharray: 4 4; } #head path { fill: #59636e; }
      .page, #head path { stroke: none; } text { fill: #1b1f24; font: 13px ui-monospace, Menlo, Consolas, monospace; }
      .name, .label { text-anchor: middle; } .soft, .label { fill: #59636e; font-size: 12px; }
      @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; } rect, path { fill: #151b23; stroke: #9198a1; } .end { fill: #262c36; }
      #head path { fill: #9198a1; } text { fill: #e6edf3; } .soft, .label { fill: #9198a1; }
      }
      </style>
      <marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">\
      <path d="M0 0L8 4L0 8z"/></marker>
      <rect class="page" width="100%" height="100%"/>
      \((lines + shapes).joined(separator: "\n"))
      </svg>

      """
  }
}

extension Pipeline {
  /// The pipeline as `gqlrun pipeline show` prints it: every entry with its options.
  ///
  /// Includes default values. Values are those of the file before expansion; secrets are masked.
  public func show() -> String {
    var lines = ["pipeline \(shownName)"]
    if let shown {
      let options = PipelineFile.options.filter { !["version", "name", "tests"].contains($0.name) }
      lines += Self.rows(options, shown, indent: "  ")
    } else {
      lines += endpoint.map { ["  endpoint: \($0.shownURL)"] } ?? []
      lines.append("  store: \(store.kind.rawValue)")
    }
    lines.append("chain")
    for entry in entries { lines += Self.rows(entry) }
    return lines.map { Printable.line($0) + "\n" }.joined()
  }

  private static func rows(_ entry: PipelineEntry) -> [String] {
    var head = "  - \(entry.id)"
    if let name = entry.pluginName, let placement = entry.placement {
      if name != entry.id { head += " (\(name))" }
      head += "  [\(placement.kind.rawValue), \(placement.stageText)]"
    }
    if entry.condition != .always { head += "  when \(entry.condition)" }
    guard let plugin = entry.plugin, let given = entry.given else { return [head] }
    return [head] + rows(type(of: plugin).optionDescriptions, given.value, indent: "      ")
  }

  /// The options that a mapping gives, and the defaults of the others.
  private static func rows(
    _ options: [OptionDescription], _ node: YAMLNode, indent: String
  ) -> [String] {
    options.flatMap { option -> [String] in
      let given = node.members?.first { $0.key == option.name }?.value
      let initial = option.defaultValue.map { YAMLNode($0, at: node.location) }
      guard let value = given ?? initial else { return [] }
      let head = "\(indent)\(option.name):"
      switch (option.type, value.content) {
      case (.object(let table), _):
        return [head] + rows(table.options, value, indent: indent + "  ")
      case (.map(.object(let table)), .mapping(let members)) where !members.isEmpty:
        return [head]
          + members.flatMap {
            ["\(indent)  \($0.key):"] + rows(table.options, $0.value, indent: indent + "    ")
          }
      default: return ["\(head) \(value.shownText(option))\(given == nil ? "  (default)" : "")"]
      }
    }
  }
}

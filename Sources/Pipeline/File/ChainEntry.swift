/// An entry of a chain as the file writes it: a plugin with the keys next to it.
struct ChainEntry {
  /// The most entries of a chain, and the most changes to a chain. Every entry is checked against
  /// the others.
  static let mostEntries = 1000
  /// The keys that change an inherited chain.
  static let changes = ["insert", "replace", "remove"]
  /// The keys that are allowed next to a plugin.
  static let neighbours = ["id", "when"]

  let members: [YAMLNode.Member]
  /// The member with the plugin's name, known or not; `nil` if there is none.
  let plugin: YAMLNode.Member?
  private let isKnown: Bool
  private let node: YAMLNode

  init(_ node: YAMLNode, _ registry: PluginRegistry) {
    self.node = node
    switch node.content {
    case .scalar(let name, _) where !node.isNull:
      let nothing = YAMLNode(content: .scalar("", isPlain: true), location: node.location)
      members = [.init(key: name, keyLocation: node.location, value: nothing)]
    case .mapping(let pairs): members = pairs
    default: members = []
    }
    plugin =
      members.first { registry[$0.key] != nil }
      ?? members.first { !(Self.neighbours + Self.changes).contains($0.key) }
    isKnown = plugin.map { registry[$0.key] != nil } ?? false
  }

  private init(_ members: [YAMLNode.Member], of other: ChainEntry) {
    self.members = members
    plugin = other.plugin
    isKnown = other.isKnown
    node = YAMLNode(content: .mapping(members), location: other.node.location)
  }

  subscript(key: String) -> YAMLNode.Member? { members.first { $0.key == key } }

  var location: FileLocation { plugin?.keyLocation ?? members.first?.keyLocation ?? node.location }

  /// The same entry without the keys that change an inherited chain.
  var withoutChanges: ChainEntry {
    ChainEntry(members.filter { !Self.changes.contains($0.key) }, of: self)
  }

  /// The identifier of the entry: its own, or else its plugin's name, with a number if that is not
  /// unique.
  func freshID(among taken: [String]) -> String {
    if let id = self["id"], case .scalar(let text, _) = id.value.content { return text }
    let name = plugin?.key ?? ""
    var id = name
    var number = 2
    while taken.contains(id) {
      id = "\(name)-\(number)"
      number += 1
    }
    return id
  }

  /// The entry as a node with an explicit identifier, which then depends on no other entry.
  func node(id: String) -> YAMLNode {
    guard isKnown, self["id"] == nil, let plugin else { return node }
    let value = YAMLNode(content: .scalar(id, isPlain: true), location: plugin.keyLocation)
    let member = YAMLNode.Member(key: "id", keyLocation: plugin.keyLocation, value: value)
    return YAMLNode(content: .mapping(members + [member]), location: node.location)
  }
}

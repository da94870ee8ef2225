/// Checks the placements of a chain's plugins against their traits.
///
/// The rules themselves are the plugins': see ``Placement``. Three rules hold for every chain:
/// plugins of a stage are adjacent (P009), a plugin answers requests (P010), and restarts are
/// bounded (P015).
struct ChainRules {
  let drafts: [ChainDraft]
  let features: Set<PipelineFeature>
  /// Whether entries have unknown plugins, so that no plugin is reported as missing.
  let hasUnknown: Bool
  /// The source location of the key `chain`.
  let location: FileLocation
  private(set) var findings: [PipelineDiagnostic] = []

  mutating func check() {
    for index in drafts.indices { check(index) }
    checkAnswer()
  }
}

extension ChainRules {
  /// Checks the rules of an entry. Of several rules with one code that would move it, reports the
  /// first.
  private mutating func check(_ index: Int) {
    let placement = drafts[index].placement
    for rule in placement.rules {
      guard case .once(let traits) = rule.condition, let other = first(traits), other < index
      else { continue }
      report(
        rule, index: index, message: "a chain \(rule.text) once, and \(named(other)) already does",
        hint: rule.remedy)
      return
    }
    var moved: Set<Move> = []
    for rule in placement.rules { check(rule, index: index, moved: &moved) }
    if let code = placement.stageCode { checkStage(index, code: code, moved: &moved) }
    checkRestarts(index)
  }

  /// A reported violation that moving an entry would fix.
  private struct Move: Hashable {
    var code: PipelineDiagnostic.Code
    var isUp: Bool
  }

  private mutating func check(_ rule: PlacementRule, index: Int, moved: inout Set<Move>) {
    switch rule.condition {
    case .once: break
    case .above(let traits, let moving):
      guard let other = first(traits), index > other else { return }
      let target = moving.flatMap { first($0) } ?? other
      guard index > target, moved.insert(Move(code: rule.code, isUp: true)).inserted else { return }
      report(
        rule, index: index, message: "\(quoted(index)) is below \(named(other)), \(rule.text)",
        hint: "move it above \(quoted(target))")
    case .below(let traits):
      guard let other = first(traits), index < other,
        moved.insert(Move(code: rule.code, isUp: false)).inserted
      else { return }
      report(
        rule, index: index, message: "\(quoted(index)) is above \(named(other)), \(rule.text)",
        hint: "move it below \(quoted(other))")
    case .belowAll(let traits):
      guard let other = drafts.lastIndex(where: { $0.traits.intersects(traits) }), index < other
      else { return }
      report(
        rule, index: index, message: "\(quoted(index)) is above \(named(other)), \(rule.text)",
        hint: rule.remedy.map { filled($0, own: quoted(index), other: quoted(other)) })
    case .present(let traits, let atChain, let feature):
      guard !hasUnknown, first(traits) == nil, feature.map(features.contains) ?? true else {
        return
      }
      let name = atChain ? named(index) : quoted(index)
      report(
        rule, index: index, message: filled(rule.text, own: name),
        hint: rule.remedy.map { filled($0, own: quoted(index)) },
        at: atChain ? location : nil)
    case .feature(let feature):
      guard !features.contains(feature) else { return }
      report(
        rule, index: index, message: filled(rule.text, own: quoted(index)),
        hint: rule.remedy.map { filled($0, own: quoted(index)) })
    }
  }

  /// Checks that a wrapping plugin is among those of its stage.
  private mutating func checkStage(
    _ index: Int, code: PipelineDiagnostic.Code, moved: inout Set<Move>
  ) {
    guard let (stage, other, isUp) = stageMove(index),
      moved.insert(Move(code: code, isUp: isUp)).inserted
    else { return }
    let side = isUp ? "above" : "below"
    findings.report(
      code,
      message:
        "\(quoted(index)) works in the \(stage.rawValue) stage and belongs \(side) \(named(other))",
      location: drafts[index].location,
      hint: "move it \(side) \(quoted(other))")
  }

  /// The entry that a plugin outside of its stage belongs above or below.
  private func stageMove(_ index: Int) -> (PluginStage, other: Int, isUp: Bool)? {
    let placement = drafts[index].placement
    let fetch = first(.fetches)
    if placement.stages.contains(.graphQL) {
      guard let http = drafts.firstIndex(where: \.placement.isBelowCache), index > http else {
        return nil
      }
      guard placement.stages.contains(.http) else { return (.graphQL, http, true) }
      return fetch.flatMap { index > $0 ? (.graphQL, $0, true) : nil }
    }
    guard placement.stages == [.http], placement.kind == .wrap else { return nil }
    if let fetch, index > fetch { return (.http, fetch, true) }
    guard let read = first(.readsCache), index < read, read < fetch ?? .max else { return nil }
    return (.http, read, false)
  }

  /// P015, for plugins without a rule of their own about bounded restarts.
  private mutating func checkRestarts(_ index: Int) {
    guard drafts[index].traits.contains(.restarts) else { return }
    guard let bound = first(.boundsRestarts) else {
      guard !hasUnknown else { return }
      return findings.report(
        .restarts,
        message:
          "\(quoted(index)) may restart the chain, and no plugin bounds the number of restarts",
        location: drafts[index].location,
        hint: "add `- max-retry` above it")
    }
    let hasOwnRule = drafts[index].placement.rules.contains {
      if case .below(let traits) = $0.condition { traits.contains(.boundsRestarts) } else { false }
    }
    guard index < bound, !hasOwnRule else { return }
    findings.report(
      .restarts,
      message: "\(quoted(index)) may restart the chain, and \(named(bound)) is below it",
      location: drafts[index].location,
      hint: "move \(quoted(bound)) above \(quoted(index))")
  }

  /// P010: a plugin answers requests, unless a missing fetch was already reported.
  private mutating func checkAnswer() {
    guard !hasUnknown, first([.fetches, .answers, .cacheOnly]) == nil,
      !findings.contains(where: { $0.code == .fetch })
    else { return }
    findings.report(
      .fetch, message: "no plugin of this chain sends requests", location: location,
      hint: "add `- fetch`, and `- parse` below it")
  }
}

extension ChainRules {
  private func first(_ traits: PluginTraits) -> Int? {
    drafts.firstIndex { $0.traits.intersects(traits) }
  }

  /// The first entry with a trait of a set; sets are tried in order.
  private func first(_ alternatives: [PluginTraits]) -> Int? {
    alternatives.lazy.compactMap { first($0) }.first
  }

  private func quoted(_ index: Int) -> String { "`\(drafts[index].name)`" }

  /// The entry in messages: "`fetch` (line 12)", with the file if that is not the chain's.
  private func named(_ index: Int) -> String {
    let target = drafts[index].location
    let file = target.file == location.file ? "" : " of \(target.file)"
    return "\(quoted(index)) (line \(target.line)\(file))"
  }

  private func filled(_ text: String, own: String, other: String = "") -> String {
    text.replacing("{self}", with: own).replacing("{other}", with: other)
  }

  private mutating func report(
    _ rule: PlacementRule, index: Int, message: String, hint: String?,
    at location: FileLocation? = nil
  ) {
    findings.report(
      rule.code, message: message, location: location ?? drafts[index].location, hint: hint,
      severity: rule.severity)
  }
}

/// A parsed entry of a chain, before its interceptors are created.
struct ChainDraft {
  var id: String
  /// The plugin with its options; those that could not be read have their defaults.
  var plugin: any Plugin
  /// The plugin with its options, as the file writes them.
  var given: YAMLNode.Member
  var condition: OperationCondition
  /// Whether the options were read without errors.
  var isSound: Bool
  /// Whether an option depends on a command that was not run.
  var isUnresolved: Bool
  /// Whether the options hold `${exec:…}`.
  var hasCommands: Bool
  /// The files that the options name for writing.
  var outputs: [FileOutput]
  let traits: PluginTraits
  let placement: Placement

  /// The name of the plugin.
  var name: String { given.key }
  /// The source location of the plugin's name.
  var location: FileLocation { given.keyLocation }
}

/// An entry of a chain as the file writes it: a plugin with the keys next to it.
struct ChainEntry {
  /// The most entries of a chain, and the most changes to a chain. Every entry is checked against
  /// the others.
  static let maxEntries = 1000
  /// The keys that change an inherited chain.
  static let changes = ["insert", "replace", "remove"]
  /// The keys that are allowed next to a plugin.
  static let neighbours = ["id", "when"]

  private(set) var members: [YAMLNode.Member]
  /// The member with the plugin's name, known or not; `nil` if there is none.
  let plugin: YAMLNode.Member?
  private let isKnown: Bool
  private var node: YAMLNode

  init(_ node: YAMLNode, _ registry: PluginRegistry) {
    self.node = node
    switch node.content {
    case .scalar(let name, _) where !node.isNull:
      members = [
        .init(
          key: name, keyLocation: node.location, value: YAMLNode(emptyAt: node.location))
      ]
    case .mapping(let pairs): members = pairs
    default: members = []
    }
    plugin =
      members.first { registry[$0.key] != nil }
      ?? members.first { !(Self.neighbours + Self.changes).contains($0.key) }
    isKnown = plugin.map { registry[$0.key] != nil } ?? false
  }

  subscript(key: String) -> YAMLNode.Member? { members.first { $0.key == key } }

  var location: FileLocation { plugin?.keyLocation ?? members.first?.keyLocation ?? node.location }

  /// The same entry without the keys that change an inherited chain.
  var withoutChanges: ChainEntry {
    var entry = self
    entry.members.removeAll { Self.changes.contains($0.key) }
    entry.node.content = .mapping(entry.members)
    return entry
  }

  /// The identifier of the entry: its own, or else its plugin's name, with a number if that is not
  /// unique.
  ///
  /// - Parameter isTaken: Whether another entry has an identifier.
  func freshID(_ isTaken: (String) -> Bool) -> String {
    if let id = self["id"], case .scalar(let text, _) = id.value.content { return text }
    let name = plugin?.key ?? ""
    var id = name
    var number = 2
    while isTaken(id) {
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

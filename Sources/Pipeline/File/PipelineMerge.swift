import GQLRunSupport

/// Merges a pipeline file with the file that it extends.
///
/// Mappings are merged by key; other values are replaced. A `store` with a kind replaces the
/// inherited one. In the chain, each entry declares its change: `insert`, `replace` or `remove`.
struct PipelineMerge {
  let registry: PluginRegistry
  /// The path of the extended file, for messages.
  let base: String
  private(set) var findings: [PipelineDiagnostic] = []
  /// The number of members that were indexed or merged; proportional to the length of both files.
  private(set) var steps = 0

  /// The members of a file merged with the inherited ones. Tests are not inherited: they are about
  /// their own file.
  mutating func members(
    _ own: [YAMLNode.Member], over inherited: [YAMLNode.Member]
  ) -> [YAMLNode.Member] {
    var result = inherited.filter { !["extends", "tests", "version"].contains($0.key) }
    checkVersion(inherited)
    let locations = locations(in: result)
    for member in own {
      steps += 1
      guard let index = locations[member.key] else {
        if member.key == "chain" { reportChanges(member) }
        result.append(member)
        continue
      }
      switch member.key {
      case "chain":
        result[index].value = chain(member.value, over: result[index].value)
        result[index].keyLocation = member.keyLocation
      case "store" where member.value.members?.contains(where: { $0.key == "kind" }) == true:
        result[index] = member
      default: result[index] = merged(member, over: result[index])
      }
    }
    return result
  }

  private mutating func checkVersion(_ inherited: [YAMLNode.Member]) {
    guard let version = inherited.first(where: { $0.key == "version" })?.value,
      case .scalar(let text, _) = version.content, text != "1"
    else { return }
    findings.refuse(
      "this gqlrun reads version 1 of pipeline files",
      at: version.location, hint: "write `version: 1`")
  }

  /// The index of each key; keys of one mapping are unique.
  private mutating func locations(in members: [YAMLNode.Member]) -> [String: Int] {
    steps += members.count
    return Dictionary(members.enumerated().map { ($1.key, $0) }) { first, _ in first }
  }

  private mutating func merged(
    _ own: YAMLNode.Member, over inherited: YAMLNode.Member
  ) -> YAMLNode.Member {
    guard case .mapping(let new) = own.value.content,
      case .mapping(var members) = inherited.value.content
    else { return own }
    let locations = self.locations(in: members)
    for member in new {
      steps += 1
      if let index = locations[member.key] {
        members[index] = merged(member, over: members[index])
      } else {
        members.append(member)
      }
    }
    return YAMLNode.Member(
      key: own.key, keyLocation: own.keyLocation,
      value: YAMLNode(content: .mapping(members), location: own.value.location))
  }
}

// MARK: The chain

extension PipelineMerge {
  /// An entry of the chain with its identifier.
  private struct Slot {
    var entry: ChainEntry
    var id: String
  }

  private mutating func chain(_ own: YAMLNode, over inherited: YAMLNode) -> YAMLNode {
    guard case .sequence(let changes) = own.content,
      case .sequence(let nodes) = inherited.content
    else { return own.isNull ? inherited : own }
    guard max(changes.count, nodes.count) <= ChainEntry.maxEntries else {
      findings.refuse(
        "a chain has at most \(ChainEntry.maxEntries) entries, and at most as many changes to it; "
          + "found \(max(changes.count, nodes.count))",
        at: own.location, hint: "remove entries")
      return inherited
    }
    var slots: [Slot] = []
    for node in nodes {
      let entry = ChainEntry(node, registry)
      slots.append(Slot(entry: entry, id: entry.freshID { id in slots.contains { $0.id == id } }))
    }
    for change in changes { apply(ChainEntry(change, registry), to: &slots) }
    return YAMLNode(
      content: .sequence(slots.map { $0.entry.node(id: $0.id) }), location: own.location)
  }

  private mutating func apply(_ change: ChainEntry, to slots: inout [Slot]) {
    let keys = ChainEntry.changes.compactMap { change[$0] }
    guard let key = keys.first, keys.count == 1 else {
      findings.refuse(
        keys.isEmpty
          ? "this entry has no key that changes the chain of \(base)"
          : "an entry makes one change to the chain of \(base)", at: change.location,
        hint: "write `insert: { after: ID }` or `replace: ID` next to the plugin, or `- remove: ID`"
      )
      return
    }
    switch key.key {
    case "remove":
      if let other = change.members.first(where: { $0.key != "remove" }) {
        findings.report(
          .unknownName, message: "`\(other.key)` is next to `remove`, which only removes entries",
          location: other.keyLocation, hint: "write `replace` to replace a plugin by another")
      }
      for index in targets(key.value, owner: "`remove`", slots: slots).sorted(by: >) {
        slots.remove(at: index)
      }
    case "replace":
      guard let index = targets(key.value, owner: "`replace`", slots: slots).first else { return }
      let entry = change.withoutChanges
      let old = slots[index]
      let isSamePlugin = entry.plugin?.key == old.entry.plugin?.key
      slots[index] = Slot(
        entry: entry,
        id: entry["id"] == nil && isSamePlugin
          ? old.id : entry.freshID { id in id != old.id && slots.contains { $0.id == id } })
    default:
      guard let index = insertion(key, slots) else { return }
      let entry = change.withoutChanges
      let id = entry.freshID { id in slots.contains { $0.id == id } }
      slots.insert(Slot(entry: entry, id: id), at: index)
    }
  }

  /// The index at which `insert: { before: ID }` or `{ after: ID }` puts an entry.
  private mutating func insertion(_ insert: YAMLNode.Member, _ slots: [Slot]) -> Int? {
    guard case .mapping(let members) = insert.value.content, members.count == 1,
      let side = members.first, ["before", "after"].contains(side.key)
    else {
      findings.refuse(
        "`insert` requires `before` or `after` with an entry",
        at: insert.value.isNull ? insert.keyLocation : insert.value.location,
        hint: "write `insert: { before: ID }` or `insert: { after: ID }`")
      return nil
    }
    guard let index = targets(side.value, owner: "`\(side.key)`", slots: slots).first else {
      return nil
    }
    return side.key == "before" ? index : index + 1
  }

  /// The indices of the entries that a value names; only `remove` accepts a list.
  private mutating func targets(
    _ value: YAMLNode, owner: String, slots: [Slot]
  ) -> [Int] {
    let names: [YAMLNode]
    switch value.content {
    case .scalar where !value.isNull: names = [value]
    case .sequence(let nodes) where owner == "`remove`" && !nodes.isEmpty: names = nodes
    default:
      findings.refuse(
        "\(owner) requires the id of an entry, not \(value.kind)",
        at: value.location, hint: "one of \(slots.map(\.id).joined(separator: ", "))")
      return []
    }
    var indices: Set<Int> = []
    for node in names {
      guard case .scalar(let name, _) = node.content else { continue }
      if let index = slots.firstIndex(where: { $0.id == name }) {
        indices.insert(index)
      } else {
        findings.reportUnknown(
          name, among: slots.map(\.id), "entries",
          message: "the chain of \(base) has no entry `\(name)`", location: node.location)
      }
    }
    return indices.sorted()
  }

  /// Reports changes to a chain that the extended file does not have.
  private mutating func reportChanges(_ chain: YAMLNode.Member) {
    guard case .sequence(let nodes) = chain.value.content else { return }
    for entry in nodes.map({ ChainEntry($0, registry) }) {
      guard let change = ChainEntry.changes.compactMap({ entry[$0] }).first else { continue }
      findings.refuse(
        "`\(change.key)` changes the chain of \(base), which has none",
        at: change.keyLocation, hint: "remove it")
    }
  }
}

/// Reads a pipeline file and the files it extends as one mapping of nodes.
///
/// Every node keeps its source location, so that diagnostics name the right file.
struct PipelineSource {
  /// The most files that extend one another.
  static let maxDepth = 16

  let registry: PluginRegistry
  let environment: PipelineFileEnvironment
  private(set) var findings: [PipelineDiagnostic] = []
  private(set) var sources: [SourceText] = []
  /// The files that were read, with their bytes.
  private(set) var files: [(path: String, bytes: [UInt8])] = []

  /// The root of the file, or `nil` with at least one diagnostic.
  ///
  /// - Parameter descendants: The files that extend this one.
  mutating func read(
    _ bytes: [UInt8], file: String, descendants: [String] = []
  ) -> YAMLNode? {
    guard let root = compose(bytes, file: file) else { return nil }
    guard case .mapping(let members) = root.content else {
      findings.refuse(
        "a pipeline file is a mapping, not \(root.kind)",
        at: root.location, hint: "begin with `version: 1`")
      return nil
    }
    guard let extends = members.first(where: { $0.key == "extends" }) else { return root }
    guard let base = base(extends, of: file, descendants: descendants),
      case .mapping(let inherited) = base.content
    else { return nil }
    var merge = PipelineMerge(registry: registry, base: base.location.file)
    let merged = merge.members(members, over: inherited)
    findings += merge.findings
    return YAMLNode(content: .mapping(merged), location: root.location)
  }

  private mutating func base(
    _ extends: YAMLNode.Member, of file: String, descendants: [String]
  ) -> YAMLNode? {
    func refuse(_ message: String) -> YAMLNode? {
      findings.refuse(
        message, at: extends.value.location, hint: "write `extends: ./other.pipeline.yaml`")
      return nil
    }
    guard case .scalar(let path, _) = extends.value.content, !extends.value.isNull else {
      return refuse("`extends` is the path of one pipeline file")
    }
    guard !path.contains("${") else {
      return refuse("`extends` is a literal path, without expansions")
    }
    let target = FilePath.resolve(path, in: FilePath.folder(of: file))
    let line = (descendants + [file]).map(FilePath.normalized)
    if let start = line.firstIndex(of: FilePath.normalized(target)) {
      let cycle = (line[start...] + [line[start]]).joined(separator: " → ")
      findings.report(
        .unreadable, message: "`extends` forms a cycle", location: extends.value.location,
        hint: "remove it from one of these: \(cycle)")
      return nil
    }
    guard line.count < Self.maxDepth else {
      findings.report(
        .unreadable, message: "more than \(Self.maxDepth) files extend each other",
        location: extends.value.location, hint: "combine some of them")
      return nil
    }
    let bytes: [UInt8]
    do {
      bytes = try environment.readFile(target)
    } catch {
      // Paths in a ready-made file are relative to the working directory.
      if !path.contains("/"), !line.contains(path), let text = environment.readyMade(path) {
        return read(Array(text.utf8), file: path, descendants: descendants + [file])
      }
      findings.report(
        .unreadable, message: "the file `\(path)`, which this file extends, cannot be read",
        location: extends.value.location,
        hint: PipelineFileEnvironment.reason(of: error))
      return nil
    }
    return read(bytes, file: target, descendants: descendants + [file])
  }

  private mutating func compose(_ bytes: [UInt8], file: String) -> YAMLNode? {
    let yaml = YAMLFile(bytes, file: file, kind: .pipeline)
    // A log, which others may read, shows no lines of files elsewhere on this machine.
    let isElsewhere = files.first.map { !FilePath.isInRepository(file, of: $0.path) } ?? false
    sources.append(isElsewhere ? SourceText(file: file, lines: []) : yaml.source)
    files.append((file, bytes))
    findings += yaml.findings
    return yaml.root
  }
}

import GQLRunJSON
import GQLRunPipeline

/// Parses the text of a manifest into nodes.
extension ManifestLoader {
  mutating func manifest(_ bytes: [UInt8], endpoint: String?) -> Manifest? {
    let start = FileLocation(file: file, line: 1, column: 1)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      report(.unreadable, "the manifest is not UTF-8 text", start, "save it as UTF-8")
      return nil
    }
    let isLines = text.first { !$0.isWhitespace } == "{"
    guard bytes.count <= (isLines ? Self.largestLines : Self.largestYAML) else {
      report(
        .unreadable, "the manifest is larger than \(isLines ? "256" : "1") MiB", start,
        isLines ? "put rows into a file for `foreach`" : "long manifests are written as JSON lines")
      return nil
    }
    source = SourceText(file: file, text: text)
    source.kind = .manifest
    let root: YAMLNode?
    if isLines {
      root = lines(text)
    } else {
      var composer = YAMLComposer(text, source: source)
      root = composer.compose()
      decoder.findings += composer.findings
    }
    guard let root else { return nil }
    guard root.members != nil else {
      report(
        .wrongValue, "a manifest is a mapping, not \(root.kind)", root.location,
        "begin with `version: 1`")
      return nil
    }
    var result = Self.without("sinks", root)
    guard case .mapping(var members) = result.content else { return nil }
    for index in members.indices where members[index].key == "operations" {
      guard case .sequence(let operations) = members[index].value.content else { continue }
      members[index].value.content = .sequence(operations.map { Self.without("variables", $0) })
    }
    result.content = .mapping(members)
    return manifest(result, endpoint)
  }

  /// The node without a key that has no value: all entries below it may be comments.
  private static func without(_ key: String, _ node: YAMLNode) -> YAMLNode {
    guard let members = node.members else { return node }
    var node = node
    node.content = .mapping(members.filter { $0.key != key || !$0.value.isNull })
    return node
  }

  /// Parses JSON lines: the line with `version` has the manifest's keys, each other line an
  /// operation.
  private mutating func lines(_ text: String) -> YAMLNode? {
    var members: [YAMLNode.Member] = []
    var operations: [YAMLNode] = []
    var number = 0
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      number += 1
      guard line.contains(where: { !$0.isWhitespace }) else { continue }
      let location = FileLocation(
        file: file, line: number, column: 1, length: max(1, line.unicodeScalars.count))
      do {
        let node = Self.node(try JSONValue(parsing: String(line)), location)
        guard case .mapping(let found) = node.content else {
          report(.wrongValue, "a line of a manifest is a JSON object, not \(node.kind)", location)
          continue
        }
        if members.isEmpty, found.contains(where: { $0.key == "version" }) {
          members = found
        } else {
          operations.append(node)
        }
      } catch {
        report(
          .unreadable, "not valid JSON: \(error.message)",
          FileLocation(file: file, line: number, column: error.offset + 1))
      }
    }
    let start = FileLocation(file: file, line: 1, column: 1)
    if let location = members.firstIndex(where: { $0.key == "operations" }) {
      guard case .sequence(let own) = members[location].value.content else {
        return YAMLNode(content: .mapping(members), location: start)
      }
      members[location].value.content = .sequence(own + operations)
    } else {
      members.append(
        YAMLNode.Member(
          key: "operations", keyLocation: start,
          value: YAMLNode(content: .sequence(operations), location: start)))
    }
    return YAMLNode(content: .mapping(members), location: start)
  }

  private static func node(_ value: JSONValue, _ location: FileLocation) -> YAMLNode {
    let content: YAMLNode.Content =
      switch value {
      case .null: .scalar("null", isPlain: true)
      case .boolean(let flag): .scalar(flag ? "true" : "false", isPlain: true)
      case .number(let number): .scalar(number.text, isPlain: true)
      case .string(let text): .scalar(text, isPlain: false)
      case .array(let elements): .sequence(elements.map { node($0, location) })
      case .object(let object):
        .mapping(
          object.map {
            YAMLNode.Member(key: $0.key, keyLocation: location, value: node($0.value, location))
          })
      }
    return YAMLNode(content: content, location: location)
  }
}

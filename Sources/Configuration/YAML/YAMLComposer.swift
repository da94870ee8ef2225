import Yams

/// Parses the text of a YAML file into nodes with source locations, or into diagnostics.
///
/// Uses only the `compose` level of Yams: `load` expands aliases and types scalars by YAML 1.1.
package struct YAMLComposer {
  package let source: SourceText
  private let text: String
  package private(set) var findings: [PipelineDiagnostic] = []
  /// The number of times the text was parsed; more than once only for repeated keys.
  package private(set) var compositions = 0
  /// The number of characters that were read to find the ends of nodes.
  package private(set) var scannedCharacters: Int
  /// For each line, the column after its last nonblank character.
  private let trimmedEnds: [Int]

  package init(_ text: String, source: SourceText) {
    self.text = text
    self.source = source
    var blanks = 0
    trimmedEnds = source.lines.map { line in
      let count = line.reversed().prefix { $0 == " " || $0 == "\t" }.count
      blanks += count
      return line.count - count
    }
    scannedCharacters = blanks
  }

  /// The most repeated keys that are found one by one.
  private static let maxRepetitions = 100
  /// The most bytes that are parsed again to find further repeated keys; a long file is parsed
  /// again once.
  private static let maxRepeatedBytes = 1 << 20

  /// The root node, or `nil` with at least one diagnostic.
  package mutating func compose() -> YAMLNode? {
    findings = YAMLGuard(source).findings
    guard findings.isEmpty else { return nil }
    var attempt = text
    var lines = source.lines
    var renamed: [(name: String, mark: Mark)] = []
    let most = min(Self.maxRepetitions, max(1, Self.maxRepeatedBytes / max(1, text.utf8.count)))
    while true {
      do {
        compositions += 1
        // The basic resolver does not compile the regular expressions of implicit types.
        let parser = try Parser(yaml: attempt, resolver: .basic, encoding: .utf8)
        guard let root = try parser.singleRoot() else {
          report(
            "the file is empty", location: FileLocation(file: source.file),
            hint: source.kind.beginning)
          return nil
        }
        // Nodes have weak references to their anchors; the parser owns them.
        return withExtendedLifetime(parser) { node(root, depth: 0) }
      } catch YamlError.duplicatedKeysInMapping(let names, let context) {
        // A parser stops at the first mapping with repeated keys. One key is renamed in place and
        // the text is parsed again, to find further repetitions.
        guard renamed.count < most else {
          for (name, mark) in renamed { reportRepeated([name], mark) }
          reportRepeated(names, context.mark)
          return nil
        }
        guard renameKey(at: context.mark, in: &lines, round: renamed.count) else {
          report(
            "a key of this mapping is repeated", location: location(context.mark, length: 1),
            code: .duplicateKey
          )
          return nil
        }
        renamed.append((names.first ?? "", context.mark))
        attempt = String(String.UnicodeScalarView(lines.joined(separator: ["\n"])))
      } catch {
        report(error)
        return nil
      }
    }
  }

  /// Reports repeated keys of one mapping at the first of them.
  private mutating func reportRepeated(_ names: [String], _ mark: Mark) {
    let shown = names.prefix(3).map { "`\($0.prefix(60))`" }.joined(separator: ", ")
    let rest = names.count > 3 ? " and \(names.count - 3) more keys of this mapping" : ""
    report(
      "\(shown)\(rest) \(names.count == 1 ? "is" : "are") repeated",
      location: location(mark, length: 1), code: .duplicateKey,
      hint: "keep one of each; further repeated keys are reported after that")
  }
}

extension YAMLComposer {
  private mutating func node(_ node: Node, depth: Int) -> YAMLNode? {
    let location = location(of: node)
    guard depth <= YAMLGuard.maxDepth else {
      report(
        "nested more than \(YAMLGuard.maxDepth) levels deep", location: location,
        hint: "use fewer nested levels")
      return nil
    }
    guard node.anchor == nil else {
      report(
        "YAML anchors are not used in \(source.kind.name)s", location: location,
        hint: "repeat the text")
      return nil
    }
    switch node {
    case .scalar(let scalar):
      return YAMLNode(
        content: .scalar(scalar.string, isPlain: scalar.style == .plain), location: location)
    case .sequence(let sequence):
      var elements: [YAMLNode] = []
      for element in sequence {
        guard let element = self.node(element, depth: depth + 1) else { return nil }
        elements.append(element)
      }
      return YAMLNode(content: .sequence(elements), location: location)
    case .mapping(let mapping):
      return members(of: mapping, depth: depth).map {
        YAMLNode(content: .mapping($0), location: location)
      }
    case .alias:
      report(
        "YAML aliases are not used in \(source.kind.name)s", location: location,
        hint: "repeat the text")
      return nil
    }
  }

  private mutating func members(of mapping: Node.Mapping, depth: Int) -> [YAMLNode.Member]? {
    var members: [YAMLNode.Member] = []
    var locations: [String: FileLocation] = [:]
    for (key, value) in mapping {
      let keyLocation = location(of: key)
      guard case .scalar(let scalar) = key else {
        report(
          "a key is a word, not a list or a mapping", location: keyLocation,
          hint: "write `key: value`")
        return nil
      }
      let name = originalKey(scalar.string, at: keyLocation)
      guard let value = node(value, depth: depth + 1) else { return nil }
      if let first = locations[name] {
        // At the later of the two source locations, in either order of discovery.
        report(
          "`\(name)` is repeated", location: max(keyLocation, first), code: .duplicateKey,
          hint: "first used in line \(min(keyLocation, first).line)")
        continue
      }
      locations[name] = keyLocation
      members.append(YAMLNode.Member(key: name, keyLocation: keyLocation, value: value))
    }
    return members
  }
}

extension YAMLComposer {
  /// The first of the private use characters that replace the first letter of a renamed key.
  private static let firstStandIn: UInt32 = 0xF000

  /// Replaces one letter of the key at `mark`; `false` if there is none to replace.
  private func renameKey(at mark: Mark, in lines: inout [[Unicode.Scalar]], round: Int) -> Bool {
    guard lines.indices.contains(mark.line - 1),
      let standIn = Unicode.Scalar(Self.firstStandIn + UInt32(round))
    else { return false }
    let line = lines[mark.line - 1]
    var column = mark.column - 1
    if line.indices.contains(column), line[column] == "\"" || line[column] == "'" { column += 1 }
    guard line.indices.contains(column), !"\\\"'".unicodeScalars.contains(line[column]) else {
      return false
    }
    lines[mark.line - 1][column] = standIn
    return true
  }

  /// The key as written, if `key` was renamed.
  private func originalKey(_ key: String, at location: FileLocation) -> String {
    guard let first = key.unicodeScalars.first,
      (Self.firstStandIn..<Self.firstStandIn + 100).contains(first.value)
    else { return key }
    let line = source.lines[location.line - 1]
    var column = location.column - 1
    if line[column] == "\"" || line[column] == "'" { column += 1 }
    return String(String.UnicodeScalarView([line[column]] + key.unicodeScalars.dropFirst()))
  }
}

extension YAMLComposer {
  private mutating func location(of node: Node) -> FileLocation {
    guard let mark = node.mark else { return FileLocation(file: source.file) }
    guard source.lines.indices.contains(mark.line - 1) else { return location(mark, length: 1) }
    let line = source.lines[mark.line - 1].dropFirst(max(0, mark.column - 1))
    switch node {
    case .scalar(let scalar):
      switch scalar.style {
      case .singleQuoted, .doubleQuoted:
        return location(mark, length: quotedLength(line) ?? trimmedLength(from: mark))
      case .literal, .folded: return location(mark, length: 1)
      default:
        let length = scalar.string.unicodeScalars.count
        return location(mark, length: max(1, min(length, trimmedLength(from: mark))))
      }
    case .sequence, .mapping, .alias:
      guard let first = line.first, first == "{" || first == "[" else {
        return location(mark, length: keyLength(line))
      }
      return location(mark, length: flowLength(line))
    }
  }

  private func location(_ mark: Mark, length: Int) -> FileLocation {
    let line = min(max(1, mark.line), source.lines.count)
    let width = source.lines[line - 1].count
    let column = mark.line > line ? width + 1 : max(1, mark.column)
    return FileLocation(file: source.file, line: line, column: column, length: length)
  }

  /// The length of quoted text up to its closing quote; `nil` if the quote is on another line.
  private mutating func quotedLength(_ line: ArraySlice<Unicode.Scalar>) -> Int? {
    guard let quote = line.first else { return nil }
    var skip = false
    for (offset, scalar) in line.dropFirst().enumerated() {
      scannedCharacters += 1
      if skip {
        skip = false
      } else if scalar == "\\", quote == "\"" {
        skip = true
      } else if scalar == quote {
        return offset + 2
      }
    }
    return nil
  }

  /// The length of a line from a mark on, without trailing blanks.
  private func trimmedLength(from mark: Mark) -> Int {
    max(1, trimmedEnds[mark.line - 1] - (mark.column - 1))
  }

  /// The length of the first key of a block mapping, or of the dash of a block sequence.
  private mutating func keyLength(_ line: ArraySlice<Unicode.Scalar>) -> Int {
    if line.first == "-" { return 1 }
    let length = line.prefix(Self.longestCollection).prefix { $0 != ":" }.count
    scannedCharacters += length
    return max(1, length)
  }

  /// The most characters that are searched for the end of a collection, so that many collections on
  /// one line take linear time.
  private static let longestCollection = 1000

  /// The length of a flow collection up to its end, if that is near and on the same line; otherwise
  /// of its opening bracket.
  private mutating func flowLength(_ line: ArraySlice<Unicode.Scalar>) -> Int {
    var depth = 0
    for (offset, scalar) in line.prefix(Self.longestCollection).enumerated() {
      scannedCharacters += 1
      if scalar == "{" || scalar == "[" { depth += 1 }
      if scalar == "}" || scalar == "]" { depth -= 1 }
      if depth == 0 { return offset + 1 }
    }
    return 1
  }
}

extension YAMLComposer {
  private mutating func report(
    _ message: String, location: FileLocation, code: PipelineDiagnostic.Code = .unreadable,
    hint: String? = nil
  ) {
    findings.append(PipelineDiagnostic(code, message, at: location, hint: hint))
  }

  private mutating func report(_ error: any Error) {
    switch error {
    case YamlError.scanner(let context, let problem, let mark, _),
      YamlError.parser(let context, let problem, let mark, _):
      let location = location(mark, length: 1)
      let context = context.map { "\($0.text) (line \($0.mark.line)), " } ?? ""
      report(
        "not valid YAML: \(context)\(problem)", location: location,
        hint: hint(for: problem, location))
    case YamlError.composer(_, let problem, let mark, _) where problem.contains("another document"):
      report(
        "a \(source.kind.name) contains one YAML document", location: location(mark, length: 3),
        hint: "move this one to another file")
    case YamlError.composer(_, let problem, let mark, _):
      report("not valid YAML: \(problem)", location: location(mark, length: 1))
    default:
      report("not readable as YAML", location: FileLocation(file: source.file))
    }
  }

  private func hint(for problem: String, _ location: FileLocation) -> String? {
    let line = source.lines[location.line - 1]
    if problem.contains("','") && String(String.UnicodeScalarView(line)).contains("${") {
      return "quote an expansion inside { } and [ ]: \"${env:NAME}\""
    }
    if problem.contains("mapping values") || problem.contains("expected '-' indicator"),
      let entry = bareEntry(above: location.line)
    {
      return "write `- \(entry): {}`: a name that keys follow needs a colon"
    }
    if problem.contains("mapping values") { return "quote text that contains `: `" }
    if problem.contains("start any token") { return "quote this text" }
    return nil
  }

  /// The name in `- name` above an indented line `key: …`; `nil` if the lines are not such ones.
  ///
  /// - Parameter number: The number of the line with the key.
  private func bareEntry(above number: Int) -> String? {
    func text(_ line: [Unicode.Scalar]) -> (indentation: Int, words: [Substring])? {
      let words = String(String.UnicodeScalarView(line)).split { $0 == " " || $0 == "\t" }
      guard let first = words.first, !first.hasPrefix("#") else { return nil }
      return (line.prefix { $0 == " " }.count, words)
    }
    guard source.lines.indices.contains(number - 1), let key = text(source.lines[number - 1]),
      key.words[0].hasSuffix(":"),
      let entry = source.lines[..<(number - 1)].lazy.reversed().compactMap(text).first,
      entry.words.count > 1, entry.words[0] == "-", entry.indentation < key.indentation,
      entry.words.count == 2 || entry.words[2].hasPrefix("#"),
      entry.words[1].allSatisfy({ $0.isLetter || $0.isNumber || "-_.".contains($0) })
    else { return nil }
    return String(entry.words[1])
  }
}

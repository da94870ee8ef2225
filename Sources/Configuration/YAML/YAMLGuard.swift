/// Finds YAML features that pipeline files do not support, before a YAML parser reads the text.
///
/// Anchors and aliases let a small file grow without bound while it is parsed, tags change the type
/// of a value, and both hide the meaning of a line from readers. Every finding is reported with its
/// source location. The scanner knows only enough YAML to distinguish indicators from text: quotes,
/// plain and block scalars over several lines, comments, collections. It must not take for text what the parser takes for an
/// indicator: the parser compares keys, which takes exponential time if they consist of aliases.
struct YAMLGuard {
  static let maxDepth = 64
  /// The number of findings after which the rest of the file is not read.
  static let maxFindings = 200

  let source: SourceText
  private(set) var findings: [PipelineDiagnostic] = []

  private var flowDepth = 0
  private var openQuote: Unicode.Scalar?
  private var blockScalar: BlockScalar?
  /// The columns of the open collections that have no brackets, from the outermost one to the innermost one.
  private var columns: [Int] = []
  /// Where the node begins on this line that may be a key; `nil` in brackets.
  private var keyColumn: Int?
  /// Whether a scalar without quotes may continue at the next character.
  private var isInPlainScalar = false
  /// Whether a new node may begin at the next character.
  private var atNodeStart = true
  /// Whether only white space and comments follow a `?` in brackets, which begins a key.
  private var isAfterKeyMark = false
  private var reportedDepth = false

  /// A block scalar, which begins with `|` or `>`.
  private struct BlockScalar {
    /// The column of the collection that contains it; -1 for none.
    let parent: Int
    /// The indentation of its text; `nil` before its first line.
    var indent: Int?
    /// The largest indentation of the empty lines before its text.
    var blankIndent = 0

    /// Whether a line is part of the text.
    mutating func contains(indent: Int, isBlank: Bool) -> Bool {
      if isBlank {
        blankIndent = max(blankIndent, indent)
        return true
      }
      let least = self.indent ?? max(parent + 1, 1, blankIndent, indent)
      self.indent = least
      return indent >= least
    }
  }

  init(_ source: SourceText) {
    self.source = source
    for index in source.lines.indices where findings.count < Self.maxFindings {
      scanLine(index)
    }
  }

  private mutating func scanLine(_ index: Int) {
    let line = source.lines[index]
    reportControlCharacters(line, index)
    keyColumn = nil
    if isDocumentMarker(line) {
      columns = []
      openQuote = nil
      blockScalar = nil
      isInPlainScalar = false
      atNodeStart = true
      return scan(line, index, from: 3)
    }
    if openQuote != nil { return scan(line, index, from: 0) }
    let indent = line.prefix { $0 == " " }.count
    if blockScalar?.contains(indent: indent, isBlank: indent == line.count) == true { return }
    blockScalar = nil
    guard let first = line.dropFirst(indent).first(where: { $0 != " " && $0 != "\t" }) else {
      return
    }
    if first == "#" {
      isInPlainScalar = false
      return
    }
    if flowDepth == 0, !beginBlockLine(line, index: index, indent: indent) { return }
    scan(line, index, from: indent)
  }

  /// Whether a line begins with `---` or `...`, which end everything before them.
  private func isDocumentMarker(_ line: [Unicode.Scalar]) -> Bool {
    guard line.count >= 3, line[0] == "-" || line[0] == ".", line[1] == line[0], line[2] == line[0]
    else { return false }
    return line.count == 3 || line[3] == " " || line[3] == "\t"
  }

  /// Begins a line outside of brackets; returns whether it is read.
  private mutating func beginBlockLine(
    _ line: [Unicode.Scalar], index: Int, indent: Int
  ) -> Bool {
    if line[indent] == "\t" {
      let tabs = line.dropFirst(indent).prefix { $0 == "\t" || $0 == " " }.count
      report(
        "a tab cannot indent YAML", line: index, column: indent, length: tabs,
        hint: "indent with spaces")
    }
    if indent == 0, line[0] == "%" {
      report(
        "YAML directives are not used in \(source.kind.name)s", line: index, column: 0,
        length: line.count,
        hint: "remove this line")
      return false
    }
    // A scalar without quotes continues on lines that are indented more than its collection.
    isInPlainScalar = isInPlainScalar && indent > columns.last ?? -1
    atNodeStart = !isInPlainScalar
    while atNodeStart, let column = columns.last, column > indent { columns.removeLast() }
    return true
  }

  private mutating func scan(_ line: [Unicode.Scalar], _ index: Int, from start: Int) {
    var position = start
    var afterQuote = false
    while position < line.count, findings.count < Self.maxFindings {
      if openQuote != nil {
        position = endOfQuote(in: line, from: position)
        afterQuote = openQuote == nil
        isInPlainScalar = false
        continue
      }
      let scalar = line[position]
      let next = position + 1 < line.count ? line[position + 1] : "\n"
      checkKey(scalar, index: index, position: position)
      let nextIsBlank = next == " " || next == "\t" || next == "\n"
      switch scalar {
      case " ", "\t":
        break
      case "#"
      where !isInPlainScalar || position == 0 || line[position - 1] == " "
        || line[position - 1] == "\t":
        isInPlainScalar = false
        return
      case "&" where atNodeStart, "*" where atNodeStart, "!" where atNodeStart:
        position = reportWord(in: line, index: index, start: position)
        atNodeStart = scalar != "*"
        continue
      case "'" where atNodeStart, "\"" where atNodeStart:
        openQuote = scalar
        beginNode(position)
      case "[" where atNodeStart || flowDepth > 0, "{" where atNodeStart || flowDepth > 0:
        beginNode(position)
        openBracket(index, position)
      case "]" where flowDepth > 0, "}" where flowDepth > 0:
        flowDepth -= 1
        atNodeStart = false
        isInPlainScalar = false
        afterQuote = true
        position += 1
        continue
      case "|" where atNodeStart && flowDepth == 0, ">" where atNodeStart && flowDepth == 0:
        beginBlockScalar(line[(position + 1)...].prefix(2))
        return
      case "," where flowDepth > 0:
        atNodeStart = true
        isInPlainScalar = false
      case "?" where atNodeStart && flowDepth > 0:
        isAfterKeyMark = true
      case "-" where atNodeStart && flowDepth == 0 && nextIsBlank,
        "?" where atNodeStart && nextIsBlank:
        openCollection(position)
      case ":"
      where nextIsBlank || afterQuote
        || flowDepth > 0 && (!isInPlainScalar || ",[]{}".unicodeScalars.contains(next)):
        openCollection(keyColumn ?? position)
        keyColumn = nil
        atNodeStart = true
        isInPlainScalar = false
      default:
        guard atNodeStart else { break }
        beginNode(position)
        isInPlainScalar = true
      }
      afterQuote = false
      position += 1
    }
  }

  /// Reports a `?` in brackets without a key, after which libyaml passes over the next bracket or comma.
  private mutating func checkKey(_ scalar: Unicode.Scalar, index: Int, position: Int) {
    guard isAfterKeyMark, scalar != " ", scalar != "\t", scalar != "#" else { return }
    isAfterKeyMark = false
    guard ",]}:".unicodeScalars.contains(scalar) else { return }
    report(
      "`?` in brackets begins a key, and there is none", line: index, column: position, length: 1,
      hint: "remove the `?`, or quote the text")
  }

  /// Notes that a node begins that is no collection without brackets.
  private mutating func beginNode(_ position: Int) {
    atNodeStart = false
    if flowDepth == 0 { keyColumn = position }
  }

  private mutating func openBracket(_ index: Int, _ position: Int) {
    flowDepth += 1
    atNodeStart = true
    isInPlainScalar = false
    guard flowDepth > Self.maxDepth, !reportedDepth else { return }
    reportedDepth = true
    report(
      "nested more than \(Self.maxDepth) levels deep", line: index, column: position, length: 1,
      hint: "use fewer nested levels")
  }

  /// - Parameter header: The characters after `|` or `>`, of which one may be the indentation relative to the parent.
  private mutating func beginBlockScalar(_ header: ArraySlice<Unicode.Scalar>) {
    let parent = columns.last ?? -1
    let digit = header.first { ("1"..."9").contains($0) }
    blockScalar = BlockScalar(
      parent: parent, indent: digit.map { max(parent, 0) + Int($0.value - 0x30) })
  }

  /// Notes the column of a collection without brackets.
  private mutating func openCollection(_ column: Int) {
    if flowDepth == 0, column > columns.last ?? -1 { columns.append(column) }
  }

  private mutating func endOfQuote(in line: [Unicode.Scalar], from start: Int) -> Int {
    var position = start
    while position < line.count {
      if openQuote == "\"", line[position] == "\\" {
        position += 2
      } else if line[position] != openQuote {
        position += 1
      } else if openQuote == "'", position + 1 < line.count, line[position + 1] == "'" {
        position += 2
      } else {
        openQuote = nil
        return position + 1
      }
    }
    return position
  }

  /// Reports an anchor, an alias or a tag; returns the position after it.
  private mutating func reportWord(in line: [Unicode.Scalar], index: Int, start: Int) -> Int {
    let (what, remedy) =
      switch line[start] {
      case "&": ("anchors (`&name`)", "repeat the text")
      case "*": ("aliases (`*name`)", "repeat the text, or quote it")
      default: ("tags (`!name`)", "remove it, or quote the text")
      }
    let word = line[start...].prefix { !" \t,[]{}".unicodeScalars.contains($0) }
    report(
      "YAML \(what) are not used in \(source.kind.name)s", line: index, column: start,
      length: word.count, hint: remedy)
    return start + word.count
  }

  private mutating func reportControlCharacters(_ line: [Unicode.Scalar], _ index: Int) {
    guard let position = line.firstIndex(where: { !Self.isAllowed($0) }) else { return }
    if index == 0, position == 0, line[0] == "\u{FEFF}" {
      report(
        "the file begins with a byte order mark", line: 0, column: 0, length: 1,
        hint: "save it as UTF-8 without BOM")
    } else {
      let digits = String(line[position].value, radix: 16, uppercase: true)
      let number = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
      let problem =
        Self.isBreak(line[position])
        ? "is a line break in YAML 1.1, and text in JSON" : "is not allowed in YAML"
      report(
        "the character U+\(number) \(problem)",
        line: index, column: position, length: 1, hint: "write it as an escape in double quotes")
    }
  }

  /// Whether libyaml ends a line at a character that ends none in YAML 1.2, JSON and most editors. In quotes, it would
  /// be read as a space.
  private static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "\u{85}" || scalar == "\u{2028}" || scalar == "\u{2029}"
  }

  /// https://yaml.org/spec/1.1/#c-printable
  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    if isBreak(scalar) { return false }
    return switch scalar.value {
    case 0x09, 0x20...0x7E, 0xA0...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD, 0x10000...0x10FFFF:
      true
    default: false
    }
  }

  private mutating func report(
    _ message: String, line: Int, column: Int, length: Int, hint: String
  ) {
    let isLast = findings.count + 1 >= Self.maxFindings
    findings.append(
      PipelineDiagnostic(
        .unreadable, isLast ? "\(message); the rest of the file is not checked" : message,
        at: FileLocation(file: source.file, line: line + 1, column: column + 1, length: length),
        hint: hint))
  }
}

/// Finds YAML features that pipeline files do not support, before a YAML parser reads the text.
///
/// Anchors and aliases let a small file grow without bound while it is parsed, tags change the type
/// of a value, and both hide the meaning of a line from readers. Every finding is reported with its
/// source location. The scanner knows only enough YAML to distinguish indicators from text: quotes,
/// block scalars, comments, flow collections.
struct YAMLGuard {
  static let maxDepth = 64

  let source: SourceText
  private(set) var findings: [PipelineDiagnostic] = []

  private var flowDepth = 0
  private var openQuote: Unicode.Scalar?
  /// The indentation of the line that opened a block scalar; lines with a larger one are its text.
  private var blockScalarIndent: Int?
  /// Whether a new node may begin at the next character.
  private var atNodeStart = true
  private var reportedDepth = false

  init(_ source: SourceText) {
    self.source = source
    for index in source.lines.indices {
      scanLine(index)
    }
  }

  private mutating func scanLine(_ index: Int) {
    let line = source.lines[index]
    reportControlCharacters(line, index)
    var position = 0
    if openQuote == nil {
      let indent = line.prefix { $0 == " " }.count
      guard let first = line.dropFirst(indent).first(where: { $0 != "\t" }),
        first != "#" || blockScalarIndent != nil
      else { return }
      if let parent = blockScalarIndent {
        if indent > parent { return }
        blockScalarIndent = nil
      }
      if flowDepth == 0 {
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
          return
        }
        atNodeStart = true
      }
      position = indent
    }
    scan(line, index, from: position)
  }

  private mutating func scan(_ line: [Unicode.Scalar], _ index: Int, from start: Int) {
    var position = start
    var afterQuote = false
    while position < line.count {
      if openQuote != nil {
        position = endOfQuote(in: line, from: position)
        afterQuote = openQuote == nil
        continue
      }
      let scalar = line[position]
      let next = position + 1 < line.count ? line[position + 1] : "\n"
      let nextIsBlank = next == " " || next == "\t" || next == "\n"
      switch scalar {
      case " ", "\t":
        break
      case "#" where position == 0 || line[position - 1] == " " || line[position - 1] == "\t":
        return
      case "&" where atNodeStart:
        position = reportWord(
          "anchors (`&name`)", remedy: "repeat the text", line: line, index: index, start: position)
        continue
      case "*" where atNodeStart:
        position = reportWord(
          "aliases (`*name`)", remedy: "repeat the text, or quote it", line: line, index: index,
          start: position)
        atNodeStart = false
        continue
      case "!" where atNodeStart:
        position = reportWord(
          "tags (`!name`)", remedy: "remove it, or quote the text", line: line, index: index,
          start: position)
        continue
      case "'" where atNodeStart, "\"" where atNodeStart:
        openQuote = scalar
        atNodeStart = false
      case "[" where atNodeStart || flowDepth > 0, "{" where atNodeStart || flowDepth > 0:
        flowDepth += 1
        atNodeStart = true
        if flowDepth > Self.maxDepth, !reportedDepth {
          reportedDepth = true
          report(
            "nested more than \(Self.maxDepth) levels deep", line: index, column: position,
            length: 1,
            hint: "use fewer nested levels")
        }
      case "]" where flowDepth > 0, "}" where flowDepth > 0:
        flowDepth -= 1
        atNodeStart = false
        afterQuote = true
        position += 1
        continue
      case "," where flowDepth > 0:
        atNodeStart = true
      case "|" where atNodeStart && flowDepth == 0, ">" where atNodeStart && flowDepth == 0:
        blockScalarIndent = line.prefix { $0 == " " }.count
        return
      case "-" where atNodeStart && flowDepth == 0 && nextIsBlank,
        "?" where atNodeStart && nextIsBlank:
        break
      case ":"
      where nextIsBlank || afterQuote || flowDepth > 0 && ",[]{}".unicodeScalars.contains(next):
        atNodeStart = true
      default:
        atNodeStart = false
      }
      afterQuote = false
      position += 1
    }
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

  private mutating func reportWord(
    _ what: String, remedy: String, line: [Unicode.Scalar], index: Int, start: Int
  ) -> Int {
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
    findings.append(
      PipelineDiagnostic(
        .unreadable, message,
        at: FileLocation(file: source.file, line: line + 1, column: column + 1, length: length),
        hint: hint))
  }
}

/// Rows of text in aligned columns.
package struct TextTable {
  /// The text of one row and column.
  package struct Cell {
    package var text: String
    /// Whether the text is at the right of its column, as figures are.
    package var isTrailing: Bool

    package init(_ text: String, isTrailing: Bool = false) {
      self.text = text
      self.isTrailing = isTrailing
    }
  }

  private var rows: [[Cell]] = []
  private let minWidths: [Int]

  /// - Parameter minWidths: The smallest widths of the first columns; by default, columns are as wide as their texts.
  package init(minWidths: [Int] = []) { self.minWidths = minWidths }

  package mutating func add(_ row: [Cell]) { rows.append(row) }

  /// Adds a row of texts.
  package mutating func add(_ row: String...) { add(row.map { Cell($0) }) }

  /// Adds a row of figures with the name in the first column.
  package mutating func add(_ name: String, figures: [String]) {
    add([Cell(name)] + figures.map { Cell($0, isTrailing: true) })
  }

  /// The width of each column.
  package var widths: [Int] {
    let columns = max(rows.map(\.count).max() ?? 0, minWidths.count)
    return (0..<columns).map { column in
      rows.reduce(column < minWidths.count ? minWidths[column] : 0) { width, row in
        column < row.count ? max(width, row[column].text.width) : width
      }
    }
  }

  /// The rows, each as a line without a line end.
  package var lines: [String] {
    let widths = widths
    return rows.map { Self.line($0, widths: widths) }
  }

  /// The rows as text, each with a line end.
  package var text: String { lines.map { $0 + "\n" }.joined() }

  /// One row as a line. Longer texts move the rest of the line.
  package static func line(_ row: [Cell], widths: [Int]) -> String {
    var line = ""
    for (index, (cell, width)) in zip(row, widths).enumerated() {
      if index > 0 { line += "  " }
      line += cell.text.padded(to: width, isTrailing: cell.isTrailing)
    }
    // One copy: to remove a scalar from the end of a text copies the rest.
    let end = line.unicodeScalars.lastIndex { $0 != " " }
    return end.map { String(line.unicodeScalars[...$0]) } ?? ""
  }
}

extension String {
  /// The text with spaces up to a width in columns.
  package func padded(to width: Int, isTrailing: Bool = false) -> String {
    let spaces = String(repeating: " ", count: max(width - self.width, 0))
    return isTrailing ? spaces + self : self + spaces
  }

  /// The width on a terminal, in columns. A grapheme cluster, such as a flag, counts once.
  package var width: Int {
    // In ASCII, each byte is a column, except that CR and LF are one character.
    if utf8.allSatisfy({ $0 < 0x80 && $0 != 0x0d }) { return utf8.count }
    return reduce(0) { sum, character in
      let isEmoji = character.unicodeScalars.contains { $0.value == 0xfe0f }
      return sum + (isEmoji ? 2 : character.unicodeScalars.map(\.width).max() ?? 0)
    }
  }
}

extension Unicode.Scalar {
  /// The width of a scalar in columns: 0 for combining marks, 2 for East Asian wide characters and
  /// emoji.
  package var width: Int {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    let isWide =
      switch value {
      case 0x1100...0x115f, 0x2e80...0x303e, 0x3041...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff,
        0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x1f300...0x1f64f, 0x1f680...0x1f6ff,
        0x1f900...0x1f9ff, 0x20000...0x3fffd:
        true
      default: properties.isEmojiPresentation
      }
    return isWide ? 2 : 1
  }
}

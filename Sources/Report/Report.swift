import GQLRunSupport

/// What a command has measured or counted, in sections: one model for the page and for the text on a terminal.
///
/// A section consists of blocks; each block appears in both, except those for one ``Medium`` only. The figures themselves
/// are the third form, as JSON, which programs read.
package struct Report {
  /// The title of the page's window.
  package var title: String
  package var heading: String
  /// What was measured, below the heading.
  package var subtitle: String
  /// Whether the run succeeded; `nil` for a report that does not judge.
  package var hasPassed: Bool?
  package var sections: [Section] = []
  /// Reasons to read the figures with caution.
  package var notes: [String] = []
  package var footer = ""
  /// The figures as JSON, which programs read in the page; `nil` for a page without them.
  package var json: String?

  package init(title: String, heading: String, subtitle: String) {
    self.title = title
    self.heading = heading
    self.subtitle = subtitle
  }

  /// Where a report is read.
  package enum Medium {
    case page, text
  }

  /// The importance of a line or figure.
  package enum Tone: String {
    case plain = ""
    case good = "ok"
    case bad
    case warning = "warn"
    /// Secondary information.
    case soft = "sub"
  }

  package struct Section {
    package var title: String
    package var blocks: [Block]

    package init(_ title: String, _ blocks: [Block]) {
      self.title = title
      self.blocks = blocks
    }
  }

  package enum Block {
    case line(String, Tone = .plain)
    case table(Table)
    /// Large figures with their names; on pages only.
    case figures([(name: String, value: String, tone: Tone)])
    /// Source texts, such as conditions; on pages only.
    case list([String])
    /// A drawing of ``Chart``; on pages only. `nil` is one without values.
    case chart(String?)
    /// A block for one medium.
    indirect case only(Medium, Block)
  }

  package struct Table {
    package struct Column: ExpressibleByStringLiteral {
      /// How the texts of a column are shown.
      package enum Kind: String {
        case figure = "n"
        case text = ""
        /// A name in a source.
        case code
        /// Text of any length.
        case prose = "e"
      }

      let name: String
      let kind: Kind
      let isOnPagesOnly: Bool

      package init(_ name: String, _ kind: Kind, isOnPagesOnly: Bool = false) {
        self.name = name
        self.kind = kind
        self.isOnPagesOnly = isOnPagesOnly
      }

      /// A column of figures.
      package init(stringLiteral name: String) { self.init(name, .figure) }

      /// A column of text.
      package static func text(_ name: String, isOnPagesOnly: Bool = false) -> Column {
        Column(name, .text, isOnPagesOnly: isOnPagesOnly)
      }
    }

    /// The title of one of several tables in a section, on pages only.
    package var caption: String?
    package var columns: [Column]
    package var rows: [[String]]
    /// The maximum number of rows in text.
    package var maxLines: Int

    package init(
      _ columns: [Column], caption: String? = nil, maxLines: Int = .max, rows: [[String]]
    ) {
      self.caption = caption
      self.columns = columns
      self.maxLines = maxLines
      self.rows = rows
    }
  }
}

extension Report {
  /// The report as text for a terminal, with a line end. Names in it are not escaped.
  package var text: String {
    let lines =
      [heading, subtitle] + sections.flatMap(\.lines)
      + (notes.isEmpty ? [] : [""] + notes.map { "note: \($0)" })
    return lines.joined(separator: "\n") + "\n"
  }
}

extension Report.Section {
  /// The section as text: an empty line, the title, and the blocks; empty if all blocks are for pages.
  package var lines: [String] {
    if blocks.count == 1, case .table(let table) = blocks[0] { return [""] + table.lines(title) }
    let lines = blocks.flatMap(\.lines)
    return lines.isEmpty ? [] : ["", title] + lines
  }
}

extension Report.Block {
  fileprivate var lines: [String] {
    switch self {
    case .line(let text, _): ["  " + text]
    case .table(let table): table.lines()
    case .only(.text, let block): block.lines
    case .figures, .list, .chart, .only(.page, _): []
    }
  }
}

extension Report.Table {
  /// The table as text. A table without rows has none.
  ///
  /// - Parameter title: The title of a section that consists of the table, above its first column.
  package func lines(_ title: String? = nil) -> [String] {
    guard !rows.isEmpty else { return [] }
    var table = TextTable()
    let shown = columns.indices.filter { !columns[$0].isOnPagesOnly }
    for (index, row) in ([columns.map(\.name)] + rows.prefix(maxLines)).enumerated() {
      table.add(
        shown.map { column in
          let indent = index == 0 && title != nil ? "" : "  "
          let text = index == 0 && column == 0 ? title ?? row[0] : row[column]
          return TextTable.Cell(
            column == 0 ? indent + text : text, isTrailing: columns[column].kind == .figure)
        })
    }
    return table.lines
  }
}

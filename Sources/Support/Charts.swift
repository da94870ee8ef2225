import Foundation

/// Drawings in user units; a page scales them to its width.
package enum SVG {
  package static let width = 1000.0

  package static func drawing(height: Double, label: String, _ content: String) -> String {
    HTML.wide(
      "<svg viewBox=\"0 0 \(number(width)) \(number(height))\" role=img aria-label=\"\(HTML.escaped(label))\">\n"
        + content + "\n</svg>")
  }

  package static func number(_ value: Double) -> String {
    value.isFinite ? String(format: "%.1f", value) : "0"
  }

  package static func text(
    _ text: String, x: Double, y: Double, anchor: String = "start", kind: String = ""
  ) -> String {
    "<text x=\"\(number(x))\" y=\"\(number(y))\" text-anchor=\"\(anchor)\" class=\"\(kind)\">"
      + HTML.escaped(text) + "</text>"
  }

  /// The class of text that is readable on a color.
  package static func ink(on color: Int) -> String {
    [0, 1, 6, 7].contains(color % 10) ? "onlight" : "ondark"
  }

  package static func box(
    x: Double, y: Double, width: Double, height: Double, color: Int, title: String
  ) -> String {
    "<rect x=\"\(number(x))\" y=\"\(number(y))\" width=\"\(number(max(width, 0)))\" "
      + "height=\"\(number(max(height, 0)))\" rx=\"2\" fill=\"var(--c\(color % 10))\">"
      + "<title>\(HTML.escaped(title))</title></rect>"
  }

  package static func line(_ x1: Double, y1: Double, x2: Double, y2: Double) -> String {
    "<line class=axis x1=\"\(number(x1))\" y1=\"\(number(y1))\" x2=\"\(number(x2))\" y2=\"\(number(y2))\"/>"
  }

  package static func path(_ points: [(x: Double, y: Double)], color: Int) -> String {
    let steps = points.enumerated().map { index, point in
      "\(index == 0 ? "M" : "L")\(number(point.x)) \(number(point.y))"
    }
    return
      "<path d=\"\(steps.joined(separator: " "))\" fill=\"none\" stroke=\"var(--c\(color % 10))\" "
      + "stroke-width=\"2.5\" stroke-linejoin=\"round\"/>"
  }

  /// The largest width of a text, in user units.
  package static func widthOf(_ text: String) -> Double { Double(text.count) * 7.2 }

  /// A round number of at least `value`.
  package static func ceiling(_ value: Double) -> Double {
    guard value > 0, value.isFinite else { return 1 }
    let power = pow(10, floor(log10(value)))
    return [1, 2, 2.5, 5, 10].map { $0 * power }.first { $0 >= value } ?? 10 * power
  }
}

/// A stacked column chart over a scale of five lines.
package struct ColumnChart {
  /// The parts of each column from the bottom up: values and color numbers.
  package var columns: [[(value: Double, color: Int)]]
  /// Texts below the columns, evenly spaced from the first to the last.
  package var labels: [String]
  /// A description of the drawing for screen readers.
  package var title: String

  package init(columns: [[(value: Double, color: Int)]], labels: [String], title: String) {
    self.columns = columns
    self.labels = labels
    self.title = title
  }

  /// The drawing; `nil` if no value is above zero.
  ///
  /// - Parameter text: Formats a value of the scale.
  package func svg(_ text: (Double) -> String) -> String? {
    let top = columns.map { $0.reduce(0) { $0 + $1.value } }.max() ?? 0
    guard top > 0 else { return nil }
    let height = 200.0
    let left = 56.0
    let step = (SVG.width - left) / Double(columns.count)
    var content: [String] = []
    for line in 0...4 {
      let y = height - height * Double(line) / 4 * 0.95
      content.append(SVG.line(left, y1: y, x2: SVG.width, y2: y))
      content.append(
        SVG.text(
          text(top * Double(line) / 4), x: left - 6, y: y + 4, anchor: "end", kind: "soft"))
    }
    for (index, parts) in columns.enumerated() {
      var y = height
      for part in parts where part.value > 0 {
        let size = max(part.value / top * height * 0.95, 1)
        y -= size
        content.append(
          SVG.box(
            x: left + Double(index) * step + 0.5, y: y, width: max(step - 1, 0.5), height: size,
            color: part.color, title: text(part.value)))
      }
    }
    for (index, label) in labels.enumerated() {
      let x = left + (SVG.width - left) * Double(index) / Double(max(labels.count - 1, 1))
      let anchor = index == 0 ? "start" : index == labels.count - 1 ? "end" : "middle"
      content.append(SVG.text(label, x: x, y: height + 20, anchor: anchor, kind: "soft"))
    }
    return SVG.drawing(height: height + 30, label: title, content.joined(separator: "\n"))
  }
}

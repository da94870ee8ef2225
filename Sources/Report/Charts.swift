import Foundation
import GQLRunSupport

/// Drawings in user units; a page scales them to its width.
enum SVG {
  static let width = 1000.0

  static func drawing(height: Double, label: String, _ content: [String]) -> String {
    "<svg viewBox=\"0 0 \(number(width)) \(number(height))\" role=img aria-label=\"\(HTML.escaped(label))\">\n"
      + content.joined(separator: "\n") + "\n</svg>"
  }

  static func number(_ value: Double) -> String {
    value.isFinite ? String(format: "%.1f", value) : "0"
  }

  static func text(
    _ text: String, x: Double, y: Double, anchor: String = "start", kind: String = ""
  ) -> String {
    "<text x=\"\(number(x))\" y=\"\(number(y))\" text-anchor=\"\(anchor)\" class=\"\(kind)\">"
      + HTML.escaped(text) + "</text>"
  }

  /// The class of text that is readable on a color.
  static func ink(on color: Int) -> String {
    [0, 1, 6, 7].contains(color % 10) ? "onlight" : "ondark"
  }

  static func box(
    x: Double, y: Double, width: Double, height: Double, fill: String, title: String
  ) -> String {
    "<rect x=\"\(number(x))\" y=\"\(number(y))\" width=\"\(number(max(width, 0)))\" "
      + "height=\"\(number(max(height, 0)))\" rx=\"2\" \(fill)>"
      + "<title>\(HTML.escaped(title))</title></rect>"
  }

  static func fill(_ color: Int) -> String { "fill=\"var(--c\(color % 10))\"" }

  static func line(_ x1: Double, y1: Double, x2: Double, y2: Double) -> String {
    "<line class=axis x1=\"\(number(x1))\" y1=\"\(number(y1))\" x2=\"\(number(x2))\" y2=\"\(number(y2))\"/>"
  }

  static func path(_ points: [(x: Double, y: Double)], color: Int) -> String {
    let steps = points.enumerated().map { index, point in
      "\(index == 0 ? "M" : "L")\(number(point.x)) \(number(point.y))"
    }
    return
      "<path d=\"\(steps.joined(separator: " "))\" fill=\"none\" stroke=\"var(--c\(color % 10))\" "
      + "stroke-width=\"2.5\" stroke-linejoin=\"round\"/>"
  }

  /// The names of values in the order of their colors, in rows from `y` on.
  ///
  /// - Returns: The content, and the end of the last row.
  static func legend(_ values: [Chart.Value], y: Double) -> ([String], Double) {
    let names = Dictionary(values.map { ($0.name, $0.color) }) { first, _ in first }
      .sorted { ($0.value, $0.key) < ($1.value, $1.key) }
    var (x, y) = (0.0, y)
    let content = names.flatMap { name, color in
      let entry = widthOf(name) + 40
      if x + entry > width { (x, y) = (0, y + 22) }
      defer { x += entry }
      return [
        box(x: x, y: y, width: 12, height: 12, fill: fill(color), title: name),
        text(name, x: x + 18, y: y + 11, kind: "soft"),
      ]
    }
    return (content, y + 20)
  }

  /// The largest width of a text, in user units.
  static func widthOf(_ text: String) -> Double { Double(text.count) * 7.2 }
}

/// Charts as drawings in SVG. A chart without a value above zero is `nil`.
///
/// The label of a chart describes it for screen readers.
package enum Chart {
  /// A value, its name, and the number of its color.
  package typealias Value = (name: String, value: Double, color: Int)

  /// Horizontal bars of several parts each, with one scale and a legend.
  ///
  /// - Parameters:
  ///   - label: A description.
  ///   - rows: The parts of each bar, with a text above it.
  ///   - text: Formats a value.
  package static func stackedBars(
    _ label: String, _ rows: [(title: String, parts: [Value])], text: (Double) -> String
  ) -> String? {
    let longest = rows.map { $0.parts.reduce(0) { $0 + $1.value } }.max() ?? 0
    guard longest > 0 else { return nil }
    var content: [String] = []
    var y = 0.0
    for row in rows {
      content.append(SVG.text(row.title, x: 0, y: y + 14))
      var x = 0.0
      for part in row.parts {
        let width = part.value / longest * SVG.width
        content.append(
          SVG.box(
            x: x, y: y + 22, width: max(width - 1, 0.5), height: 34, fill: SVG.fill(part.color),
            title: "\(part.name): \(text(part.value))"))
        if width > SVG.widthOf(part.name) + 12 {
          content.append(
            SVG.text(part.name, x: x + 8, y: y + 43, kind: SVG.ink(on: part.color)))
        }
        x += width
      }
      y += 74
    }
    let (legend, end) = SVG.legend(rows.flatMap(\.parts), y: y)
    return SVG.drawing(height: end, label: label, content + legend)
  }

  /// Horizontal bars with one scale.
  ///
  /// - Parameters:
  ///   - label: A description.
  ///   - rows: The value of each bar, with the text before it.
  ///   - text: The text at the end of a bar.
  package static func bars(
    _ label: String, _ rows: [Value], text: (Double) -> String
  ) -> String? {
    // Something that takes no time has an extreme rate; the scale ignores it.
    let values = rows.map(\.value).sorted()
    guard let largest = values.last, largest > 0 else { return nil }
    let scale = min(largest, values[values.count / 2] * 6)
    let labelWidth = min((rows.map { SVG.widthOf($0.name) }.max() ?? 0) + 12, 420)
    let room = SVG.width - labelWidth - 110
    let content = rows.enumerated().flatMap { index, row in
      let y = Double(index) * 28
      let width = min(row.value / scale, 1) * room
      return [
        SVG.text(row.name, x: labelWidth - 12, y: y + 16, anchor: "end"),
        SVG.box(
          x: labelWidth, y: y + 2, width: width, height: 20, fill: SVG.fill(row.color),
          title: text(row.value)),
        SVG.text(
          text(row.value) + (row.value > scale ? " →" : ""), x: labelWidth + width + 8, y: y + 16,
          kind: "soft"),
      ]
    }
    return SVG.drawing(height: Double(rows.count) * 28 + 4, label: label, content)
  }

  /// Columns of equal width over an axis.
  ///
  /// - Parameters:
  ///   - label: A description.
  ///   - columns: The parts of each column, from the bottom up.
  ///   - ticks: Texts below the axis, at fractions of it; see ``ticks(from:to:text:)``.
  ///   - text: Formats a value.
  package static func columns(
    _ label: String, _ columns: [[Value]], ticks: [(position: Double, text: String)],
    text: (Double) -> String
  ) -> String? {
    let highest = columns.map { $0.reduce(0) { $0 + $1.value } }.max() ?? 0
    guard highest > 0 else { return nil }
    let axes = Axes(highest: highest)
    let step = axes.width / Double(columns.count)
    let content = columns.enumerated().flatMap { index, parts in
      var below = 0.0
      return parts.filter { $0.value > 0 }.map { part in
        let end = axes.point(0, below).y
        below += part.value
        let height = max(end - axes.point(0, below).y, 1)
        return SVG.box(
          x: axes.left + Double(index) * step + 0.5, y: end - height, width: max(step - 1, 0.5),
          height: height, fill: SVG.fill(part.color), title: "\(part.name): \(text(part.value))")
      }
    }
    return axes.drawing(
      label, content, ticks: ticks, legend: Array(columns.joined()), text: text)
  }

  /// Curves over an axis.
  ///
  /// - Parameters:
  ///   - label: A description.
  ///   - curves: The points of each curve: a fraction of the axis, and a value.
  ///   - ticks: Texts below the axis, at fractions of it; see ``ticks(from:to:text:)``.
  ///   - text: Formats a value.
  package static func curves(
    _ label: String, _ curves: [(name: String, color: Int, points: [(Double, Double)])],
    ticks: [(position: Double, text: String)], text: (Double) -> String
  ) -> String? {
    let highest = curves.flatMap(\.points).map(\.1).max() ?? 0
    guard highest > 0 else { return nil }
    let axes = Axes(highest: Axes.ceiling(highest))
    let content = curves.map { curve in
      SVG.path(curve.points.map { axes.point($0.0, $0.1) }, color: curve.color)
    }
    return axes.drawing(
      label, content, ticks: ticks, legend: curves.map { ($0.name, 0, $0.color) }, text: text)
  }

  /// Five ticks of an axis from one value to another.
  package static func ticks(
    from low: Double = 0, to high: Double, text: (Double) -> String
  ) -> [(position: Double, text: String)] {
    [0, 0.25, 0.5, 0.75, 1].map { ($0, text(low + $0 * (high - low))) }
  }
}

/// The axes of a plot, whose vertical one starts at zero.
private struct Axes {
  let left = 80.0
  private let top = 12.0
  private let bottom = 300.0
  /// The value at the end of the vertical axis.
  let highest: Double

  init(highest: Double) { self.highest = highest }

  var width: Double { SVG.width - left - 40 }

  /// A round number of at least `value`, for the end of an axis.
  static func ceiling(_ value: Double) -> Double {
    let power = pow(10, floor(log10(value)))
    return [1, 2, 2.5, 5, 10].map { $0 * power }.first { $0 >= value } ?? 10 * power
  }

  func point(_ x: Double, _ value: Double) -> (x: Double, y: Double) {
    let height = min(max(value / highest, 0), 1) * (bottom - top)
    return (left + min(max(x, 0), 1) * width, bottom - height)
  }

  func drawing(
    _ label: String, _ content: [String], ticks: [(position: Double, text: String)],
    legend names: [Chart.Value], text: (Double) -> String
  ) -> String {
    let values = Chart.ticks(to: highest, text: text).flatMap { tick in
      let y = point(0, tick.position * highest).y
      return [
        SVG.line(left, y1: y, x2: left + width, y2: y),
        SVG.text(tick.text, x: left - 8, y: y + 4, anchor: "end", kind: "soft"),
      ]
    }
    let below = ticks.map { tick in
      SVG.text(
        tick.text, x: point(tick.position, 0).x, y: bottom + 20, anchor: "middle", kind: "soft")
    }
    let (legend, end) = SVG.legend(names, y: bottom + 36)
    return SVG.drawing(height: end, label: label, values + below + content + legend)
  }
}

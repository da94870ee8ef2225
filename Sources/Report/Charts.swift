import Foundation
import GQLRunSupport

/// Drawings whose horizontal positions are shares of the page's width, so that their text has one size on every page.
enum SVG {
  /// A drawing with its name and description for screen readers.
  static func drawing(
    _ label: String, about description: String, height: Double, _ content: [String]
  ) -> String {
    let name = HTML.escaped(label)
    return
      "<svg role=\"img\" aria-label=\"\(name)\" width=\"100%\" height=\"\(number(height))\">\n"
      + "<title>\(name)</title><desc>\(HTML.escaped(description))</desc>\n"
      + content.joined(separator: "\n") + "\n</svg>"
  }

  static func number(_ value: Double) -> String {
    value.isFinite ? String(format: "%.1f", value) : "0"
  }

  /// A share of the width.
  static func share(_ value: Double) -> String {
    value.isFinite ? String(format: "%.3f%%", min(max(value, 0), 1) * 100) : "0%"
  }

  /// Text at a share of the width.
  ///
  /// - Parameters:
  ///   - anchor: The part of the text at `x`: `start`, `middle` or `end`.
  ///   - offset: A distance from `x`, in pixels.
  ///   - kind: The classes of the style sheet.
  static func text(
    _ text: String, x: Double, y: Double, anchor: String = "start", offset: Double = 0,
    kind: String = ""
  ) -> String {
    "<text x=\"\(share(x))\" y=\"\(number(y))\" dx=\"\(number(offset))\" text-anchor=\"\(anchor)\" "
      + "class=\"\(kind)\">\(HTML.escaped(text))</text>"
  }

  static func box(
    x: Double, y: Double, width: Double, height: Double, color: Int, title: String
  ) -> String {
    "<rect x=\"\(share(x))\" y=\"\(number(y))\" width=\"\(share(width))\" "
      + "height=\"\(number(max(height, 0)))\" fill=\"\(fill(color))\">"
      + "<title>\(HTML.escaped(title))</title></rect>"
  }

  static func fill(_ color: Int) -> String { "var(--c\(abs(color % 10)))" }

  static func line(y: Double) -> String {
    "<line class=\"axis\" x1=\"0\" y1=\"\(number(y))\" x2=\"100%\" y2=\"\(number(y))\"/>"
  }

  /// The class that shows text only on pages where it fits; `nil` if there are none.
  ///
  /// - Parameters:
  ///   - width: The width of the text in pixels.
  ///   - share: The share of the drawing's width that it may take.
  static func fitting(_ width: Double, in share: Double) -> String? {
    let classes = [("", narrowest - Axes.gutter), ("medium", 540), ("large", 980)]
    return classes.first { width <= share * $0.1 }?.0
  }

  /// The width of drawings on a page of 390 pixels.
  static let narrowest = 328.0

  /// The largest width of a text, in pixels.
  static func widthOf(_ text: String) -> Double {
    text.unicodeScalars.reduce(0) { $0 + ($1.value < 0x2E80 ? 8 : 14) }
  }

  /// A text without its middle if it is longer than `width`.
  static func shortened(_ text: String, to width: Double = narrowest) -> String {
    guard widthOf(text) > width else { return text }
    var (head, tail) = (text.prefix(200), text.suffix(200))
    while widthOf("\(head)…\(tail)") > width, !head.isEmpty, !tail.isEmpty {
      head = head.dropLast()
      tail = tail.dropFirst()
    }
    return "\(head)…\(tail)"
  }
}

/// Charts as drawings in SVG. A chart without a value above zero is `nil`.
///
/// The label of a chart is its name for screen readers.
package enum Chart {
  /// A value, its name, and the number of its color.
  package typealias Value = (name: String, value: Double, color: Int)

  /// A drawing with its label, the names of its values in their order, and a note.
  static func figure(
    _ label: String, about description: String, height: Double, _ content: [String],
    legend values: [Value] = [], note: String = ""
  ) -> String {
    figure(
      label, SVG.drawing(label, about: description, height: height, content), legend: values,
      note: note)
  }

  fileprivate static func figure(
    _ label: String, _ drawing: String, legend values: [Value], note: String = ""
  ) -> String {
    var names: Set<String> = []
    let legend = values.filter { names.insert($0.name).inserted }.map { value in
      "<span class=\"key\"><i style=\"background: \(SVG.fill(value.color))\"></i>"
        + "\(HTML.escaped(value.name))</span>"
    }
    // The drawing has this name for screen readers.
    let name = "<p class=\"name\" aria-hidden=\"true\">\(HTML.escaped(label))</p>"
    let caption = (legend + [HTML.escaped(note)]).joined(separator: " ")
    return "<figure>\(name)\(drawing)"
      + (caption.isEmpty ? "" : "<figcaption>\(caption)</figcaption>") + "</figure>"
  }

  /// The first values as text.
  static func list(_ values: [Value], _ text: (Double) -> String) -> String {
    let shown = values.prefix(20).map { "\($0.name) \(text($0.value))" }.joined(separator: ", ")
    return shown + (values.count > 20 ? ", and \(values.count - 20) more" : "")
  }

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
    let content = rows.enumerated().flatMap { index, row in
      let y = Double(index) * 62
      var x = 0.0
      return [SVG.text(SVG.shortened(row.title), x: 0, y: y + 14)]
        + row.parts.flatMap { part in
          let width = part.value / longest
          defer { x += width }
          let kind = SVG.fitting(SVG.widthOf(part.name) + 14, in: width)
          return [
            SVG.box(
              x: x, y: y + 22, width: width, height: 28, color: part.color,
              title: "\(part.name): \(text(part.value))")
          ]
            + (kind.map {
              [SVG.text(part.name, x: x, y: y + 41, offset: 7, kind: "onfill \($0)")]
            } ?? [])
        }
    }
    let description = rows.map { "\($0.title): \(list($0.parts, text))" }.joined(separator: "; ")
    return figure(
      label, about: description, height: Double(rows.count) * 62, content,
      legend: rows.flatMap(\.parts))
  }

  /// Horizontal bars with one scale. Bars of much larger values than most are broken, so that the others can be compared.
  ///
  /// - Parameters:
  ///   - label: A description.
  ///   - rows: The value of each bar, with the text above it.
  ///   - text: Formats a value.
  package static func bars(
    _ label: String, _ rows: [Value], text: (Double) -> String
  ) -> String? {
    let values = rows.map(\.value).sorted()
    guard let largest = values.last, largest > 0 else { return nil }
    let most = values[values.count / 2] * 6
    let scale = values.last { $0 > 0 && $0 <= most } ?? largest
    let isBroken = largest > scale
    let content = rows.enumerated().flatMap { index, row in
      let y = Double(index) * 38
      let isCut = row.value > scale
      let width = isCut ? 1 : row.value / scale * (isBroken ? 0.75 : 1)
      let room = SVG.narrowest - SVG.widthOf(text(row.value)) - 16
      let gap =
        "<svg x=\"84%\" y=\"\(SVG.number(y + 18))\" width=\"16\" height=\"14\" aria-hidden=\"true\">"
        + "<path class=\"gap\" d=\"M2 14 L8 0 M8 14 L14 0\"/></svg>"
      return [
        SVG.text(SVG.shortened(row.name, to: room), x: 0, y: y + 14),
        SVG.text(text(row.value), x: 1, y: y + 14, anchor: "end", kind: "soft"),
        SVG.box(
          x: 0, y: y + 20, width: width, height: 10, color: row.color,
          title: "\(row.name): \(text(row.value))"),
      ] + (isCut ? [gap] : [])
    }
    return figure(
      label, about: list(rows, text), height: Double(rows.count) * 38, content,
      note: isBroken ? "A bar with a gap is longer than shown." : "")
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
    let heights = columns.map { $0.reduce(0) { $0 + $1.value } }
    guard let highest = heights.max(), highest > 0 else { return nil }
    let axes = Axes(highest: Axes.ceiling(highest))
    let step = 1 / Double(columns.count)
    let content = columns.enumerated().flatMap { index, parts in
      var below = 0.0
      return parts.filter { $0.value > 0 }.map { part in
        let end = axes.y(below)
        below += part.value
        let height = max(end - axes.y(below), 1)
        return SVG.box(
          x: Double(index) * step, y: end - height, width: step, height: height,
          color: part.color, title: "\(part.name): \(text(part.value))")
      }
    }
    return axes.figure(
      label, about: "at most \(text(highest)), in \(columns.count) columns", content, ticks: ticks,
      legend: Array(columns.joined()), text: text)
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
    let highest = curves.map { ($0.name, $0.points.map(\.1).max() ?? 0, $0.color) }
    guard let most = highest.map(\.1).max(), most > 0 else { return nil }
    let axes = Axes(highest: Axes.ceiling(most))
    let paths = curves.map { curve in
      let steps = curve.points.enumerated().map { index, point in
        let x = SVG.number(min(max(point.0, 0), 1) * 1000)
        return "\(index == 0 ? "M" : "L")\(x) \(SVG.number(axes.y(point.1)))"
      }
      return "<path class=\"curve\" d=\"\(steps.joined(separator: " "))\" "
        + "stroke=\"\(SVG.fill(curve.color))\"/>"
    }
    // Only the points are scaled to the width, not the thickness of the curves.
    let content =
      [
        "<svg viewBox=\"0 0 1000 \(SVG.number(Axes.height))\" preserveAspectRatio=\"none\" "
          + "width=\"100%\" height=\"\(SVG.number(Axes.height))\" aria-hidden=\"true\">"
      ] + paths
      + ["</svg>"]
    return axes.figure(
      label, about: "at most: \(list(highest, text))", content, ticks: ticks, legend: highest,
      text: text)
  }

  /// A span of time from one fraction of an axis to another: its name beside it, what its color means, the number of the
  /// color, and text for the pointer.
  package typealias Span = (
    name: String, range: ClosedRange<Double>, kind: (name: String, color: Int), detail: String
  )

  /// Spans of time in rows, in their order.
  ///
  /// - Parameters:
  ///   - label: A description.
  ///   - spans: The spans; more than 30 are in a box that scrolls.
  ///   - ticks: Texts above the spans, at fractions of the axis.
  package static func waterfall(
    _ label: String, _ spans: [Span], ticks: [(position: Double, text: String)]
  ) -> String? {
    guard !spans.isEmpty else { return nil }
    let rows = spans.enumerated().flatMap { index, span in
      let y = Double(index) * 18 + 30
      let (before, after) = (span.range.lowerBound, 1 - span.range.upperBound)
      let name = SVG.shortened(span.name, to: 240)
      let kind = SVG.fitting(SVG.widthOf(name) + 12, in: max(before, after))
      let text = kind.map { kind in
        after >= before
          ? SVG.text(name, x: span.range.upperBound, y: y + 11, offset: 6, kind: "soft \(kind)")
          : SVG.text(name, x: before, y: y + 11, anchor: "end", offset: -6, kind: "soft \(kind)")
      }
      return [
        SVG.box(
          x: before, y: y, width: max(span.range.upperBound - before, 0.003), height: 13,
          color: span.kind.color, title: "\(span.name): \(span.detail)")
      ] + [text].compactMap { $0 }
    }
    let kinds = spans.map { Value($0.kind.name, 1, $0.kind.color) }
    let counts = Dictionary(kinds.map { ($0.name, 1) }, uniquingKeysWith: +)
      .sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    let drawing = SVG.drawing(
      label, about: counts, height: Double(spans.count) * 18 + 36,
      Axes.texts(of: ticks, y: 14) + [SVG.line(y: 22)] + rows)
    return figure(
      label, spans.count > 30 ? HTML.scrolling(drawing, label, isTall: true) : drawing,
      legend: kinds.sorted { $0.color < $1.color })
  }

  /// Five ticks of an axis from one value to another.
  package static func ticks(
    from low: Double = 0, to high: Double, text: (Double) -> String
  ) -> [(position: Double, text: String)] {
    [0, 0.25, 0.5, 0.75, 1].map { ($0, text(low + $0 * (high - low))) }
  }
}

/// The axes of a plot, whose vertical one starts at zero.
struct Axes {
  /// The height of the plot, in pixels.
  static let height = 240.0
  /// The width of the texts beside the plot, in pixels; the style sheet has it, too.
  static let gutter = 72.0
  private static let top = 10.0
  /// The value at the end of the vertical axis.
  let highest: Double

  /// A round number of at least `value`, for the end of an axis.
  static func ceiling(_ value: Double) -> Double {
    let power = pow(10, floor(log10(value)))
    return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map { $0 * power }.first { $0 >= value } ?? 10
      * power
  }

  func y(_ value: Double) -> Double {
    Self.height - min(max(value / highest, 0), 1) * (Self.height - Self.top)
  }

  /// Texts at fractions of the axis, without those that would overlap the previous one.
  static func texts(of ticks: [(position: Double, text: String)], y: Double) -> [String] {
    var last: (end: Double, width: Double)?
    return ticks.compactMap { tick in
      let anchor = tick.position < 0.05 ? "start" : tick.position > 0.95 ? "end" : "middle"
      let width = SVG.widthOf(tick.text)
      // The width to the left of the position, and that of the previous text to its right.
      let left = anchor == "start" ? 0 : anchor == "end" ? width : width / 2
      var kind: String? = ""
      if let last { kind = SVG.fitting(left + last.width + 10, in: tick.position - last.end) }
      guard let kind else { return nil }
      if kind.isEmpty {
        last = (tick.position, anchor == "start" ? width : anchor == "end" ? 0 : width / 2)
      }
      return SVG.text(tick.text, x: tick.position, y: y, anchor: anchor, kind: "soft \(kind)")
    }
  }

  func figure(
    _ label: String, about description: String, _ content: [String],
    ticks: [(position: Double, text: String)], legend: [Chart.Value], text: (Double) -> String
  ) -> String {
    // Fifths of a round number are round.
    let values = (0...5).map { (text(highest * Double($0) / 5), y(highest * Double($0) / 5)) }
    let scale =
      "<svg aria-hidden=\"true\" width=\"100%\" height=\"\(SVG.number(Self.height + 24))\">"
      + values.map { SVG.text($0.0, x: 1, y: $0.1 + 4, anchor: "end", offset: -8, kind: "soft") }
      .joined() + "</svg>"
    let plot = SVG.drawing(
      label, about: description, height: Self.height + 24,
      values.map { SVG.line(y: $0.1) } + content + Self.texts(of: ticks, y: Self.height + 18))
    return Chart.figure(label, "<div class=\"plot\">\(scale)\(plot)</div>", legend: legend)
  }
}

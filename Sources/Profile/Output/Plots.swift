import Foundation
import GQLRunSupport

/// Horizontal bars of several parts each, with one scale and a legend.
struct StackedBar {
  struct Part {
    var name: String
    var value: Double
    var color: Int
  }

  struct Row {
    var label: String
    var detail: String
    var parts: [Part]
  }

  let rows: [Row]

  var svg: String {
    let longest = rows.map { $0.parts.reduce(0) { $0 + $1.value } }.max() ?? 0
    guard longest > 0 else { return "" }
    var content: [String] = []
    var y = 0.0
    for row in rows {
      content.append(SVG.text(row.label, x: 0, y: y + 14))
      content.append(SVG.text(row.detail, x: SVG.width, y: y + 14, anchor: "end", kind: "soft"))
      var x = 0.0
      for part in row.parts {
        let width = part.value / longest * SVG.width
        content.append(
          SVG.box(
            x: x, y: y + 22, width: max(width - 1, 0.5), height: 34, color: part.color,
            title: "\(part.name): \(Quantities.time(part.value))"))
        if width > SVG.widthOf(part.name) + 12 {
          content.append(
            SVG.text(part.name, x: x + 8, y: y + 43, kind: SVG.ink(on: part.color)))
        }
        x += width
      }
      y += 74
    }
    var x = 0.0
    var seen: Set<String> = []
    for part in rows.flatMap(\.parts).sorted(by: { $0.color < $1.color })
    where seen.insert(part.name).inserted {
      let width = SVG.widthOf(part.name) + 32
      if x + width > SVG.width {
        x = 0
        y += 22
      }
      content.append(
        SVG.box(x: x, y: y, width: 12, height: 12, color: part.color, title: part.name))
      content.append(SVG.text(part.name, x: x + 18, y: y + 11, kind: "soft"))
      x += width
    }
    return SVG.drawing(
      height: y + 20, label: "Time per stage", content.joined(separator: "\n"))
  }
}

/// Horizontal bars with one scale.
struct BarPlot {
  struct Row {
    var label: String
    var value: Double
    var text: String
    var color: Int
  }

  let rows: [Row]

  var svg: String {
    // A stage that takes no time has an extreme rate; the scale ignores it.
    let values = rows.map(\.value).sorted()
    guard let largest = values.last, largest > 0 else { return "" }
    let middle = values[values.count / 2]
    let scale = min(largest, middle * 6)
    let labelWidth = min((rows.map { SVG.widthOf($0.label) }.max() ?? 0) + 12, 420)
    let room = SVG.width - labelWidth - 110
    var content: [String] = []
    for (index, row) in rows.enumerated() {
      let y = Double(index) * 28
      let isCut = row.value > scale
      let width = min(row.value / scale, 1) * room
      content.append(SVG.text(row.label, x: labelWidth - 12, y: y + 16, anchor: "end"))
      content.append(
        SVG.box(
          x: labelWidth, y: y + 2, width: width, height: 20, color: row.color, title: row.text))
      content.append(
        SVG.text(
          row.text + (isCut ? " →" : ""), x: labelWidth + width + 8, y: y + 16, kind: "soft"))
    }
    return SVG.drawing(
      height: Double(rows.count) * 28 + 4, label: "Throughput", content.joined(separator: "\n"))
  }
}

/// A plot with two axes.
struct Axes {
  let left = 80.0
  let bottom = 300.0
  let top = 12.0
  var xTicks: [(position: Double, text: String)]
  var yTicks: [(position: Double, text: String)]

  var width: Double { SVG.width - left - 40 }
  var height: Double { bottom - top }

  /// The point at fractions of both axes.
  func point(_ x: Double, _ y: Double) -> (x: Double, y: Double) {
    (left + min(max(x, 0), 1) * width, bottom - min(max(y, 0), 1) * height)
  }

  var svg: String {
    var content = [SVG.line(left, y1: bottom, x2: left + width, y2: bottom)]
    for tick in yTicks {
      let y = point(0, tick.position).y
      content.append(SVG.line(left, y1: y, x2: left + width, y2: y))
      content.append(SVG.text(tick.text, x: left - 8, y: y + 4, anchor: "end", kind: "soft"))
    }
    for tick in xTicks {
      let x = point(tick.position, 0).x
      content.append(SVG.text(tick.text, x: x, y: bottom + 20, anchor: "middle", kind: "soft"))
    }
    return content.joined(separator: "\n")
  }

  static func legend(_ names: [(name: String, color: Int)], y: Double) -> String {
    var x = 80.0
    return names.map { entry in
      defer { x += SVG.widthOf(entry.name) + 40 }
      return SVG.box(x: x, y: y, width: 12, height: 12, color: entry.color, title: entry.name)
        + SVG.text(entry.name, x: x + 18, y: y + 11, kind: "soft")
    }.joined(separator: "\n")
  }
}

/// Resident memory over the bytes read.
struct MemoryPlot {
  let jobs: [JobReport]

  var isDrawable: Bool { jobs.contains { $0.memory.count > 1 } }

  var svg: String {
    let bytes = jobs.flatMap(\.memory).map { Double($0.bytesRead) }.max() ?? 1
    let highest = jobs.flatMap(\.memory).map { Double($0.resident) }.max() ?? 1
    let top = SVG.ceiling(highest / 1_048_576) * 1_048_576
    let axes = Axes(
      xTicks: [0, 0.25, 0.5, 0.75, 1].map { ($0, Quantities.size($0 * bytes)) },
      yTicks: [0, 0.25, 0.5, 0.75, 1].map { ($0, Quantities.size($0 * top)) })
    let curves = jobs.enumerated().map { index, job in
      SVG.path(
        job.memory.map { axes.point(Double($0.bytesRead) / bytes, Double($0.resident) / top) },
        color: index + 1)
    }
    let legend = Axes.legend(
      jobs.enumerated().map { ($0.element.label, $0.offset + 1) }, y: 336)
    return SVG.drawing(
      height: 360, label: "Resident memory over bytes read",
      ([axes.svg] + curves + [legend]).joined(separator: "\n"))
  }
}

/// Latency over percentile, with a logarithmic tail: each tick to the right is ten times rarer.
struct LatencyPlot {
  struct Curve {
    var name: String
    var latencies: Latencies
    var color: Int
  }

  let curves: [Curve]

  private static func position(_ percentile: Double) -> Double {
    -log10(max(1 - min(percentile, 99.999) / 100, 1e-5)) / 5
  }

  var svg: String {
    let highest = curves.map(\.latencies.highest).max() ?? 0
    let top = SVG.ceiling(max(highest, 1e-6))
    let axes = Axes(
      xTicks: [
        (0, "0"), (50, "50 %"), (90, "90 %"), (99, "99 %"), (99.9, "99.9 %"), (99.99, "99.99 %"),
      ]
      .map { (Self.position($0.0), $0.1) },
      yTicks: [0, 0.25, 0.5, 0.75, 1].map { ($0, Quantities.time($0 * top)) })
    let paths = curves.map { curve in
      SVG.path(
        curve.latencies.curve.map { axes.point(Self.position($0.percentile), $0.seconds / top) },
        color: curve.color)
    }
    let legend = Axes.legend(curves.map { ($0.name, $0.color) }, y: 336)
    return SVG.drawing(
      height: 360, label: "Latency percentiles",
      ([axes.svg] + paths + [legend]).joined(separator: "\n"))
  }
}

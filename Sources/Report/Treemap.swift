extension Chart {
  /// A part of a whole, with its own parts.
  package struct Part {
    fileprivate var name: String
    fileprivate var size: Double
    fileprivate var parts: [Part]

    package init(_ name: String, size: Double, parts: [Part] = []) {
      self.name = name
      self.size = size
      self.parts = parts
    }
  }

  /// A treemap with two levels.
  ///
  /// - Parameters:
  ///   - label: A description.
  ///   - whole: The parts of the whole.
  ///   - text: Formats a size.
  package static func treemap(
    _ label: String, _ whole: [Part], text: (Double) -> String
  ) -> String? {
    guard whole.contains(where: { $0.size > 0 }) else { return nil }
    let height = 460.0
    let areas = Treemap.areas(
      whole.map(\.size), in: Treemap.Area(x: 0, y: 0, width: SVG.width, height: height))
    var content: [String] = []
    for (index, (part, area)) in zip(whole, areas).enumerated() {
      content.append(
        SVG.box(
          x: area.x, y: area.y, width: area.width - 2, height: area.height - 2,
          fill: SVG.fill(index), title: "\(part.name): \(text(part.size))"))
      let inner = Treemap.Area(
        x: area.x + 3, y: area.y + 22, width: area.width - 8, height: area.height - 27)
      if inner.width > 30, inner.height > 16 { content += parts(of: part, inner, text: text) }
      let label = "\(part.name) \(text(part.size))"
      if area.width > SVG.widthOf(part.name) + 12, area.height > 20 {
        let isLong = SVG.widthOf(label) + 12 > area.width
        content.append(
          SVG.text(
            isLong ? part.name : label, x: area.x + 6, y: area.y + 16, kind: SVG.ink(on: index)))
      }
    }
    return SVG.drawing(height: height, label: label, content)
  }

  private static func parts(
    of whole: Part, _ area: Treemap.Area, text: (Double) -> String
  ) -> [String] {
    zip(whole.parts, Treemap.areas(whole.parts.map(\.size), in: area)).flatMap { part, area in
      let box = SVG.box(
        x: area.x, y: area.y, width: area.width - 1, height: area.height - 1,
        fill: "fill=\"#000\" fill-opacity=\"0.4\"",
        title: "\(whole.name).\(part.name): \(text(part.size))")
      guard area.width > SVG.widthOf(part.name) + 8, area.height > 18 else { return [box] }
      return [box, SVG.text(part.name, x: area.x + 5, y: area.y + 15, kind: "ondark")]
    }
  }
}

/// Areas proportional to sizes and close to squares: the squarified treemap of Bruls, Huizing and
/// van Wijk (https://doi.org/10.1007/978-3-7091-6783-0_4).
enum Treemap {
  struct Area: Equatable {
    var x: Double
    var y: Double
    var width: Double
    var height: Double
  }

  /// One area per size, in the same order. A size that is not positive gets an empty area.
  static func areas(_ sizes: [Double], in whole: Area) -> [Area] {
    var result = [Area](
      repeating: Area(x: whole.x, y: whole.y, width: 0, height: 0), count: sizes.count)
    let order = sizes.indices.filter { sizes[$0] > 0 }.sorted { sizes[$0] > sizes[$1] }
    let total = order.reduce(0) { $0 + sizes[$1] }
    guard total > 0, whole.width > 0, whole.height > 0 else { return result }
    let scale = whole.width * whole.height / total
    var rest = whole
    var position = 0
    while position < order.count {
      let side = min(rest.width, rest.height)
      var row: [Int] = []
      var sum = 0.0
      while position < order.count {
        let next = sizes[order[position]] * scale
        let candidate = row + [order[position]]
        if !row.isEmpty,
          worst(candidate, sizes: sizes, scale: scale, sum: sum + next, side: side)
            > worst(row, sizes: sizes, scale: scale, sum: sum, side: side)
        {
          break
        }
        row = candidate
        sum += next
        position += 1
      }
      lay(row, sizes: sizes, scale: scale, sum: sum, rest: &rest, result: &result)
    }
    return result
  }

  /// The largest ratio of sides in a row.
  private static func worst(
    _ row: [Int], sizes: [Double], scale: Double, sum: Double, side: Double
  ) -> Double {
    let values = row.map { sizes[$0] * scale }
    guard let largest = values.max(), let smallest = values.min(), smallest > 0, sum > 0 else {
      return .infinity
    }
    return max(side * side * largest / (sum * sum), sum * sum / (side * side * smallest))
  }

  private static func lay(
    _ row: [Int], sizes: [Double], scale: Double, sum: Double, rest: inout Area,
    result: inout [Area]
  ) {
    let isColumn = rest.width >= rest.height
    let thickness = sum / (isColumn ? rest.height : rest.width)
    var offset = 0.0
    for index in row {
      let length = sizes[index] * scale / max(thickness, 1e-12)
      result[index] =
        isColumn
        ? Area(x: rest.x, y: rest.y + offset, width: thickness, height: length)
        : Area(x: rest.x + offset, y: rest.y, width: length, height: thickness)
      offset += length
    }
    if isColumn {
      rest.x += thickness
      rest.width = max(rest.width - thickness, 0)
    } else {
      rest.y += thickness
      rest.height = max(rest.height - thickness, 0)
    }
  }
}

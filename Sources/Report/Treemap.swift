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

  /// A treemap with two levels. A part and its own parts have one color; the parts of a single one have their own.
  ///
  /// - Parameters:
  ///   - label: A description.
  ///   - whole: The parts of the whole.
  ///   - text: Formats a size.
  package static func treemap(
    _ label: String, _ whole: [Part], text: (Double) -> String
  ) -> String? {
    guard whole.contains(where: { $0.size > 0 }) else { return nil }
    // Widths are shares of the page's; the areas are those of a wide page.
    let (width, height) = (1000.0, 460.0)
    let areas = Treemap.areas(
      whole.map(\.size), in: Treemap.Area(x: 0, y: 0, width: width, height: height))
    func tile(_ area: Treemap.Area, color: Int, name: String, title: String) -> [String] {
      let box = SVG.box(
        x: area.x / width, y: area.y, width: area.width / width, height: area.height,
        color: color, title: title)
      guard area.height > 20,
        let kind = SVG.fitting(SVG.widthOf(name) + 12, in: area.width / width)
      else { return [box] }
      return [
        box,
        SVG.text(name, x: area.x / width, y: area.y + 15, offset: 6, kind: "onfill \(kind)"),
      ]
    }
    let content = zip(whole, areas).enumerated().flatMap { index, pair in
      let (part, area) = pair
      var inner = area
      inner.y += 22
      inner.height -= 22
      let parts = inner.height > 16 ? Treemap.areas(part.parts.map(\.size), in: inner) : []
      return tile(
        area, color: index + 1, name: part.name, title: "\(part.name): \(text(part.size))")
        + zip(part.parts, parts).enumerated().flatMap { field, pair in
          pair.1.width < 4
            ? []
            : tile(
              pair.1, color: whole.count == 1 ? field + 1 : index + 1, name: pair.0.name,
              title: "\(part.name).\(pair.0.name): \(text(pair.0.size))")
        }
    }
    let values = whole.enumerated().map { Value($1.name, $1.size, $0 + 1) }
    return figure(
      label, about: list(values, text), height: height, content,
      legend: values.prefix(9).map { Value("\($0.name) \(text($0.value))", 0, $0.color) })
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
    var row: [(index: Int, size: Double)] = []
    for index in order {
      let side = min(rest.width, rest.height)
      let longer = row + [(index: index, size: sizes[index] * scale)]
      if !row.isEmpty, worst(longer.map(\.size), side: side) > worst(row.map(\.size), side: side) {
        lay(row, rest: &rest, result: &result)
        row = Array(longer.suffix(1))
      } else {
        row = longer
      }
    }
    lay(row, rest: &rest, result: &result)
    return result
  }

  /// The largest ratio of sides in a row.
  private static func worst(_ sizes: [Double], side: Double) -> Double {
    guard let largest = sizes.max(), let smallest = sizes.min(), smallest > 0 else {
      return .infinity
    }
    let sum = sizes.reduce(0, +)
    return max(side * side * largest / (sum * sum), sum * sum / (side * side * smallest))
  }

  private static func lay(
    _ row: [(index: Int, size: Double)], rest: inout Area, result: inout [Area]
  ) {
    let isColumn = rest.width >= rest.height
    let sum = row.reduce(0) { $0 + $1.size }
    let thickness = sum / (isColumn ? rest.height : rest.width)
    var offset = 0.0
    for (index, size) in row {
      let length = size / max(thickness, 1e-12)
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

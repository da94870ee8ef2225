import GQLRunSupport

/// The shape of a response, as sections of the page.
struct ShapeHTML {
  let shape: ShapeReport

  var sections: [String] {
    var result = [HTML.section("Bytes by type and field", treemap + advice)]
    result.append(HTML.section("Types", typeTable))
    result.append(HTML.section("Largest paths", pathTable))
    if !shape.largestRecords.isEmpty {
      result.append(
        HTML.section(
          "Largest records",
          HTML.table(
            ["record", "bytes", "at"],
            shape.largestRecords.map { [$0.key, Quantities.size($0.bytes), $0.path] })))
    }
    if !shape.strings.isEmpty {
      let rows = shape.strings.map {
        BarPlot.Row(
          label: "below \(Quantities.size($0.below))", value: Double($0.bytes),
          text: "\(Quantities.count($0.count)), \(Quantities.size($0.bytes))", color: 2)
      }
      result.append(HTML.section("Strings by size", BarPlot(rows: rows).svg))
    }
    return result
  }

  private var advice: String {
    ([shape.cachePrediction.prefix(1).uppercased() + shape.cachePrediction.dropFirst() + "."]
      .map { "<p>\(HTML.escaped($0))</p>" }
      + shape.advice.map { "<p class=bottleneck>\(HTML.escaped($0))</p>" }).joined()
  }

  /// A treemap of types and their fields; a field that contains other objects is shown with their
  /// types.
  private var treemap: String {
    let height = 460.0
    let types = shape.types.filter { $0.bytes > 0 }.prefix(24)
    let areas = Treemap.areas(
      types.map { Double($0.bytes) },
      in: .init(x: 0, y: 0, width: SVG.width, height: height))
    var content: [String] = []
    for (index, (type, area)) in zip(types, areas).enumerated() {
      content.append(
        SVG.box(
          x: area.x, y: area.y, width: area.width - 2, height: area.height - 2, color: index,
          title: "\(type.name): \(Quantities.size(type.bytes))"))
      let inner = Treemap.Area(
        x: area.x + 3, y: area.y + 22, width: area.width - 8, height: area.height - 27)
      if inner.width > 30, inner.height > 16 { content += fields(type, inner) }
      let label = "\(type.name) \(Quantities.size(type.bytes))"
      if area.width > SVG.widthOf(type.name) + 12, area.height > 20 {
        let isLong = SVG.widthOf(label) + 12 > area.width
        content.append(
          SVG.text(
            isLong ? type.name : label, x: area.x + 6, y: area.y + 16, kind: SVG.ink(on: index)))
      }
    }
    return SVG.drawing(
      height: height, label: "Bytes by type and field", content.joined(separator: "\n"))
  }

  private func fields(_ type: ShapeReport.TypeShape, _ area: Treemap.Area) -> [String] {
    let own = type.fields.filter { $0.bytes <= type.bytes }.prefix(30)
    let areas = Treemap.areas(own.map { Double($0.bytes) }, in: area)
    return zip(own, areas).flatMap { field, area -> [String] in
      let title = "\(type.name).\(field.name): \(Quantities.size(field.bytes))"
      var parts = [
        "<rect x=\"\(SVG.number(area.x))\" y=\"\(SVG.number(area.y))\" "
          + "width=\"\(SVG.number(max(area.width - 1, 0)))\" "
          + "height=\"\(SVG.number(max(area.height - 1, 0)))\" fill=\"#000\" fill-opacity=\"0.4\">"
          + "<title>\(HTML.escaped(title))</title></rect>"
      ]
      if area.width > SVG.widthOf(field.name) + 8, area.height > 18 {
        parts.append(SVG.text(field.name, x: area.x + 5, y: area.y + 15, kind: "ondark"))
      }
      return parts
    }
  }

  private var typeTable: String {
    HTML.table(
      ["type", "objects", "different", "hits", "bytes", "share", "largest fields"],
      shape.types.prefix(40).map { type in
        [
          type.name, Quantities.count(type.objects),
          type.distinct.map { Quantities.count($0) } ?? "",
          type.hitShare.map { Quantities.percent($0) } ?? "", Quantities.size(type.bytes),
          Quantities.percent(Double(type.bytes) / Double(max(shape.bytes, 1))),
          type.fields.prefix(3).map(\.name).joined(separator: ", "),
        ]
      })
  }

  private var pathTable: String {
    HTML.table(
      ["path", "values", "null", "longest list", "own bytes", "share"],
      shape.paths.filter { $0.ownBytes > 0 }.sorted { $0.ownBytes > $1.ownBytes }.prefix(40).map {
        [
          $0.path, Quantities.count($0.count), Quantities.count($0.nulls),
          $0.longestList > 0 ? Quantities.count($0.longestList) : "", Quantities.size($0.ownBytes),
          Quantities.percent(Double($0.ownBytes) / Double(max(shape.bytes, 1))),
        ]
      })
  }
}

/// The shape of a response, as text for a terminal.
struct ShapeText {
  let shape: ShapeReport

  init(_ shape: ShapeReport) { self.shape = shape }

  var lines: [String] {
    var result = [
      "",
      "shape: \(Quantities.count(shape.objects)) objects, \(Quantities.count(shape.values)) values "
        + "(\(Quantities.count(shape.nulls)) null), depth \(shape.depth)",
    ]
    if shape.identified > 0 {
      let about = shape.isEstimated ? "about " : ""
      result.append(
        "  \(Quantities.count(shape.identified)) objects with an identity, "
          + "\(about)\(Quantities.count(shape.distinct)) of them different; normalizing saves "
          + "\(Quantities.size(shape.repeatedBytes))")
    }
    result.append("  " + shape.cachePrediction)
    if let middle = shape.middleString {
      let count = shape.strings.reduce(0) { $0 + $1.count }
      let bytes = shape.strings.reduce(0) { $0 + $1.bytes }
      result.append(
        "  \(Quantities.count(count)) strings of \(Quantities.size(bytes)), half of that in strings of "
          + "at least \(Quantities.size(middle))")
    }
    var types = TextTable(header: ["  type", "objects", "different", "hits", "bytes", "share"])
    for type in shape.types.prefix(12) {
      types.add([
        "  " + type.name, Quantities.count(type.objects),
        type.distinct.map { Quantities.count($0) } ?? "",
        type.hitShare.map { Quantities.percent($0) } ?? "", Quantities.size(type.bytes),
        Quantities.percent(Double(type.bytes) / Double(max(shape.bytes, 1))),
      ])
    }
    if !shape.types.isEmpty { result += types.lines }
    var paths = TextTable(header: ["  largest paths", "values", "null", "bytes", "share"])
    for path in shape.paths.filter({ $0.ownBytes > 0 }).sorted(by: { $0.ownBytes > $1.ownBytes })
      .prefix(10)
    {
      paths.add([
        "  " + path.path, Quantities.count(path.count), Quantities.count(path.nulls),
        Quantities.size(path.ownBytes),
        Quantities.percent(Double(path.ownBytes) / Double(max(shape.bytes, 1))),
      ])
    }
    result += paths.lines
    if let largest = shape.largestRecords.first {
      result.append(
        "  largest record: \(largest.key), \(Quantities.size(largest.bytes)), at \(largest.path)")
    }
    return result + shape.advice.map { "  hint: \($0)" }
  }
}

extension ShapeReport {
  /// The predicted effect of a normalized cache on this response.
  var cachePrediction: String {
    guard let hitShare else {
      return
        "cache: no object has an identity (__typename and key fields, see --keys), so it can only "
        + "answer the same operation with the same variables"
    }
    let reusable = Double(identifiedBytes) / Double(max(bytes, 1))
    return
      "cache: \(Quantities.percent(hitShare)) of the objects with an identity are hits; "
      + "\(Quantities.percent(reusable)) of the bytes can also answer other operations"
  }
}

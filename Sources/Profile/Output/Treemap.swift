/// Areas proportional to sizes and close to squares: the squarified treemap of Bruls, Huizing and
/// van Wijk (https://doi.org/10.1007/978-3-7091-6783-0_4).
struct Treemap {
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
          worst(candidate, sizes, scale, sum + next, side) > worst(row, sizes, scale, sum, side)
        {
          break
        }
        row = candidate
        sum += next
        position += 1
      }
      lay(row, sizes, scale, sum, &rest, &result)
    }
    return result
  }

  /// The largest ratio of sides in a row.
  private static func worst(
    _ row: [Int], _ sizes: [Double], _ scale: Double, _ sum: Double, _ side: Double
  ) -> Double {
    let values = row.map { sizes[$0] * scale }
    guard let largest = values.max(), let smallest = values.min(), smallest > 0, sum > 0 else {
      return .infinity
    }
    return max(side * side * largest / (sum * sum), sum * sum / (side * side * smallest))
  }

  private static func lay(
    _ row: [Int], _ sizes: [Double], _ scale: Double, _ sum: Double, _ rest: inout Area,
    _ result: inout [Area]
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

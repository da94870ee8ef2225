/// The option closest to `input`, for "did you mean" messages; `nil` if none is close.
///
/// The distance is the number of edits: a character inserted, removed, replaced or swapped with its
/// neighbor; a difference in case counts as one. As in graphql-js, the largest distance is two
/// fifths of the input's length plus one. An option that differs only in case precedes those with one edit.
package func suggestion(for input: String, in options: [String]) -> String? {
  let close = suggestions(for: input, in: options)
  let folded = input.lowercased()
  return close.first { $0.lowercased() == folded } ?? close.first
}

/// All close options, the closest first; equally close ones in natural order (`a2` before `a10`).
package func suggestions(for input: String, in options: [String]) -> [String] {
  // Longer input is not a misspelled name, and the distance takes quadratic time.
  guard input.utf8.count <= 256 else { return [] }
  let threshold = input.unicodeScalars.count * 2 / 5 + 1
  let folded = Array(input.lowercased().unicodeScalars)
  var seen: Set<String> = []
  var close: [(option: String, distance: Int)] = []
  for option in options where seen.insert(option).inserted {
    if option == input {
      close.append((option, 0))
      continue
    }
    // A scalar has at most four bytes of UTF-8, so a much longer option is not close.
    guard option.utf8.count <= 4 * (folded.count + threshold) else { continue }
    let candidate = Array(option.lowercased().unicodeScalars)
    let distance = candidate == folded ? 1 : editDistance(folded, candidate, atMost: threshold)
    if let distance, distance <= threshold { close.append((option, distance)) }
  }
  close.sort {
    $0.distance != $1.distance
      ? $0.distance < $1.distance : isNaturallyOrdered($0.option, $1.option)
  }
  return close.map(\.option)
}

/// ` Did you mean 'a', 'b', or 'c'?` with at most five suggestions; empty if there are none.
///
/// `what` precedes the suggestions: ` Did you mean the enum value 'A'?`
package func didYouMean(_ suggestions: [String], _ what: String = "") -> String {
  let quoted = suggestions.prefix(5).map { "'\($0)'" }
  guard let last = quoted.last else { return "" }
  let list =
    switch quoted.count {
    case 1: last
    case 2: "\(quoted[0]) or \(last)"
    default: quoted.dropLast().joined(separator: ", ") + ", or \(last)"
    }
  return " Did you mean \(what.isEmpty ? "" : what + " ")\(list)?"
}

/// The optimal string alignment distance; `nil` once it must exceed `limit`.
private func editDistance(
  _ a: [Unicode.Scalar], _ b: [Unicode.Scalar], atMost limit: Int
) -> Int? {
  guard abs(a.count - b.count) <= limit else { return nil }
  var beforePrevious = [Int](repeating: 0, count: b.count + 1)
  var previous = Array(0...b.count)
  var current = previous
  for row in 1..<(a.count + 1) {
    current[0] = row
    var smallest = row
    for column in 1..<(b.count + 1) {
      let cost = a[row - 1] == b[column - 1] ? 0 : 1
      var cell = min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + cost)
      if row > 1, column > 1, a[row - 1] == b[column - 2], a[row - 2] == b[column - 1] {
        cell = min(cell, beforePrevious[column - 2] + 1)
      }
      current[column] = cell
      smallest = min(smallest, cell)
    }
    if smallest > limit { return nil }
    (beforePrevious, previous, current) = (previous, current, beforePrevious)
  }
  return previous[b.count] <= limit ? previous[b.count] : nil
}

/// Whether `a` precedes `b` in natural order: runs of digits are compared as numbers.
package func isNaturallyOrdered(_ a: String, _ b: String) -> Bool {
  let a = Array(a.utf8)
  let b = Array(b.utf8)
  var i = 0
  var j = 0
  while i < a.count, j < b.count {
    if a[i].isDigit, b[j].isDigit {
      let left = digits(of: a, at: &i)
      let right = digits(of: b, at: &j)
      if left.count != right.count { return left.count < right.count }
      if left != right { return left.lexicographicallyPrecedes(right) }
    } else {
      if a[i] != b[j] { return a[i] < b[j] }
      i += 1
      j += 1
    }
  }
  return a.count - i < b.count - j
}

/// The run of digits at `index` without leading zeros; advances `index` past it.
private func digits(of bytes: [UInt8], at index: inout Int) -> ArraySlice<UInt8> {
  let start = index
  while index < bytes.count, bytes[index].isDigit { index += 1 }
  return bytes[start..<index].drop { $0 == UInt8(ascii: "0") }
}

extension UInt8 {
  fileprivate var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }
}

/// Finds the name that somebody meant.
package enum Suggestion {
  /// The candidate closest to `name`, or `nil` when none is close: at most a third of the letters
  /// differ.
  ///
  /// Case, `-` and `_` do not count, and two swapped letters count once.
  package static func closest(to name: String, among candidates: some Sequence<String>) -> String? {
    let wanted = folded(name)
    guard wanted.count <= 64 else { return nil }
    let limit = max(1, wanted.count / 3)
    return
      candidates
      .map { (candidate: $0, distance: distance(wanted, folded($0))) }
      .filter { $0.distance <= limit && $0.distance < wanted.count }
      .min { $0.distance < $1.distance }?
      .candidate
  }

  private static func folded(_ name: String) -> [Unicode.Scalar] {
    name.lowercased().unicodeScalars.filter { $0 != "-" && $0 != "_" }
  }

  /// Optimal string alignment: insertions, deletions, replacements, and swaps of neighbours.
  private static func distance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
    guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
    var rows = [Array(0...b.count)]
    for i in 1...a.count {
      var row = [i]
      for j in 1...b.count {
        var best = min(rows[i - 1][j], row[j - 1]) + 1
        best = min(best, rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
          best = min(best, rows[i - 2][j - 2] + 1)
        }
        row.append(best)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }
}

/// The lines in which two texts differ, as a unified diff.
struct LineDifference {
  private enum Line {
    case both(Substring)
    case removed(Substring)
    case added(Substring)

    var text: String {
      switch self {
      case .both(let line): " \(line)\n"
      case .removed(let line): "-\(line)\n"
      case .added(let line): "+\(line)\n"
      }
    }
  }

  private var lines: [Line] = []
  private static let context = 3

  /// Compares two texts; `nil` is a file that does not exist.
  init(old: String?, new: String?) {
    let (old, new) = (Self.lines(of: old), Self.lines(of: new))
    var removed: Set<Int> = []
    var added: Set<Int> = []
    for change in new.difference(from: old) {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): added.insert(offset)
      }
    }
    var (before, after) = (0, 0)
    while before < old.count || after < new.count {
      if removed.contains(before) {
        lines.append(.removed(old[before]))
        before += 1
      } else if added.contains(after) {
        lines.append(.added(new[after]))
        after += 1
      } else {
        lines.append(.both(old[before]))
        (before, after) = (before + 1, after + 1)
      }
    }
  }

  private static func lines(of text: String?) -> [Substring] {
    var lines = text?.split(separator: "\n", omittingEmptySubsequences: false) ?? []
    if lines.last?.isEmpty == true { lines.removeLast() }
    return lines
  }

  /// The changes with three lines around them, each after the line numbers that it concerns.
  var text: String {
    let changes = lines.indices.filter { if case .both = lines[$0] { false } else { true } }
    var hunks: [Range<Int>] = []
    for change in changes {
      let hunk =
        max(change - Self.context, 0)..<min(change + Self.context + 1, lines.count)
      if let last = hunks.last, hunk.lowerBound <= last.upperBound {
        hunks[hunks.count - 1] = last.lowerBound..<hunk.upperBound
      } else {
        hunks.append(hunk)
      }
    }
    return hunks.map { hunk in
      "@@ -\(range(hunk) { if case .added = $0 { false } else { true } }) "
        + "+\(range(hunk) { if case .removed = $0 { false } else { true } }) @@\n"
        + lines[hunk].map(\.text).joined()
    }.joined()
  }

  /// The first line and the number of lines of one of the texts.
  private func range(_ hunk: Range<Int>, _ isIn: (Line) -> Bool) -> String {
    let before = lines[..<hunk.lowerBound].count(where: isIn)
    let count = lines[hunk].count(where: isIn)
    return "\(count == 0 ? before : before + 1),\(count)"
  }
}

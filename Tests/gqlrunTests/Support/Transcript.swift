import Foundation

/// Commands and what they print, as a terminal shows them, in a file of `Tests/Transcripts`.
///
/// The format is that of Cram, with standard error apart from standard output:
///
/// - A line without indentation is a comment.
/// - `  $ COMMAND` is a command for bash, and `  > ` continues it. The commands of a file run one after the other, in one
///   folder, which has the files of ``Samples``. `gqlrun` is the built program, `$URL` the endpoint of a demo server of this
///   transcript, and `$ROOT` the repository.
/// - The indented lines below are what the command prints: standard output, then standard error with `2> ` before each line,
///   then the exit code, as `[64]`, if it is not 0. ` (no-eol)` ends a text without a line feed at its end.
/// - A line `…` matches any lines, and `…` within a line any text.
///
/// The port of the server is shown as `PORT`, the folders as `$FOLDER` and `$ROOT`, and control characters as their
/// pictures (`␛`). With the variable `GQLRUN_RECORD`, outputs that do not match are written into the file.
struct Transcript: Sendable {
  /// A command with the output that the file shows.
  struct Step: Sendable {
    var command: String
    /// The line of the command in the file, from 1.
    var line: Int
    /// The indexes of the lines of the file that are its output.
    var output: Range<Int>
  }

  private(set) var lines: [String]
  private(set) var steps: [Step] = []

  init(_ text: String) {
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
    if lines.last == "" { lines.removeLast() }
    for (index, line) in lines.enumerated() {
      if line.hasPrefix("  $ ") {
        steps.append(
          Step(
            command: String(line.dropFirst(4)), line: index + 1, output: index + 1..<index + 1))
      } else if let last = steps.indices.last, line.hasPrefix("  > "),
        steps[last].output.isEmpty, steps[last].output.lowerBound == index
      {
        steps[last].command += "\n" + line.dropFirst(4)
        steps[last].output = index + 1..<index + 1
      } else if let last = steps.indices.last, line.hasPrefix("  "),
        lines[steps[last].output.lowerBound..<index].allSatisfy({ $0.isEmpty || $0.hasPrefix("  ") }
        )
      {
        // Empty lines between two lines of an output are part of it.
        steps[last].output = steps[last].output.lowerBound..<index + 1
      }
    }
  }

  /// The output that the file shows for a step, without indentation.
  func shown(_ step: Step) -> [String] { lines[step.output].map { String($0.dropFirst(2)) } }

  /// The file with other outputs of some steps.
  func replacing(_ outputs: [(step: Step, printed: [String])]) -> String {
    var result = lines
    for (step, printed) in outputs.reversed() {
      result.replaceSubrange(step.output, with: printed.map { $0.isEmpty ? "" : "  " + $0 })
    }
    return result.joined(separator: "\n") + "\n"
  }

  /// A script that runs the steps, each with its output, errors and exit code in files of a folder.
  func script(in folder: String) -> String {
    steps.enumerated().map { index, step in
      let files = "'\(folder)/\(index)"
      return """
        {
        \(step.command)
        } >\(files).out' 2>\(files).err' </dev/null; echo $? >\(files).status'

        """
    }.joined()
  }

  /// The lines for what a step printed.
  static func rendered(output: String, errors: String, status: Int) -> [String] {
    var lines = Self.lines(output) + Self.lines(errors).map { $0.isEmpty ? "2>" : "2> " + $0 }
    if status != 0 { lines.append("[\(status)]") }
    while lines.last == "" { lines.removeLast() }
    return lines
  }

  private static func lines(_ text: String) -> [String] {
    if text.isEmpty { return [] }
    var visible = ""
    for scalar in text.unicodeScalars {
      let isShown = scalar.value >= 0x20 || scalar == "\n" || scalar == "\t"
      visible.unicodeScalars.append(
        isShown ? scalar : Unicode.Scalar(0x2400 + scalar.value) ?? scalar)
    }
    var lines = visible.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
    if lines.last == "" { lines.removeLast() } else { lines[lines.count - 1] += " (no-eol)" }
    return lines
  }

  /// Whether printed lines are those that are shown.
  static func matches(_ shown: [String], _ printed: [String]) -> Bool {
    // How many of the printed lines the shown ones so far may be.
    var counts: Set<Int> = [0]
    for pattern in shown {
      var next: Set<Int> = []
      for count in counts {
        if pattern == "…" || pattern == "2> …" {
          let rest = printed[count...].prefix { pattern == "…" || $0.hasPrefix("2>") }
          next.formUnion(count...count + rest.count)
        } else if count < printed.count, matches(pattern, printed[count]) {
          next.insert(count + 1)
        }
      }
      counts = next
    }
    return counts.contains(printed.count)
  }

  /// Whether a line is one that is shown, in which `…` is any text.
  private static func matches(_ pattern: String, _ line: String) -> Bool {
    let parts = pattern.components(separatedBy: "…")
    guard parts.count > 1 else { return pattern == line }
    guard line.hasPrefix(parts[0]) else { return false }
    var rest = line.dropFirst(parts[0].count)
    for part in parts[1..<parts.count - 1] where !part.isEmpty {
      guard let range = rest.firstRange(of: part) else { return false }
      rest = rest[range.upperBound...]
    }
    return rest.hasSuffix(parts[parts.count - 1])
  }

  /// The lines of both outputs: `-` before those that are only shown, `+` before those that are only printed.
  static func difference(_ shown: [String], _ printed: [String]) -> String {
    var (removed, inserted): (Set<Int>, Set<Int>) = ([], [])
    for change in printed.difference(from: shown, by: { matches($1, $0) || matches($0, $1) }) {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): inserted.insert(offset)
      }
    }
    var lines: [String] = []
    var index = 0
    for (offset, line) in shown.enumerated() {
      if removed.contains(offset) {
        lines.append("- \(line)")
        continue
      }
      while inserted.contains(index) {
        lines.append("+ \(printed[index])")
        index += 1
      }
      lines.append("  \(line)")
      index += 1
    }
    return (lines + printed[min(index, printed.count)...].map { "+ \($0)" }).joined(separator: "\n")
  }
}

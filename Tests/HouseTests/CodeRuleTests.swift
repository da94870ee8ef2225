import GQLRunTestSupport
import Testing

/// What no file in Sources contains.
@Suite("Code rules")
struct CodeRuleTests {
  @Test(
    "a type's name is in one module only, arguments have labels, limits are max…, functions fit a page"
  )
  func figures() throws {
    let script = Repository.root + "/Tests/Figures/figures.py"
    let result = try ChildProcess(
      "/usr/bin/env", ["python3", script, "--list", "names", "unlabelled", "limits", "long"]
    ).finish()
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output == "")
  }

  @Test("no file crashes on purpose or escapes the compiler")
  func constructs() {
    let violations = Repository.sources.flatMap { Self.violations(in: $0.source, path: $0.path) }
    #expect(violations == [])
  }

  @Test(
    "a forbidden construct is found",
    arguments: [
      ("fatalError(\"no\")", 1),
      ("let text = \"fatalError()\"", 0),
      ("let x = try! f()", 1),
      ("let x = try f() // not try!", 0),
      ("let x = y as! Int", 1),
      ("let x = has! + 1", 0),
      ("nonisolated(unsafe) var x = 0", 1),
      ("Task.detached { }", 1),
      ("private let state = Mutex(0)", 1),
      ("private let state = AsyncMutex()", 0),
      ("let text = \"\\(y as! Int)\"", 1),
      ("let folder = (path as NSString).deletingLastPathComponent", 1),
      ("final class A: @unchecked Sendable {}", 1),
      ("/// A class.\nfinal class A: @unchecked Sendable {}", 1),
      ("// Sendable: filled before it is shared.\nfinal class A: @unchecked Sendable {}", 0),
      ("/// Sendable: never changes.\n@frozen\npublic final class A: @unchecked Sendable {}", 0),
      ("/// Sendable: never changes.\n\nfinal class A: @unchecked Sendable {}", 1),
      ("/// Sendable: never changes.\nfinal class A:\n  B, @unchecked Sendable\n{}", 0),
      ("@inlinable\npackage func f() {}", 1),
      ("@inlinable package func f() {}", 1),
      ("@inlinable\npublic func f() {}\npackage func g() {}", 0),
    ])
  func findsConstructs(text: String, count: Int) {
    #expect(Self.violations(in: SwiftSource(text), path: "A.swift").count == count)
  }

  /// What is wrong, as `file:line: message`.
  static func violations(in source: SwiftSource, path: String) -> [String] {
    let forbidden = [
      ("fatalError(", "throw an error, or state a precondition"),
      ("try!", "handle the error"),
      ("as!", "use `as?`"),
      ("nonisolated(unsafe)", "it hides a data race"),
      ("Task.detached", "it loses cancellation and task-local values"),
      ("Mutex(", "the thread sanitizer does not know it; use Locked"),
      (
        "as NSString).deletingLastPathComponent",
        "it crashes for a name of one character; use FilePath.folder"
      ),
    ].filter { $0.0 != "Mutex(" || !path.hasSuffix("Support/Locked.swift") }
    var violations: [String] = []
    for (index, line) in source.code.enumerated() {
      for (construct, advice) in forbidden where contains(line, construct) {
        violations.append("\(path):\(index + 1): \(construct): \(advice)")
      }
      let declaration = line + " " + (source.code.dropFirst(index + 1).first ?? "")
      if line.contains("@inlinable"), contains(String(declaration.prefix { $0 != "{" }), "package")
      {
        violations.append(
          "\(path):\(index + 1): @inlinable package: it is not inlined in other modules; use public"
        )
      }
      if line.contains("@unchecked Sendable"), !isProven(source, at: index) {
        violations.append(
          "\(path):\(index + 1): @unchecked Sendable: the comment above must say why it is Sendable"
        )
      }
    }
    return violations
  }

  /// Whether `line` contains `construct` as a separate word.
  private static func contains(_ line: String, _ construct: String) -> Bool {
    line.includes(construct)
      && line.ranges(of: construct).contains { range in
        guard range.lowerBound > line.startIndex else { return true }
        let before = line[line.index(before: range.lowerBound)]
        return !before.isLetter && !before.isNumber && before != "_"
      }
  }

  /// Whether the comment directly above the declaration around line `index` speaks of Sendable.
  private static func isProven(_ source: SwiftSource, at index: Int) -> Bool {
    var line = index
    // Attributes and the first lines of the declaration itself may be in between.
    while line > 0, !isComment(source, at: line - 1), !source.written[line - 1].trimmed.isEmpty,
      !source.code[line - 1].contains(where: { "{};".contains($0) })
    {
      line -= 1
    }
    while line > 0, isComment(source, at: line - 1) {
      line -= 1
      if source.written[line].contains("Sendable") { return true }
    }
    return false
  }

  private static func isComment(_ source: SwiftSource, at line: Int) -> Bool {
    source.written[line].trimmed.hasPrefix("//")
  }
}

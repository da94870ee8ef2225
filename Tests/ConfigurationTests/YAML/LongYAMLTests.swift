import Testing

@testable import GQLRunConfiguration

@Suite("Long YAML files", .timeLimit(.minutes(10)))
struct LongYAMLTests {
  private func composer(_ text: String) -> YAMLComposer {
    YAMLComposer(text, source: SourceText(file: "x.yaml", text: text))
  }

  @Test(
    "repeated keys are found with work in proportion to the length",
    arguments: [1_000, 50_000, 150_000])
  func repeatedKeys(count: Int) {
    let text = "{" + String(repeating: "a,", count: count) + "}"
    var composer = composer(text)
    #expect(composer.compose() == nil)
    #expect(composer.compositions * text.utf8.count <= 2 * text.utf8.count + (1 << 20))
    #expect(!composer.findings.isEmpty && composer.findings.count <= 101)
    #expect(composer.findings.allSatisfy { $0.code == .duplicateKey })
    #expect(composer.findings.last?.message == "`a` is repeated")
    #expect(composer.findings.last?.location.line == 1)
  }

  @Test("the message about many repeated keys names some and counts the others")
  func manyNames() {
    let text = "{" + (0..<150_000).map { "k\($0 / 2)," }.joined() + "}"
    var composer = composer(text)
    #expect(composer.compose() == nil)
    #expect(
      composer.findings.last?.message
        == "`k1`, `k10`, `k100` and 74996 more keys of this mapping are repeated")
  }

  @Test("the repetitions of a short file are all found, each at its place")
  func shortFile() {
    var composer = composer("a: 1\nb: {c: 1, c: 2}\na: 2\nd: {e: 1, f: 2, e: 3}\n")
    _ = composer.compose()
    #expect(
      composer.findings.map { "\($0.location.line):\($0.location.column) \($0.message)" }.sorted()
        == [
          "2:11 `c` is repeated", "3:1 `a` is repeated", "4:17 `e` is repeated",
        ])
  }

  @Test("a key is repeated whether or not it is quoted, and whatever its implicit type is")
  func quotedKeys() {
    for (text, key) in [
      ("1: a\n\"1\": b\n", "1"), ("on: a\n'on': b\n", "on"), ("~: a\n\"~\": b\n", "~"),
    ] {
      var composer = composer(text)
      _ = composer.compose()
      #expect(composer.findings.map(\.message) == ["`\(key)` is repeated"])
    }
  }

  @Test(
    "the ends of many nodes on one line are found near their starts",
    arguments: [
      (#"{a: "["}, "#, false), ("? a, ", false), ("a, ", true), (#""a", "#, true),
    ])
  func oneLine(node: String, hasBlanks: Bool) {
    func scanned(_ count: Int) -> Int {
      let blanks = String(repeating: " ", count: hasBlanks ? count : 0)
      let text = "[" + String(repeating: node, count: count) + "x" + blanks + "\n]"
      var composer = composer(text)
      #expect(composer.compose() != nil)
      return composer.scannedCharacters
    }
    let (short, long) = (scanned(1_000), scanned(8_000))
    // Eight times the length; sixty-four times the characters if each node were followed to the end
    // of the line.
    #expect(long < short * 16, "\(short) \(long)")
  }

  @Test("many secrets on one line are masked once, not for each diagnostic")
  func secrets() {
    let count = 4_000
    var source = SourceText(
      file: "x.yaml", text: String(repeating: "hunter2 ", count: count))
    source.secrets = (0..<count).map {
      FileLocation(file: "x.yaml", line: 1, column: $0 * 8 + 1, length: 7)
    }
    for location in source.secrets {
      #expect(source.excerpt(at: location)?.text.contains("hunter2") == false)
    }
    #expect(source.maskedCharacters == count * 7)
  }
}

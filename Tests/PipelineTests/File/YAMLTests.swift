import GQLRunPipeline
import HTTPTypes
import Testing

@Suite("YAML in pipeline files")
struct YAMLTests {
  /// Code, place and message of everything found.
  private func findings(_ yaml: String) -> [String] {
    check(yaml).all.map {
      "\($0.code.rawValue) \($0.location.line):\($0.location.column) \($0.message)"
    }
  }

  @Test(
    "refuses what pipeline files do not have",
    arguments: [
      "": ["P000 1:1 the file is empty"],
      "# only a comment\n": ["P000 1:1 the file is empty"],
      "a: b: c": ["P000 1:5 not valid YAML: mapping values are not allowed in this context"],
      "a: [1": [
        "P000 1:6 not valid YAML: while parsing a flow sequence (line 1), did not find expected ',' or ']'"
      ],
      "a: @x": [
        "P000 1:4 not valid YAML: while scanning for the next token (line 1), found character that cannot start any token"
      ],
      "- x": ["P003 1:1 a pipeline file is a mapping, not a list"],
      "x": ["P003 1:1 a pipeline file is a mapping, not a scalar"],
      "version: 1\n---\nversion: 1\n": ["P000 2:1 a pipeline file contains one YAML document"],
      "%YAML 1.1\n---\nversion: 1\n": ["P000 1:1 YAML directives are not used in pipeline files"],
      "\u{FEFF}version: 1\n": ["P000 1:1 the file begins with a byte order mark"],
      "a:\n\tb: 1\n": ["P000 2:1 a tab cannot indent YAML"],
      "a: \"\u{0}\"": ["P000 1:5 the character U+0000 is not allowed in YAML"],
      "a: \u{FFFE}": ["P000 1:4 the character U+FFFE is not allowed in YAML"],
      "a: \"b\u{85}\"\n# \u{2028}\nb: c\u{2029}d": [
        "P000 1:6 the character U+0085 is a line break in YAML 1.1, and text in JSON",
        "P000 2:3 the character U+2028 is a line break in YAML 1.1, and text in JSON",
        "P000 3:5 the character U+2029 is a line break in YAML 1.1, and text in JSON",
      ],
      "? [a]\n: b\n": ["P000 1:3 a key is a word, not a list or a mapping"],
      "a: &x 1\nb: [*x, !!int 2, !y z]\n'&c': '*d'\n": [
        "P000 1:4 YAML anchors (`&name`) are not used in pipeline files",
        "P000 2:5 YAML aliases (`*name`) are not used in pipeline files",
        "P000 2:9 YAML tags (`!name`) are not used in pipeline files",
        "P000 2:18 YAML tags (`!name`) are not used in pipeline files",
      ],
      "a: *unknown": ["P000 1:4 YAML aliases (`*name`) are not used in pipeline files"],
      "<<: *x": ["P000 1:5 YAML aliases (`*name`) are not used in pipeline files"],
    ] as [String: [String]])
  func refusal(yaml: String, expected: [String]) {
    #expect(findings(yaml) == expected)
  }

  @Test("tells indicators from text")
  func indicatorsInText() throws {
    let pipeline = try load(
      """
      ---
      # &not *an !anchor
      version: 1
      name: "a &b *c !d # e"   # *comment
      endpoint:
        url: 'http://x/?a=1&b=*&c=!'
        headers: {X-A: a&b, X-B: 'it''s *', "X-C": "\\"*\\"", X-D: "two
          *lines"}
      chain:
        - headers:
            set:
              X-E: |
                &literal
                *text
              X-F: >-
                !folded
              X-G: x &y *z
        - fetch
        - parse
      ...
      """)
    #expect(pipeline.name == "a &b *c !d # e")
    #expect(pipeline.endpoint?.path == "/?a=1&b=*&c=!")
    let headers = pipeline.endpoint?.headers.map(\.value)
    #expect(headers == ["a&b", "it's *", "\"*\"", "two *lines"])
    let plugin = try #require(pipeline.entries.first?.plugin as? TestPlugins.Headers)
    #expect(plugin.set.entries.map(\.value) == ["&literal\n*text\n", "!folded", "x &y *z"])
  }

  @Test(
    "a name that needs a colon, because keys follow it, is named with what to write",
    arguments: [
      "chain:\n  - apq\n    when: { type: query }\n": "write `- apq: {}`: a name that keys follow",
      "chain:\n  - apq\n    insert: { before: fetch }\n": "write `- apq: {}`",
      "chain:\n  - apq  # hashes\n\n    when: { type: query }\n": "write `- apq: {}`",
      "chain:\n  - fetch\n  - max-retry\n    max_retries: 3\n": "write `- max-retry: {}`",
      "a: b: c": "quote text that contains `: `",
      "- a b\n  c: d\n": "quote text that contains `: `",
      "- a\n  b c: d\n": "quote text that contains `: `",
    ] as [String: String])
  func missingColon(yaml: String, hint: String) {
    #expect(check(yaml).all.count == 1)
    #expect(check(yaml).all.first?.hint?.hasPrefix(hint) == true, "\(check(yaml).all)")
  }

  @Test("survives an alias bomb and deep nesting")
  func bombs() {
    let bomb = (1..<30).reduce("a0: &a0 [x, x]\n") { text, number in
      text + "a\(number): &a\(number) [*a\(number - 1), *a\(number - 1)]\n"
    }
    #expect(check(bomb + "? *a29\n: x\n").errors.count == 29 * 3 + 2)
    for open in ["[", "{a: ", "- ", "? "] {
      let deep = "chain:\n " + String(repeating: open, count: 5_000)
      #expect(check(deep).errors.first?.code == .unreadable)
    }
    let block = (0..<1_200).map { String(repeating: " ", count: $0) + "a:\n" }.joined()
    #expect(check(block).errors.first?.code == .unreadable)
    #expect(check(String(repeating: "[[]", count: 40_000)).errors.first?.code == .unreadable)
    let quotes = String(repeating: "\"", count: 1 << 20)
    #expect(check(quotes).errors.first?.code == .unreadable)
  }

  /// Keys of aliases that refer to aliases, which a parser would compare for years.
  private static let keysOfAliases: String = {
    let lists = (1..<40).map { "&a\($0) [*a\($0 - 1), *a\($0 - 1)]" }.joined(separator: ", ")
    return "[&a0 [x, x], \(lists), {*a39 : 1, *a39 : 2}]"
  }()

  @Test(
    "finds anchors, aliases and tags wherever a parser does",
    arguments: [
      "--- BOMB", "---\tBOMB", "[#\nBOMB]", "{a: [1,# c\nBOMB]}", "'a'#\n: BOMB",
      // A quote in text that continues on the next line is no quote.
      "a: b\n  'c\nd: BOMB", "- a\n  \"b\n- BOMB", "? a\n '''\n: BOMB",
      // Text after `|` begins where its first line does, which may be left of the `|`.
      "a:\n  |\n 'x\nb: BOMB",
      "a: |\n\n  x\nb: BOMB", "{:BOMB}", "- - 'x'\n  - BOMB",
    ])
  func hiddenAnchors(text: String) {
    let found = findings(
      text.replacing("BOMB", with: Self.keysOfAliases, maxReplacements: 1))
    #expect(
      found.contains { $0.hasSuffix("YAML anchors (`&name`) are not used in pipeline files") },
      "\(found.prefix(3))")
    #expect(findings(text.replacing("BOMB", with: "!t")).contains { $0.contains("YAML tags") })
  }

  @Test(
    "refuses a question mark in brackets without a key, after which the parser passes over a bracket"
  )
  func keyMarks() {
    for text in ["[?],\(Self.keysOfAliases)", "[? ,a]", "{?}", "[?\n# c\n ]", "{? : a}"] {
      let first = findings(text).first ?? ""
      #expect(
        first.contains("`?` in brackets begins a key, and there is none"), "\(text): \(first)")
    }
    #expect(findings("[?*a]").contains { $0.contains("YAML aliases") })
    #expect(!findings("{? a : b,\n ? \"c\"\n : [? d]}").contains { $0.contains("`?`") })
  }

  @Test("takes quotes and indicators in text of several lines for text")
  func textOfLines() throws {
    let pipeline = try load(
      """
      version: 1
      name: it
        'is &not *an !anchor
        "or" a quote
      endpoint: { url: "http://x/" }
      chain:
        - headers:
            set:
              X-A:
                |2
                  &a
                 'b
              X-B: c
                - *d
        - fetch
        - parse
      """)
    #expect(pipeline.name == "it 'is &not *an !anchor \"or\" a quote")
    let plugin = try #require(pipeline.entries.first?.plugin as? TestPlugins.Headers)
    #expect(plugin.set.entries.map(\.value) == ["  &a\n 'b\n", "c - *d"])
  }

  @Test("reports a limited number of findings, and that the rest is not checked")
  func manyFindings() {
    for text in [
      String(repeating: "&a ", count: 300_000), String(repeating: "\u{1}\n", count: 500_000),
    ] {
      let found = findings(text)
      #expect(found.count == 200)
      #expect(found.last?.hasSuffix("; the rest of the file is not checked") == true)
      #expect(found.dropLast().last?.contains("the rest") == false)
    }
  }

  @Test("is limited to 1 MiB")
  func size() {
    let comment = "#" + String(repeating: "x", count: 1 << 20)
    #expect(findings(comment) == ["P000 1:1 the file is larger than 1 MiB"])
  }

  @Test("is UTF-8")
  func encoding() {
    let bytes = Array("version: 1\nname: a".utf8) + [0xFF]
    let found = PipelineFile.check(
      bytes, file: "x", registry: TestPlugins.registry, environment: testEnvironment)
    #expect(found.all.map(\.message) == ["the file is not UTF-8 text"])
    #expect(found.all.map(\.location.line) == [2])
  }

  @Test("may be JSON")
  func json() throws {
    let pipeline = try load(
      #"{"version":1,"endpoint":{"url":"http:\/\/x\/y"},"chain":[{"fetch":{"timeout":"3s"}},"parse"]}"#
    )
    #expect(pipeline.entries.map(\.id) == ["fetch", "parse"])
    #expect(pipeline.endpoint?.path == "/y")
  }

  @Test("counts lines as editors do", arguments: ["\n", "\r\n", "\r"])
  func lineEnds(end: String) {
    let found = findings(["version: 1", "", "chian: []", "chian: []"].joined(separator: end))
    #expect(
      found == [
        "P001 3:1 a pipeline file has no key `chian`", "P002 4:1 `chian` is repeated",
      ])
  }

  @Test("never crashes on damaged files")
  func damage() {
    let text = Array(
      file(
        chain: """
            - logging: { level: "debug", headers: [true] }
            - max-retry: { backoff: { base: 1s } }
            - fetch:
                proxy: |
                  x
              when: { type: query }
            - parse
          """
      ).utf8)
    for index in text.indices {
      for byte in Array("\"'{]:&|\t\n$".utf8) + [0xC3] {
        var damaged = text
        damaged[index] = byte
        _ = PipelineFile.check(
          damaged, file: "x", registry: TestPlugins.registry, environment: testEnvironment
        ).rendered(as: .human())
      }
      _ = PipelineFile.check(
        Array(text[..<index]), file: "x", registry: TestPlugins.registry,
        environment: testEnvironment
      ).rendered(as: .human())
    }
  }
}

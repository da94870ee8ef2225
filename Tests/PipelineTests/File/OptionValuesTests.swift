import GQLRunPipeline
import HTTPTypes
import Testing

@Suite("Values in pipeline files")
struct OptionValuesTests {
  /// Takes one option of every type.
  struct Everything: TestPlugin {
    static let summary = "Takes everything"
    enum Word: String, CaseIterable, ExpressibleByOption {
      case on, off
      case null = "Null"
    }
    struct Object: OptionSection { @Option("An x") var x = 7 }
    struct Element: OptionSection { @Option("An x") var x: Int? }

    @Option("A bool") var bool: Bool?
    @Option("An integer") var int: Int?
    @Option("A number") var double: Double?
    @Option("A text") var string: String?
    @Option("A path") var path: OptionPath?
    @Option("A duration") var duration: Duration?
    @Option("A size") var size: ByteSize?
    @Option("A percentage") var percentage: Percentage?
    @Option("A choice") var choice: Word?
    @Option("A list") var list: [String] = []
    @Option("A map") var map = OptionMap<[String]>()
    @Option("A dictionary") var dictionary: [String: Int] = [:]
    @Option("An object") var object = Object()
    @Option("Objects") var objects: [Element] = []
    @Option("A template") var template: Template?
    @Option("A secret") var secret: SecretString?
    @Option("An HTTP field") var field: HTTPField.Name?

    var placement: Placement { .wrap(.graphQL) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.graphQL(PassGraphQL())] }
  }

  private let registry = PluginRegistry([Everything.self])

  private func pipeline(_ options: String) -> Result<Pipeline, PipelineDiagnostics> {
    let yaml = "version: 1\nchain:\n  - everything: { \(options) }\n  - replay\n"
    var registry = registry
    registry.register(Replay.self)
    do throws(PipelineDiagnostics) {
      let loaded = try PipelineFile.load(
        Array(yaml.utf8), file: "dir/x.yaml", registry: registry, environment: testEnvironment)
      return .success(loaded.pipeline)
    } catch {
      return .failure(error)
    }
  }

  private func entry(_ options: String) -> Result<PipelineEntry, PipelineDiagnostics> {
    pipeline(options).map { $0.entries[0] }
  }

  private func read(_ options: String) -> Result<Everything, PipelineDiagnostics> {
    entry(options).map { entry in
      guard let plugin = entry.plugin as? Everything else {
        preconditionFailure("an entry of a file has its plugin")
      }
      return plugin
    }
  }

  struct Replay: TestPlugin {
    static let summary = "Answers"
    var traits: PluginTraits { [.answers, .parses] }
    var placement: Placement { .step(.parsing) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.parsing(PassParsing())] }
  }

  @Test(
    "are durations with a unit",
    arguments: [
      ("300ms", Duration.milliseconds(300)), ("1.5s", .milliseconds(1500)), ("2m", .seconds(120)),
      ("1h", .seconds(3600)), ("0s", .zero), ("0.1s", .milliseconds(100)),
      ("0.000001ms", .nanoseconds(1)), ("'90s'", .seconds(90)),
    ])
  func durations(text: String, expected: Duration) throws {
    #expect(try read("duration: \(text)").get().duration == expected)
  }

  @Test(
    "are sizes with a unit",
    arguments: [
      ("0B", 0), ("1B", 1), ("512KiB", 512 << 10), ("1.5MiB", 3 << 19), ("2GiB", 2 << 30),
      ("10KB", 10_000), ("10MB", 10_000_000), ("1GB", 1_000_000_000),
    ])
  func sizes(text: String, expected: Int) throws {
    #expect(try read("size: \(text)").get().size?.bytes == expected)
  }

  @Test("are numbers, percentages and words")
  func others() throws {
    let options = try read(
      "bool: true, int: -12, double: 1.5e3, percentage: 2.5%, choice: Null, "
        + "list: [a, 'b', 3], map: { a: [x], b: [] }, objects: [{ x: 1 }, {}], dictionary: { a: 1 }, field: accept"
    ).get()
    #expect(options.bool == true)
    #expect(options.int == -12)
    #expect(options.double == 1500)
    #expect(options.percentage == Percentage(fraction: 0.025))
    #expect(options.choice == .null)
    #expect(options.list == ["a", "b", "3"])
    #expect(options.map.entries.map(\.name) == ["a", "b"])
    #expect(options.map.entries.map(\.value) == [["x"], []])
    #expect(options.dictionary == ["a": 1])
    #expect(options.object.x == 7)
    #expect(options.objects.map(\.x) == [1, nil])
    #expect(options.field == .accept)
    #expect(options.string == nil)
    #expect(options.$list.isGiven)
    #expect(!options.$string.isGiven && !options.$object.isGiven)
  }

  @Test(
    "that YAML 1.1 would change stay as they are",
    arguments: [
      "on", "off", "yes", "No", "y", "0123", "0o17", "0x1F", "1:30", "12:30:45", "1_000", "1e3",
      ".inf", ".NaN", "2026-01-02", "2026-01-02T03:04:05Z", "+1", "0b11", "true", "Null", "=",
      "é", "NULL",
    ])
  func surprises(text: String) throws {
    #expect(try read("string: \(text)").get().string == text)
    #expect(try read("list: [\(text)]").get().list == [text])
    #expect(try read("map: { \(text): [] }").get().map.entries.map(\.name) == [text])
  }

  @Test("of a choice may be words that YAML 1.1 takes for booleans")
  func onAndOff() throws {
    #expect(try read("choice: on").get().choice == .on)
    #expect(try read("choice: off").get().choice == .off)
  }

  @Test(
    "that are not what the option takes say what would be",
    arguments: [
      ("bool: on", "write `true`"), ("bool: No", "write `false`"),
      ("bool: maybe", "write `true` or `false`"),
      ("int: 0123", "write `123`, without leading zeros"), ("int: 1_000", "write `1000`"),
      ("int: 0x1F", "write digits only"), ("int: 1.5", "write digits only"),
      ("int: +5", "write `5`"),
      ("int: 1:30", "write digits only"), ("int: ''", "write digits only"),
      ("int: 99999999999999999999", "too large"), ("int: ~", "write a value"),
      ("int: null", "write a value"), ("string:", "write a value"),
      ("double: .inf", "write a decimal number such as `1.5`"),
      ("double: 1e999", "write a decimal number such as `1.5`"),
      ("double: nan", "write a decimal number such as `1.5`"),
      ("double: 0x10", "write a decimal number such as `1.5`"),
      ("duration: 30", "the unit is missing: write `30s` or `30ms`"),
      ("duration: 0", "the unit is missing: write `0s`"),
      ("duration: 1:30", "`:30` is not a unit of time: ms, s, m and h"),
      ("duration: -1s", "write a number and a unit, such as `30s`"),
      ("duration: 1 s", "` s` is not a unit of time: ms, s, m and h"),
      ("duration: 9999999999999999s", "too many digits"),
      ("duration: 999999999999999h", "too large, or finer than a nanosecond"),
      ("size: 10", "the unit is missing: write `10B`, `10KiB` or `10MiB`"),
      ("size: 10mb", "write `10MB`"),
      ("size: 10M", "write `10MB`"), ("size: 0.5B", "too large, or not a whole number of bytes"),
      ("percentage: 5", "the unit is missing: write `5%`"), ("percentage: 101%", "at most 100%"),
      ("choice: no", "did you mean `on`?"), ("choice: other", "not one of these"),
      ("list: a", "write a list: `[a]`"), ("map: a", "write `name: value` pairs"),
      ("map: [a]", "this is a list"),
      ("string: [a]", "this is a list"), ("template: {}", "this is a mapping"),
      ("objects: [1]", "write `{ x: … }`"),
      ("field: 'X A'", "use letters, digits and hyphens"),
    ])
  func mismatches(option: String, hint: String) throws {
    let found = try #require(throws: PipelineDiagnostics.self) { try read(option).get() }
    #expect(found.all.map(\.hint) == [hint])
  }

  @Test("of paths are taken relative to the file")
  func paths() throws {
    #expect(try read("path: a/b").get().path?.path == "dir/a/b")
    #expect(try read("path: ./a").get().path?.path == "dir/a")
    #expect(try read("path: /a").get().path?.path == "/a")
    #expect(throws: PipelineDiagnostics.self) { try read("path: ''").get() }
  }

  @Test(
    "are expanded by the type of the option",
    arguments: [
      ("string: \"${env:TOKEN}\"", "hunter2"), ("string: 'a-${env:TOKEN}-b'", "a-hunter2-b"),
      ("string: \"${env:NO:-x}\"", "x"), ("string: \"${env:EMPTY:-x}\"", "x"),
      ("string: \"${env:NO:-}\"", ""), ("string: \"${env:EMPTY}\"", ""),
      ("string: \"${file:token.txt}\"", "hunter2"), ("string: a$b$$c$", "a$b$c$"),
      ("string: \"${file:marked.txt}\"", "hunter2"),
      ("string: \"$${env:TOKEN}\"", "${env:TOKEN}"),
      ("string: \"${exec:print {hunter2}}\"", "hunter2"),
      ("string: \"${env:NO:-a:-b}\"", "a:-b"),
      ("string: \"${env:TOKEN}${env:TOKEN}\"", "hunter2hunter2"),
    ])
  func expansion(option: String, expected: String) throws {
    #expect(try read(option).get().string == expected)
  }

  @Test("that are expanded have the type of the option")
  func typedExpansion() throws {
    #expect(try read("duration: \"${env:TIMEOUT}\"").get().duration == .seconds(45))
    #expect(try read("duration: \"${env:NO:-2m}\"").get().duration == .seconds(120))
    // A default is not expanded, so that both characters stay.
    #expect(try read("string: \"${env:NO:-$${x}}\"").get().string == "$${x}")
  }

  @Test(
    "that cannot be expanded are reported without what they hold",
    arguments: [
      "string: \"${env:NO}\"": "P030 the variable `NO` is not set",
      "string: \"${file:no}\"": "P030 the file `no` cannot be read",
      "string: \"${file:binary}\"": "P030 the file `binary` cannot be used",
      "string: \"${exec:false}\"": "P030 the command of `string` of `everything` failed",
      "string: \"${env:}\"": "P003 `${env:}` in `string` of `everything` has no name",
      "string: \"${TOKEN}\"": "P003 `${TOKEN}` in `string` of `everything` has no source",
      "string: \"${env:TOKEN\"": "P003 `${` in `string` of `everything` is not closed",
      "string: \"${env:NO:-${env:TOKEN}}\"":
        "P003 `${env:NO:-…}` in `string` of `everything` has an expansion in its default",
      "string: \"${file:${env:TOKEN}/x}\"":
        "P003 `${file:…}` in `string` of `everything` has an expansion in its path",
      "string: \"${env:${env:TOKEN}}\"":
        "P003 `${env:…}` in `string` of `everything` has an expansion in its name",
      "string: \"${context:${env:TOKEN}}\"":
        "P003 `${context:…}` in `string` of `everything` has an expansion in its name",
      "string: \"${environ:X}\"": "P001 `${environ:…}` is not a known expansion",
      "string: \"${context:x}\"":
        "P003 `string` of `everything` is expanded once, so it cannot contain `${context:x}`",
      "int: \"${env:BAD}\"": "P003 `int` of `everything` takes an integer",
      "duration: \"${env:BAD}\"":
        "P003 `duration` of `everything` takes a duration such as 300ms, 1.5s, 2m or 1h",
      "choice: \"${file:token.txt}\"": "P003 `choice` of `everything` takes on, off or Null",
      "list: \"${env:BAD}\"": "P003 `list` of `everything` takes a list of text",
    ] as [String: String])
  func failedExpansion(option: String, message: String) throws {
    let found = try #require(throws: PipelineDiagnostics.self) { try read(option).get() }
    #expect(found.all.map { "\($0.code.rawValue) \($0.message)" } == [message])
    for format in [PipelineDiagnostics.Format.human(), .json, .github] {
      #expect(!found.rendered(as: format).contains("hunter2"))
    }
  }

  @Test(
    "that come from outside and do not fit are reported with their variable or file",
    arguments: [
      "choice: \"${env:BAD}\"": "the variable `BAD` has another value",
      "choice: \"${env:BAD:-on}\"": "the variable `BAD` has another value",
      "choice: \"${env:NO:-x}\"": "the default of the variable `NO` has another value",
      "choice: \"${file:token.txt}\"": "the file `token.txt` has another value",
      "int: \"${env:NO:-1}${env:BAD}\"":
        "the default of the variable `NO` with the variable `BAD` has another value",
    ] as [String: String])
  func misfitFromOutside(option: String, hint: String) throws {
    let found = try #require(throws: PipelineDiagnostics.self) { try read(option).get() }
    #expect(found.all.map(\.hint) == [hint])
  }

  @Test("are expanded per request if the option is a template")
  func templates() throws {
    let template = try #require(
      try read("template: \"${env:TIMEOUT}/${context:tenant}/${context:user:-guest}\"").get()
        .template)
    #expect(!template.isConstant && Template("x").isConstant)
    #expect(template.requiredNames == ["tenant"])
    #expect(try template.text { ["tenant": "acme"][$0] } == "45s/acme/guest")
    #expect(try template.text { ["tenant": "a", "user": "u"][$0] } == "45s/a/u")
    #expect(throws: Template.MissingValue.self) { try template.text { _ in nil } }
  }

  @Test("know where they stand")
  func locations() throws {
    let options = try #require(
      try entry("int: 1, object: { x: 2 }, objects: [{}, { x: 3 }]").get().given)
    #expect("\(options.location(of: "int"))" == "dir/x.yaml:3:24")
    #expect("\(options.location(of: "object.x"))" == "dir/x.yaml:3:40")
    #expect("\(options.location(of: "bool"))" == "dir/x.yaml:3:5")
    #expect("\(options.location(of: "objects.1.x"))" == "dir/x.yaml:3:64")
    #expect("\(options.location(of: "objects.0.x"))" == "dir/x.yaml:3:55")
  }

  @Test(
    "are shown as the file writes them",
    arguments: [
      ("objects: [{ x: 1 }, {}]", "objects: [{ x: 1 }, {}]"),
      ("object: { x: \"${env:NO:-3}\" }", "  x: ${env:NO:-3}"), ("int: 3", "x: 7  (default)"),
      ("list: [a, 'b c']", "list: [a, b c]"), ("map: { a: [x], b: [] }", "map: { a: [x], b: [] }"),
      ("secret: \"${env:TOKEN}\"", "secret: •••"), ("map: {}", "map: {}"),
    ])
  func shown(options: String, line: String) throws {
    let lines = try pipeline(options).get().show().split(separator: "\n")
    #expect(lines.contains { $0.hasSuffix(" \(line)") }, "\(lines)")
  }

  @Test("of other forms and invalid values are all reported, and nothing is said of them twice")
  func allReported() throws {
    let found = try #require(throws: PipelineDiagnostics.self) {
      try read("int: x, field: 'X A', objects: [1, { x: y }], map: [a]").get()
    }
    #expect(
      found.all.map(\.message) == [
        "`int` of `everything` takes an integer",
        "`everything`: `X A` is not the name of an HTTP field",
        "an element of `objects` of `everything` takes options, not a scalar",
        "`x` of an element of `objects` of `everything` takes an integer",
        "`map` of `everything` takes a mapping of names to lists of text",
      ])
  }

  @Test("that are secret are masked everywhere")
  func secrets() throws {
    let secret = try #require(try read("secret: \"${env:TOKEN}\"").get().secret)
    #expect(secret.reveal() == "hunter2")
    #expect("\(secret)" == "•••")
    #expect(String(reflecting: secret) == "•••")
    var dumped = ""
    dump(secret, to: &dumped)
    #expect(!dumped.contains("hunter2"))
  }

  @Test(
    "that are secret must not be literals",
    arguments: [
      "secret: hunter2", "secret: \"${env:NO:-hunter2}\"",
      "string: \"ghp_\(String(repeating: "a", count: 36))\"",
      "string: https://user:hunter2@example.com", "list: [\"AKIAIOSFODNN7EXAMPLE\"]",
    ])
  func literalSecrets(option: String) throws {
    let found = try #require(throws: PipelineDiagnostics.self) {
      try read(option + ", bool: on").get()
    }
    #expect(Set(found.all.map(\.code)) == [.literalSecret, .wrongValue])
    let text = found.rendered(as: .human())
    #expect(!text.contains("hunter2") && !text.contains("ghp_") && !text.contains("AKIA"))
  }

  @Test("that only look like secrets are fine")
  func harmless() throws {
    _ = try read("string: skeleton-key, list: [ghp_, eyJ.a.b], secret: ''").get()
  }

  @Test(
    "print as they are written",
    arguments: [
      (Duration.milliseconds(300), "300ms"), (.seconds(90), "90s"), (.seconds(120), "2m"),
      (.milliseconds(1500), "1500ms"), (.zero, "0s"), (.seconds(7200), "2h"),
      (.microseconds(1500), "1.5ms"), (.nanoseconds(1_000_000_001), "1.000000001s"),
      // With more nanoseconds than an Int64 has.
      (.seconds(9_223_372_036) + .milliseconds(900), "9223372036s"),
      (.seconds(Int64.max), "9223372036854775807s"),
    ])
  func durationText(duration: Duration, text: String) {
    #expect(duration.optionText == text)
  }
}

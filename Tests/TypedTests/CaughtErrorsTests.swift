import GQLRunGeneratedTypes
import GQLRunTyped
import Testing

/// Directive × data × errors → value, with the types that `gqlrun generate` writes for `catches.graphql`.
@Suite("Fields with @catch")
struct CaughtErrorsTests {
  /// A response: the report in its data, and the path and message of each error.
  struct Case: Sendable, CustomTestStringConvertible {
    var data: String
    var errors: [(path: String, message: String)] = []
    var expected: String

    /// - Parameter errors: Their messages, by paths from the report on; "" is its own.
    init(_ report: String, errors: KeyValuePairs<String, String> = [:], is expected: String) {
      data = #"{"report":\#(report)}"#
      self.errors = errors.map { ($0.key.isEmpty ? "report" : "report.\($0.key)", $0.value) }
      self.expected = expected
    }

    var testDescription: String { "\(data) with \(errors.count) errors" }

    /// The errors, with paths such as `report.tags.1`.
    var fieldErrors: [FieldError] {
      errors.map { path, message in
        FieldError(
          message: message,
          path: path.split(separator: ".").map { part in
            Int(part).map { .index($0) } ?? .key(String(part))
          })
      }
    }
  }

  /// What `show` makes of the data, or the error.
  private func outcome<Operation: GraphQLOperation>(
    _ operation: Operation, _ response: Case, show: (Operation.Data) -> String
  ) -> String {
    do {
      return show(
        try operation.data(json: response.data.utf8, errors: response.fieldErrors))
    } catch let error as FieldError {
      let path = (error.path ?? []).map(\.description).joined(separator: ".")
      return "throws \(path): \(error.message)"
    } catch {
      return "mismatch \(error)"
    }
  }

  private func shown<Value>(
    _ result: Result<Value, FieldError>?, _ show: (Value) -> String = { "\($0)" }
  ) -> String {
    switch result {
    case .success(let value): show(value)
    case .failure(let error): "✗ \(error.message)"
    case nil: "absent"
    }
  }

  private func plain<Value>(_ value: Value?) -> String { value.map { "\($0)" } ?? "nil" }

  @Test(
    "@catch has the value or the error of the field",
    arguments: [
      Case(#"{"title":"A","note":"B","total":1}"#, is: "A, B, 1"),
      Case(#"{"title":"A","note":null,"total":1}"#, is: "A, nil, 1"),
      Case(
        #"{"title":null,"note":null,"total":null}"#,
        errors: ["title": "t", "note": "n", "total": "c"], is: "✗ t, ✗ n, ✗ c"),
      Case(#"{"title":"A","note":null,"total":1}"#, errors: ["title": "t"], is: "A, nil, 1"),
      Case(
        #"{"note":null,"total":1,"title":null}"#,
        errors: ["": "r", "title": "first", "title.x": "second"], is: "✗ first, nil, 1"),
      Case(
        #"{"title":null,"note":null,"total":1}"#,
        is: "mismatch report.title: expected String @semanticNonNull, found null"),
      Case(
        #"{"title":"A","note":null,"total":null}"#, errors: ["title": "t"],
        is: "mismatch report.total: expected Int!, found null"),
      Case(
        #"{"title":3,"note":null,"total":1}"#, errors: ["title": "t"],
        is: "mismatch report.title: expected String @semanticNonNull, found the number 3"),
      Case("null", errors: ["title": "t"], is: "no report"),
    ])
  func result(response: Case) {
    let text = outcome(CaughtTitleQuery(), response) { data in
      guard let report = data.report else { return "no report" }
      return [shown(report.title), shown(report.note) { plain($0) }, shown(report.total)]
        .joined(separator: ", ")
    }
    #expect(text == response.expected)
  }

  @Test(
    "@catch(to: NULL) is nil for an error and for null",
    arguments: [
      Case(#"{"title":"A","total":1}"#, is: "A, 1"),
      Case(#"{"title":null,"total":null}"#, errors: ["title": "t", "total": "c"], is: "nil, nil"),
      Case(#"{"title":null,"total":1}"#, is: "nil, 1"),
    ])
  func null(response: Case) {
    let text = outcome(NullTitleQuery(), response) { data in
      "\(plain(data.report?.title ?? nil)), \(plain(data.report?.total ?? nil))"
    }
    #expect(text == response.expected)
  }

  @Test(
    "@catch(to: THROW) fails all of the data, if nothing above the field has an error",
    arguments: [
      Case(#"{"title":"A","note":null}"#, is: "A, nil"),
      Case(#"{"title":null,"note":null}"#, errors: ["title": "t"], is: "throws report.title: t"),
      Case(#"{"title":"A","note":null}"#, errors: ["note": "n"], is: "throws report.note: n"),
      Case(
        #"{"title":null,"note":null}"#,
        is: "mismatch report.title: expected String @semanticNonNull, found null"),
    ])
  func thrown(response: Case) {
    let text = outcome(ThrownTitleQuery(), response) { data in
      "\(plain(data.report?.title)), \(plain(data.report?.note ?? nil))"
    }
    #expect(text == response.expected)
  }

  @Test(
    "an object with @catch has the errors of the fields inside it",
    arguments: [
      Case(#"{"title":"A","total":1}"#, is: "A, 1"),
      Case("null", is: "nil"),
      Case(#"{"title":null,"total":1}"#, errors: ["title": "t"], is: "✗ t"),
      // Without propagation (`onError: NULL`), a non-null field is null.
      Case(#"{"title":"A","total":null}"#, errors: ["total": "c"], is: "✗ c"),
      // With propagation, the object is.
      Case("null", errors: ["total": "c"], is: "✗ c"),
      Case(#"{"title":"A","total":null}"#, is: "mismatch report.total: expected Int!, found null"),
    ])
  func enclosing(response: Case) {
    let text = outcome(ThrownInResultQuery(), response) { data in
      shown(data.report) { report in report.map { "\($0.title), \($0.total)" } ?? "nil" }
    }
    #expect(text == response.expected)
  }

  @Test(
    "levels are the list and its elements",
    arguments: [
      Case(#"{"tags":["a","b"],"rows":[]}"#, is: "a b; 0 rows"),
      Case(#"{"tags":["a",null,"c"],"rows":null}"#, errors: ["tags.1": "x"], is: "a ✗ x c; nil"),
      Case(#"{"tags":null,"rows":[null]}"#, errors: ["tags": "all"], is: "✗ all; 1 rows"),
      Case(
        #"{"tags":[],"rows":[{"unit":null},null]}"#, errors: ["rows.1": "r"],
        is: "throws report.rows.1: r"),
      Case(
        #"{"tags":[null],"rows":[]}"#,
        is: "mismatch report.tags[0]: expected [String] @semanticNonNull(levels: [0, 1]), "
          + "found null"),
    ])
  func levels(response: Case) {
    let text = outcome(CaughtTagsQuery(), response) { data in
      guard let report = data.report else { return "no report" }
      let tags = shown(report.tags) { $0.map { shown($0) }.joined(separator: " ") }
      return "\(tags); \(report.rows.map { "\($0.count) rows" } ?? "nil")"
    }
    #expect(text == response.expected)
  }

  @Test(
    "only the levels of the directive are caught",
    arguments: [
      Case(
        #"{"tags":["a",null],"grid":[[1,null],null]}"#, errors: ["tags.1": "x"],
        is: #"["a",null] [[1,null],null]"#),
      Case(#"{"tags":null,"grid":null}"#, errors: ["tags": "x", "grid": "g"], is: "null null"),
      Case(
        #"{"tags":[],"grid":[[1,null]]}"#, errors: ["grid.0.1": "g"],
        is: "throws report.grid.0.1: g"),
      Case(
        #"{"tags":[],"grid":[null]}"#, errors: ["grid.0.1": "g"], is: "throws report.grid.0.1: g"),
    ])
  func onlyLevels(response: Case) {
    let text = outcome(CaughtElementsQuery(), response) { data in
      "\((data.report?.tags ?? nil).json.jsonText()) \((data.report?.grid ?? nil).json.jsonText())"
    }
    #expect(text == response.expected)
  }

  @Test(
    "@catchByDefault concerns nullable fields of its operation, and no fragments",
    arguments: [
      Case(#"{"title":"A","note":null,"total":1,"rows":null}"#, is: "A, nil, nil"),
      Case(#"{"title":"A","note":null,"total":1,"rows":[]}"#, errors: ["note": "n"], is: "nil"),
      Case(
        #"{"title":"A","note":"B","total":1,"rows":[{"value":null,"unit":"m"},{"value":2,"unit":null}]}"#,
        errors: ["rows.0.value": "v", "rows.1.unit": "u"], is: "A, B, ✗ v 2"),
      Case(
        #"{"title":"A","note":"B","total":1,"rows":null}"#, errors: ["rows": "r"], is: "A, B, ✗ r"),
    ])
  func byDefault(response: Case) {
    let text = outcome(CaughtByDefaultQuery(), response) { data in
      guard let report = data.report else { return "nil" }
      let rows = shown(report.reportRows.rows) { rows in
        guard let rows else { return "nil" }
        return rows.map { row in shown(row) { "\($0?.value ?? -1)" } }.joined(separator: " ")
      }
      return "\(report.title), \(plain(report.note)), \(rows)"
    }
    #expect(text == response.expected)
  }

  @Test(
    "an excluded field is nil, an included one is caught",
    arguments: [
      Case("{}", is: "absent, nil"),
      Case(#"{"title":"A","note":"B"}"#, is: "A, B"),
      Case(#"{"title":null,"note":null}"#, errors: ["title": "t"], is: "✗ t, nil"),
      Case(#"{"title":"A","note":null}"#, errors: ["note": "n"], is: "throws report.note: n"),
      Case(
        #"{"title":null}"#,
        is: "mismatch report.title: expected String @semanticNonNull, found null"),
    ])
  func conditional(response: Case) {
    let text = outcome(ConditionalCatchQuery(x: true), response) { data in
      "\(shown(data.report?.title)), \(plain(data.report?.note ?? nil))"
    }
    #expect(text == response.expected)
  }

  @Test("the types of other operations do not use errors")
  func plain() {
    #expect(!HeroNameQuery.catchesErrors)
    #expect(CaughtTitleQuery.catchesErrors)
    let error = #expect(throws: TypeMismatch.self) {
      try HeroNameQuery().data(
        json: #"{"hero":{"__typename":"Human","name":null}}"#.utf8,
        errors: [FieldError(message: "n", path: [.key("hero"), .key("name")])])
    }
    #expect(error?.isNull == true)
  }

  struct Anything: GraphQLObject {
    var any: JSONValue

    static func read(from object: inout ObjectReader) throws -> Self {
      try Self(any: object.read("any", "JSON!"))
    }
    func write(to object: inout ObjectWriter) { object.write("any", any) }
  }

  @Test("a null of any JSON is its error, if it has one")
  func json() throws {
    let text = Array(#"{"any":null}"#.utf8)
    #expect(try TokenIndex(checked: text).root(as: Anything.self).any == .null)
    let error = FieldError(message: "x", path: [.key("any")])
    let null = #expect(throws: UncaughtNull.self) {
      try TokenIndex(checked: text, errors: [error]).root(as: Anything.self)
    }
    #expect(null?.error == error)
  }

  @Test("each of many errors is found")
  func many() throws {
    let count = 5_000
    let nulls = String(repeating: "null,", count: count - 1) + "null"
    let errors = (0..<count).map { index in
      FieldError(
        message: "error \(index)", path: [.key("report"), .key("tags"), .index(index)])
    }
    let data = try CaughtTagsQuery().data(
      json: #"{"report":{"tags":[\#(nulls)],"rows":null}}"#.utf8, errors: errors.reversed())
    let tags = try #require(data.report).tags.get()
    let messages = tags.map { tag in
      if case .failure(let error) = tag { error.message } else { "" }
    }
    #expect(messages == errors.map(\.message))
  }

  @Test("an error is not written, nor a list that has one; a value is written as itself")
  func written() throws {
    let report = CaughtTitleQuery.Data.Report(
      title: .failure(FieldError(message: "t")), note: .success(nil), total: .success(3))
    #expect(
      report.json.jsonText() == #"{"__typename":"Report","note":null,"total":3}"#)
    let error = FieldError(message: "x")
    for (tags, text) in [
      (.success([.success("a")]), #"{"__typename":"Report","tags":["a"],"rows":null}"#),
      (.success([.success("a"), .failure(error)]), #"{"__typename":"Report","rows":null}"#),
      (.failure(error), #"{"__typename":"Report","rows":null}"#),
    ] as [(Result<[Result<String, FieldError>], FieldError>, String)] {
      #expect(CaughtTagsQuery.Data.Report(tags: tags, rows: nil).json.jsonText() == text)
    }
  }
}

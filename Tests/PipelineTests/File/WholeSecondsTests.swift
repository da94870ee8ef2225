import GQLRunPipeline
import Testing

@Suite("Times in pipeline files that are counted in seconds")
struct MaximumAgeTests {
  @Test(
    "refuse fractions of a second",
    arguments: [
      ("types: { A: { max_age: 100ms } }", "`1s`"),
      ("fields: { Query.a: { max_age: 1.5s } }", "`1s` or `2s`"),
    ])
  func refused(settings: String, hint: String) {
    let found = check(file(chain: "  - fetch\n  - parse", settings: settings)).errors
    #expect(found.count == 1)
    #expect(found.first?.message.contains("takes a duration in whole seconds") == true)
    #expect(found.first?.hint == "this is counted in whole seconds: write \(hint)")
    let exact = settings.replacing("100ms", with: "1s").replacing("1.5s", with: "90s")
    #expect(check(file(chain: "  - fetch\n  - parse", settings: exact)).errors.isEmpty)
  }
}

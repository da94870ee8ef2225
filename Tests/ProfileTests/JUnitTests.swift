import GQLRunReport
import Testing

@Suite("JUnit reports")
struct JUnitTests {
  @Test("a report has suites, cases and their results, escaped")
  func report() {
    let cases: [(name: String, result: JUnit.Result)] = [
      ("a", .passed), ("<b>", .failure("1 < 2\n\u{1b}", type: "\"x\"")), ("c", .error("gone")),
      ("d", .skipped("not asked")),
    ]
    let counts = JUnit.Counts(of: cases.map(\.result))
    let text =
      JUnit.start("r&d", counts, seconds: 1.5) + JUnit.startSuite("s", counts)
      + cases.map { JUnit.testCase($0.name, suite: "s", seconds: 0, result: $0.result) }.joined()
      + JUnit.endSuite + JUnit.end
    #expect(
      text == """
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="r&amp;d" tests="4" failures="1" errors="1" skipped="1" time="1.500">
         <testsuite name="s" tests="4" failures="1" errors="1" skipped="1">
          <testcase classname="s" name="a" time="0.000"/>
          <testcase classname="s" name="&lt;b&gt;" time="0.000"><failure type="&quot;x&quot;" message="1 &lt; 2&#10;\u{FFFD}"/></testcase>
          <testcase classname="s" name="c" time="0.000"><error message="gone"/></testcase>
          <testcase classname="s" name="d" time="0.000"><skipped message="not asked"/></testcase>
         </testsuite>
        </testsuites>

        """)
  }

  @Test("a report of one suite counts its cases")
  func oneSuite() {
    let text = JUnit.report(
      "r", suite: "s", seconds: 2, cases: [("a", .passed), ("b", .failure("no"))])
    #expect(
      text == """
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="r" tests="2" failures="1" errors="0" skipped="0" time="2.000">
         <testsuite name="s" tests="2" failures="1" errors="0" skipped="0">
          <testcase classname="s" name="a" time="2.000"/>
          <testcase classname="s" name="b" time="2.000"><failure message="no"/></testcase>
         </testsuite>
        </testsuites>

        """)
  }

  @Test("a message is cut after 2,000 characters")
  func longMessage() {
    let text = JUnit.testCase(
      "a", suite: "s", seconds: 0, result: .error(String(repeating: "x", count: 3_000)))
    #expect(text.filter { $0 == "x" }.count == 2_000)
  }
}

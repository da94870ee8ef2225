import Foundation
import GQLRunSupport

/// A JUnit XML report, as text that is written suite by suite.
package enum JUnit {
  /// How many cases of a suite have which result.
  package struct Counts: Sendable, Hashable {
    package var tests: Int
    package var failures: Int
    package var errors: Int
    package var skipped: Int

    package init(tests: Int, failures: Int = 0, errors: Int = 0, skipped: Int = 0) {
      self.tests = tests
      self.failures = failures
      self.errors = errors
      self.skipped = skipped
    }

    /// Counts the results of cases.
    package init(of results: [Result]) {
      self.init(tests: results.count)
      for result in results {
        switch result {
        case .passed: break
        case .failure: failures += 1
        case .error: errors += 1
        case .skipped: skipped += 1
        }
      }
    }

    fileprivate var attributes: String {
      "tests=\"\(tests)\" failures=\"\(failures)\" errors=\"\(errors)\" skipped=\"\(skipped)\""
    }
  }

  /// The result of a case.
  package enum Result: Sendable {
    case passed
    /// A failure with its message; `type` is a class of failures.
    case failure(String, type: String? = nil)
    case error(String)
    /// A case without a result, and why it has none.
    case skipped(String)

    /// The element inside the case; `nil` for a case that passed.
    fileprivate var element: String? {
      switch self {
      case .passed: nil
      case .failure(let message, let type):
        Self.element("failure\(type.map { " type=\"\(JUnit.escaped($0))\"" } ?? "")", message)
      case .error(let message): Self.element("error", message)
      case .skipped(let message): Self.element("skipped", message)
      }
    }

    private static func element(_ name: String, _ message: String) -> String {
      "<\(name) message=\"\(JUnit.escaped(String(message.prefix(JUnit.maxMessage))))\"/>"
    }
  }

  /// The most characters of a message.
  private static let maxMessage = 2_000

  /// The beginning of a report.
  ///
  /// - Parameter seconds: The duration of all suites.
  package static func start(_ name: String, _ counts: Counts, seconds: Double) -> String {
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      + "<testsuites name=\"\(escaped(name))\" \(counts.attributes) time=\"\(time(seconds))\">\n"
  }

  package static let end = "</testsuites>\n"

  /// The beginning of a suite.
  package static func startSuite(_ name: String, _ counts: Counts) -> String {
    " <testsuite name=\"\(escaped(name))\" \(counts.attributes)>\n"
  }

  package static let endSuite = " </testsuite>\n"

  /// A whole report with one suite, whose cases took the same time.
  ///
  /// - Parameters:
  ///   - name: The name of the report.
  ///   - suite: The name of the suite.
  ///   - seconds: The duration of the run.
  ///   - cases: The result of each case.
  package static func report(
    _ name: String, suite: String, seconds: Double, cases: [(name: String, result: Result)]
  ) -> String {
    let counts = Counts(of: cases.map(\.result))
    return start(name, counts, seconds: seconds) + startSuite(suite, counts)
      + cases.map { testCase($0.name, suite: suite, seconds: seconds, result: $0.result) }.joined()
      + endSuite + end
  }

  /// A case.
  ///
  /// - Parameters:
  ///   - name: The name of the case.
  ///   - suite: The name of its suite.
  ///   - seconds: Its duration.
  ///   - result: Its result.
  package static func testCase(
    _ name: String, suite: String, seconds: Double, result: Result
  ) -> String {
    let head =
      "  <testcase classname=\"\(escaped(suite))\" name=\"\(escaped(name))\" "
      + "time=\"\(time(seconds))\""
    return result.element.map { head + ">\($0)</testcase>\n" } ?? head + "/>\n"
  }

  private static func time(_ seconds: Double) -> String { String(format: "%.3f", seconds) }

  /// Escapes text for XML, and replaces characters that XML 1.0 does not allow.
  fileprivate static func escaped(_ text: String) -> String {
    QuotedText.markup(text, keepsLineBreaks: false)
  }
}

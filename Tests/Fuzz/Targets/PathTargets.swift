import Foundation
import GQLRunSupport

@testable import GQLRunConfigurationParts
@testable import GQLRunPluginsParts

/// Patterns for files, dates of header fields, and text that is shown or compared.
@Sendable func fuzzPaths(_ input: FuzzInput) throws {
  let (first, second) = input.parts
  let text = String(decoding: first, as: UTF8.self)
  let path = String(decoding: second, as: UTF8.self)
  for glob in Glob.alternatives(of: text) {
    _ = glob.matches(path)
    // A pattern without wildcards matches itself only.
    if glob.isLiteral { expectEqual(glob.matches(path), glob.text == path, of: "\(glob.text)") }
  }
  if let seconds = HTTPDate.seconds(text) {
    expect(seconds >= -11_644_473_600 && seconds < 253_402_300_800, "the date \(seconds)")
    // The same date as servers should write it.
    let date = Date(timeIntervalSince1970: seconds).ISO8601Format()
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    let parts = date.split { "-T:Z".contains($0) }.map { Int($0) ?? 0 }
    let written =
      "Thu, \(parts[2]) \(months[parts[1] - 1]) \(date.prefix(4)) "
      + "\(parts[3]):\(parts[4]):\(parts[5]) GMT"
    expectEqual(HTTPDate.seconds(written), seconds, of: "\(written)")
  }
  let line = Printable.line(text)
  expect(
    !line.unicodeScalars.contains { Printable.isUnsafe($0.value) }, "control characters in a line")
  expect(!Printable.lines(text).unicodeScalars.contains("\u{1B}"), "an escape sequence in lines")
  expect(
    !QuotedText.markup(text).contains { "<>".contains($0) }, "markup that is not escaped")
  _ = suggestions(for: text, in: [path, "friends", "name"])
  _ = isNaturallyOrdered(text, path)
  _ = FilePath.normalized(text)
}

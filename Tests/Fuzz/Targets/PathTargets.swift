import GQLRunSupport

@testable import GQLRunConfiguration

/// Patterns for files, and text that is shown or compared.
@Sendable func fuzzPaths(_ input: FuzzInput) throws {
  let (first, second) = input.parts
  let text = String(decoding: first, as: UTF8.self)
  let path = String(decoding: second, as: UTF8.self)
  for glob in Glob.alternatives(of: text) {
    _ = glob.matches(path)
    // A pattern without wildcards matches itself only.
    if glob.isLiteral { expectEqual(glob.matches(path), glob.text == path, of: "\(glob.text)") }
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

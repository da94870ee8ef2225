import ArgumentParser
import GQLRunCache
import GQLRunPipeline

/// The option that sends files as variables.
struct UploadOptions: ParsableArguments {
  @Option(
    name: .customLong("upload"),
    help: ArgumentHelp(
      "File to send as a variable of type Upload, or in one, such as input.attachments.0=@a.png; "
        + ";type=image/png and ;filename=x.png override media type and name. @- is standard input. "
        + "May be repeated.",
      valueName: "name=@file"))
  var uploads: [String] = []

  /// The paths of the files, without those options.
  var files: [String] { get throws { try parsed().map(\.file) } }

  /// The files by the paths of their variables.
  ///
  /// - Throws: ``Failure`` if an option or a file is invalid.
  func read() throws -> [String: Upload] {
    var result: [String: Upload] = [:]
    for parsed in try parsed() {
      guard result[parsed.variable] == nil else {
        throw Failure(
          .usage, "--upload \(parsed.variable) is given twice; a variable takes one file")
      }
      do throws(ChainError) {
        result[parsed.variable] =
          parsed.file == "-"
          ? try Upload(
            spooling: 0, fileName: parsed.fileName ?? "stdin", contentType: parsed.contentType)
          : try Upload(
            path: parsed.file, fileName: parsed.fileName, contentType: parsed.contentType)
      } catch {
        throw Failure(.badInput, "--upload \(parsed.variable): \(error.message)")
      }
    }
    return result
  }

  private struct Parsed {
    var variable: String
    var file: String
    var contentType: String?
    var fileName: String?
  }

  private func parsed() throws -> [Parsed] {
    try uploads.map { text in
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty, parts[1].hasPrefix("@"), parts[1].count > 1 else {
        throw Failure(
          .usage,
          "cannot read --upload \(text); write --upload name=@file, such as --upload file=@report.pdf"
        )
      }
      // Accepts `$` before the name, as in the document.
      let variable = parts[0].hasPrefix("$") ? parts[0].dropFirst() : parts[0]
      var parsed = Parsed(variable: VariablePath(String(variable)).text, file: "")
      // A file name may contain any of `;`, `=` and `@`.
      var rest = parts[1].dropFirst()
      while let mark = Self.lastOption(of: rest) {
        let value = String(rest[mark.upperBound...])
        if rest[mark] == ";type=" { parsed.contentType = value } else { parsed.fileName = value }
        rest = rest[..<mark.lowerBound]
      }
      parsed.file = String(rest)
      return parsed
    }
  }

  private static func lastOption(of text: Substring) -> Range<Substring.Index>? {
    [";type=", ";filename="].compactMap { text.ranges(of: $0).last }
      .max { $0.lowerBound < $1.lowerBound }
  }
}

/// A file in YAML that was read: its text, its nodes, and what is wrong with it.
package struct YAMLFile {
  /// Without lines if the file is too large, or not text.
  package let source: SourceText
  /// `nil` if there are errors other than repeated keys.
  package let root: YAMLNode?
  package let findings: [PipelineDiagnostic]

  /// Reads the bytes of a file of at most 1 MiB.
  package init(_ bytes: [UInt8], file: String, kind: SourceText.Kind) {
    let isLong = bytes.count > PipelineFileEnvironment.maxBytes
    let text = isLong ? nil : String(validating: bytes, as: UTF8.self)
    var source =
      text.map { SourceText(file: file, text: $0) } ?? SourceText(file: file, lines: [])
    source.kind = kind
    self.source = source
    guard let text else {
      root = nil
      findings = [
        isLong
          ? PipelineDiagnostic(
            .unreadable, "the file is larger than 1 MiB",
            at: FileLocation(file: file), hint: kind.division)
          : PipelineDiagnostic(
            .unreadable, "the file is not UTF-8 text", at: Self.invalidLine(of: bytes, file),
            hint: "save it as UTF-8")
      ]
      return
    }
    var composer = YAMLComposer(text, source: source)
    root = composer.compose()
    findings = composer.findings
  }

  private static func invalidLine(of bytes: [UInt8], _ file: String) -> FileLocation {
    let valid = String(decoding: bytes, as: UTF8.self).prefix { $0 != "\u{FFFD}" }
    return FileLocation(file: file, line: 1 + valid.filter(\.isNewline).count, column: 1)
  }
}

public import GQLRunJSON

/// Parses variables and other values that people write as YAML.
public enum YAMLValues {
  /// The JSON value of a YAML text.
  ///
  /// Unquoted scalars are numbers, booleans and nulls if they are so in JSON. An empty value and
  /// `~` are null. All others are strings, including `yes`, `010` and `2020-01-01`.
  ///
  /// - Parameters:
  ///   - bytes: The YAML text in UTF-8.
  ///   - file: The name of the file, for messages.
  /// - Returns: The value.
  /// - Throws: ``PipelineDiagnostics`` with all errors of the text.
  public static func value(
    of bytes: [UInt8], file: String
  ) throws(PipelineDiagnostics) -> JSONValue {
    var source = SourceText(file: file, lines: [])
    source.kind = .variables
    let start = FileLocation(file: file, line: 1, column: 1)
    guard bytes.count <= PipelineFileEnvironment.maximumBytes,
      let text = String(validating: bytes, as: UTF8.self)
    else {
      let isLong = bytes.count > PipelineFileEnvironment.maximumBytes
      throw PipelineDiagnostics(
        [
          PipelineDiagnostic(
            .unreadable, isLong ? "the file is larger than 1 MiB" : "the file is not UTF-8 text",
            at: start, hint: isLong ? "write long values as JSON" : "save it as UTF-8")
        ], source: source)
    }
    source = SourceText(file: file, text: text)
    source.kind = .variables
    var composer = YAMLComposer(text, source: source)
    guard let root = composer.compose(), composer.findings.isEmpty else {
      throw PipelineDiagnostics(composer.findings, source: source)
    }
    return root.json
  }
}

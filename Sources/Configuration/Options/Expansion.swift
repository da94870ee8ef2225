import GQLRunSupport

/// A scalar, divided at its `${…}` into literal text and expansions.
struct Expansion {
  enum Part: Equatable {
    case text(String)
    case variable(name: String, fallback: String?)
    case file(String)
    case command(String)
    case context(name: String, fallback: String?)
  }

  enum Failure: Error, Equatable {
    case unclosed
    case withoutScheme(String)
    case unknownScheme(String)
    case unnamed(scheme: String)
    case nested(String, part: String)
  }

  static let schemes = ["env", "file", "exec", "context"]

  var parts: [Part]

  /// Whether the scalar contains expansions.
  var isLiteral: Bool {
    parts.allSatisfy { if case .text = $0 { true } else { false } }
  }

  /// `$$` is a literal `$`; a `$` before other characters than `{` and `$` is text.
  init(_ text: String) throws(Failure) {
    var parts: [Part] = []
    var literal = ""
    var rest = Substring(text)
    while let dollar = rest.firstIndex(of: "$") {
      literal += rest[..<dollar]
      rest = rest[dollar...].dropFirst()
      if rest.first == "$" {
        literal += "$"
        rest.removeFirst()
      } else if rest.first == "{" {
        guard let end = Self.closingBrace(in: rest) else { throw .unclosed }
        if !literal.isEmpty { parts.append(.text(literal)) }
        literal = ""
        parts.append(try Self.part(rest[rest.startIndex..<end].dropFirst()))
        rest = rest[end...].dropFirst()
      } else {
        literal += "$"
      }
    }
    literal += rest
    if !literal.isEmpty || parts.isEmpty { parts.append(.text(literal)) }
    self.parts = parts
  }

  /// The index of the brace that closes the first one; nested braces, as in a command, are counted.
  private static func closingBrace(in text: Substring) -> String.Index? {
    var depth = 0
    for index in text.indices {
      if text[index] == "{" { depth += 1 }
      if text[index] == "}" { depth -= 1 }
      if depth == 0 { return index }
    }
    return nil
  }

  private static func part(_ body: Substring) throws(Failure) -> Part {
    guard let colon = body.firstIndex(of: ":") else { throw .withoutScheme(String(body)) }
    let scheme = String(body[..<colon])
    let rest = String(body[colon...].dropFirst())
    switch scheme {
    case "env":
      let (name, fallback) = try named(rest, scheme)
      return .variable(name: name, fallback: fallback)
    case "context":
      let (name, fallback) = try named(rest, scheme)
      return .context(name: name, fallback: fallback)
    case "file":
      guard !rest.isEmpty else { throw .unnamed(scheme: scheme) }
      guard !hasExpansion(rest) else { throw .nested("file:…", part: "path") }
      return .file(rest)
    case "exec":
      guard !rest.isEmpty else { throw .unnamed(scheme: scheme) }
      return .command(rest)
    default:
      throw .unknownScheme(scheme)
    }
  }

  private static func named(
    _ text: String, _ scheme: String
  ) throws(Failure) -> (name: String, fallback: String?) {
    let mark = text.firstRange(of: ":-")
    let name = String(text[..<(mark?.lowerBound ?? text.endIndex)])
    let fallback = mark.map { String(text[$0.upperBound...]) }
    guard !name.isEmpty else { throw .unnamed(scheme: scheme) }
    guard !hasExpansion(name) else { throw .nested("\(scheme):…", part: "name") }
    if let fallback, hasExpansion(fallback) {
      throw .nested("\(scheme):\(name):-…", part: "default")
    }
    return (name, fallback)
  }

  /// Whether a text that is not expanded has an expansion that is not escaped.
  private static func hasExpansion(_ text: String) -> Bool {
    text.replacing("$$", with: "").contains("${")
  }
}

/// The text of a scalar with the values of its expansions.
struct ExpandedText {
  let expansion: Expansion
  /// The text, in which only values of the context are missing.
  var parts: [Template.Part] = []
  /// Whether the text begins with the value of an environment variable, as opposed to a default.
  var beginsWithVariable = false
}

extension GivenOption {
  /// The text with all expansions of variables, files and commands.
  ///
  /// - Throws: ``OptionError`` if one is not available, which is reported, or if the text depends on a command that was not
  ///   run.
  func expanded(_ text: String) throws(OptionError) -> ExpandedText {
    let expansion: Expansion
    do throws(Expansion.Failure) { expansion = try Expansion(text) } catch {
      throw malformed(error)
    }
    reportLiteralSecret(expansion)
    let environment = decoder.environment
    var result = ExpandedText(expansion: expansion)
    // The indices of the parts that were expanded.
    var outside: Set<Int> = []
    var hasPlaceholder = false
    for part in expansion.parts {
      switch part {
      case .text(let text): result.parts.append(.text(text))
      case .context(let name, let fallback):
        result.parts.append(.context(name: name, fallback: fallback))
      case .variable(let name, let fallback):
        let value = environment.variable(name)
        let isSet = value.map { !$0.isEmpty } ?? false
        if isSet { outside.insert(result.parts.count) }
        let other = fallback ?? environment.lastResort(name)
        guard let text = isSet ? value : other ?? value else {
          throw refused(
            "the variable `\(name)` is not set",
            hint: "set it, or give a default: ${env:\(name):-…}", code: .expansion)
        }
        if result.parts.isEmpty { result.beginsWithVariable = isSet }
        result.parts.append(.text(text))
      case .file(let path):
        let text = try contents(of: path)
        outside.insert(result.parts.count)
        result.parts.append(.text(text))
      case .command(let command):
        let text = try output(of: command)
        if text == nil { hasPlaceholder = true } else { outside.insert(result.parts.count) }
        result.parts.append(.text(text ?? "${exec:\(command)}"))
      }
    }
    guard !hasPlaceholder || environment.showsPlaceholders && type.isText else { throw .unknown }
    noteSecrets(result, outside)
    return result
  }

  /// The output of a command; `nil` if it was not run.
  private func output(of command: String) throws(OptionError) -> String? {
    decoder.programs.append(
      FileProgram(
        origin: "${exec:…}",
        command: SecretText.looksSecret(command) ? SecretString.redacted : command,
        location: location))
    guard let execute = decoder.environment.execute else { return nil }
    do {
      return try execute(command).withoutByteOrderMark.withoutLastLineBreak
    } catch {
      throw refused(
        "the command of \(label) failed", hint: PipelineFileEnvironment.reason(of: error),
        code: .expansion)
    }
  }

  /// Records the values that are secret because they are not in the file itself.
  ///
  /// Only for options of type text: a number, a choice or a path from a variable is not secret, and
  /// messages may contain it.
  private func noteSecrets(_ expanded: ExpandedText, _ outside: Set<Int>) {
    switch type {
    case .string, .template, .jsonTemplate: break
    default: return
    }
    var text = ""
    for (index, part) in expanded.parts.enumerated() {
      guard case .text(let value) = part else { continue }
      if outside.contains(index), secrecy != .url || Self.isBelowHost(text) {
        decoder.secretValues.append(SecretString(value))
      }
      text += value
    }
    if secrecy == .url { decoder.secretValues += SecretNames.secrets(inURL: text) }
  }

  /// What the expansions of a text got their values from, for messages: "the variable `MODE`".
  func sources(of expansion: Expansion) -> String {
    expansion.parts.compactMap { part -> String? in
      switch part {
      case .text: nil
      case .variable(let name, let fallback):
        (decoder.environment.variable(name) ?? "").isEmpty && fallback != nil
          ? "the default of the variable `\(name)`" : "the variable `\(name)`"
      case .file(let path): "the file `\(path)`"
      case .command: "the output of the command"
      case .context(let name, _): "the context `\(name)`"
      }
    }
    .joined(separator: " with ")
  }

  /// Whether the text after `text` belongs to the path or the query of a URL.
  private static func isBelowHost(_ text: String) -> Bool {
    guard let mark = text.firstRange(of: "://") else { return false }
    return text[mark.upperBound...].contains { "/?#".contains($0) }
  }

  private func contents(of path: String) throws(OptionError) -> String {
    let bytes: [UInt8]
    do {
      bytes = try decoder.environment.readFile(
        FilePath.resolve(path, in: decoder.folder(of: location)))
    } catch {
      throw refused(
        "the file `\(path)` cannot be read", hint: PipelineFileEnvironment.reason(of: error),
        code: .expansion)
    }
    let isLong = bytes.count > PipelineFileEnvironment.maxBytes
    guard !isLong, let text = String(validating: bytes, as: UTF8.self) else {
      throw refused(
        "the file `\(path)` cannot be used",
        hint: isLong ? "it is larger than 1 MiB" : "it is not UTF-8 text", code: .expansion)
    }
    return text.withoutByteOrderMark.withoutLastLineBreak
  }

  private func malformed(_ failure: Expansion.Failure) -> OptionError {
    switch failure {
    case .unclosed:
      return refused("`${` in \(label) is not closed", hint: "write `$$` for a literal `$`")
    case .withoutScheme(let name):
      return refused(
        "`${\(name)}` in \(label) has no source", hint: "did you mean `${env:\(name)}`?")
    case .unknownScheme(let scheme):
      decoder.findings.reportUnknown(
        scheme, among: Expansion.schemes, "expansions",
        message: "`${\(scheme):…}` is not a known expansion", location: location)
      return .reported
    case .unnamed(let scheme):
      return refused(
        "`${\(scheme):}` in \(label) has no name", hint: "write a name after the colon")
    case .nested(let expansion, let part):
      return refused(
        "`${\(expansion)}` in \(label) has an expansion in its \(part)",
        hint: "write a text that is not expanded")
    }
  }

  private func reportLiteralSecret(_ expansion: Expansion) {
    let isSecret = secrecy.hides(name)
    let isLiteral = expansion.parts.contains {
      switch $0 {
      case .text(let text):
        SecretText.looksSecret(text) || isSecret && expansion.isLiteral && !text.isEmpty
      case .variable(_, let fallback?), .context(_, let fallback?):
        SecretText.looksSecret(fallback) || isSecret && !fallback.isEmpty
      case .command(let command): SecretText.looksSecret(command)
      default: false
      }
    }
    guard isLiteral else { return }
    decoder.secretLocations.append(location)
    decoder.findings.report(
      .literalSecret, message: "\(label) is a secret, and the file contains its value",
      location: location, hint: "read it from a variable or file: ${env:NAME} or ${file:path}")
  }
}

extension OptionSecrecy {
  /// Whether the value of the option, or of the member of its map, with this name is secret.
  func hides(_ name: String) -> Bool {
    switch self {
    case .open, .url: false
    case .secret: true
    case .secretHeaders: SecretNames.isSecretField(name)
    }
  }
}

extension String {
  /// The text without a line break at its end, as for `$(…)` of a shell.
  fileprivate var withoutLastLineBreak: String {
    if hasSuffix("\r\n") || hasSuffix("\n") { return String(dropLast()) }
    return self
  }
}

/// A program that a pipeline file or a manifest starts: the command of `${exec:…}`, or the program
/// of a plugin.
///
/// `gqlrun` only starts programs of files that the user has trusted; see
/// docs/decisions/0026-trust.md. A program that embeds the library decides with
/// ``PipelineFileEnvironment/execute`` and with `Pipeline.programs`.
public struct FileProgram: Sendable, Hashable {
  /// The origin of the program: `${exec:…}`, or the identifier of an entry.
  public var origin: String
  /// The command as text, for messages.
  public var command: String
  /// The source location of the command.
  public var location: FileLocation

  /// Creates the description of a program; does not start it.
  public init(origin: String, command: String, location: FileLocation) {
    self.origin = origin
    self.command = command
    self.location = location
  }
}

/// A file that a pipeline file names for writing.
package struct FileOutput: Sendable, Hashable {
  /// The path, absolute or relative to the working directory.
  package var path: String
  /// The path as it is written in the file, without the values of variables and files.
  package var text: String
  /// The option that names it: "`file` of `audit`".
  package var option: String
  /// The source location of the path.
  package var location: FileLocation

  /// Whether the path leads out of the repository of the pipeline file that names it, to where other programs may execute
  /// the file.
  package var isOutside: Bool {
    !FilePath.isInRepository(path, of: location.file) && !FilePath.isDisposable(path)
  }
}

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
    let name: Substring
    let fallback: String?
    if let mark = text.firstRange(of: ":-") {
      name = text[..<mark.lowerBound]
      fallback = String(text[mark.upperBound...])
    } else {
      name = text[...]
      fallback = nil
    }
    guard !name.isEmpty else { throw .unnamed(scheme: scheme) }
    return (String(name), fallback)
  }
}

extension OptionDecoder {
  struct Expanded {
    /// The text; `nil` if it depends on a command that was not run.
    var known: [Template.Part]?
    /// Whether the text begins with the value of an environment variable, as opposed to a default.
    var beginsWithVariable = false
    /// Whether the text contains the placeholder of a command that was not run.
    var hasPlaceholder = false
    /// The indices of the parts that were expanded.
    var outside: Set<Int> = []
  }

  /// The parts with all expansions of variables, files and commands; `nil` if one is not available.
  mutating func expanded(
    _ expansion: Expansion, location: FileLocation, label: String
  ) -> Expanded? {
    var parts: [Template.Part] = []
    var outside: Set<Int> = []
    var isKnown = true
    var beginsWithVariable = false
    var hasPlaceholder = false
    for part in expansion.parts {
      switch part {
      case .text(let text): parts.append(.text(text))
      case .context(let name, let fallback): parts.append(.context(name: name, fallback: fallback))
      case .variable(let name, let fallback):
        let value = environment.variable(name)
        if value.map({ !$0.isEmpty }) ?? false { outside.insert(parts.count) }
        let other = fallback ?? environment.lastResort(name)
        guard let text = value.flatMap({ $0.isEmpty ? other ?? $0 : $0 }) ?? other else {
          report(
            .expansion, message: "the variable `\(name)` is not set", location: location,
            hint: "set it, or give a default: ${env:\(name):-…}")
          return nil
        }
        if parts.isEmpty { beginsWithVariable = !(value ?? "").isEmpty }
        parts.append(.text(text))
      case .file(let path):
        guard let text = contents(of: path, location) else { return nil }
        outside.insert(parts.count)
        parts.append(.text(text))
      case .command(let command):
        programs.append(
          FileProgram(
            origin: "${exec:…}",
            command: SecretText.looksSecret(command) ? SecretString.redacted : command,
            location: location))
        guard let execute = environment.execute else {
          isKnown = isKnown && environment.showsPlaceholders
          hasPlaceholder = true
          parts.append(.text("${exec:\(command)}"))
          continue
        }
        do {
          let text = try execute(command).withoutLastLineBreak
          outside.insert(parts.count)
          parts.append(.text(text))
        } catch {
          report(
            .expansion, message: "the command of \(label) failed", location: location,
            hint: Self.reason(error))
          return nil
        }
      }
    }
    return Expanded(
      known: isKnown ? parts : nil, beginsWithVariable: beginsWithVariable,
      hasPlaceholder: hasPlaceholder, outside: outside)
  }

  /// Records the values that are secret because they are not in the file itself.
  ///
  /// Only for options of type text: a number, a choice or a path from a variable is not secret, and
  /// messages may contain it.
  mutating func noteSecrets(_ expanded: Expanded, type: OptionType, secrecy: OptionSecrecy) {
    switch type {
    case .string, .template: break
    default: return
    }
    var text = ""
    for (index, part) in (expanded.known ?? []).enumerated() {
      guard case .text(let value) = part else { continue }
      if expanded.outside.contains(index), secrecy != .url || Self.isBelowHost(text) {
        secretValues.append(SecretString(value))
      }
      text += value
    }
    if secrecy == .url { secretValues += SecretNames.secrets(inURL: text) }
  }

  /// What the expansions of a text got their values from, for messages: "the variable `MODE`".
  func sources(of expansion: Expansion) -> String {
    let names = expansion.parts.compactMap { part -> String? in
      switch part {
      case .text: nil
      case .variable(let name, let fallback):
        (environment.variable(name) ?? "").isEmpty && fallback != nil
          ? "the default of the variable `\(name)`" : "the variable `\(name)`"
      case .file(let path): "the file `\(path)`"
      case .command: "the output of the command"
      case .context(let name, _): "the context `\(name)`"
      }
    }
    return names.isEmpty ? "the text" : names.joined(separator: " with ")
  }

  /// Whether the text after `text` belongs to the path or the query of a URL.
  private static func isBelowHost(_ text: String) -> Bool {
    guard let mark = text.firstRange(of: "://") else { return false }
    return text[mark.upperBound...].contains { "/?#".contains($0) }
  }

  private mutating func contents(of path: String, _ location: FileLocation) -> String? {
    do {
      let bytes = try environment.readFile(FilePath.resolve(path, in: folder(of: location)))
      guard bytes.count <= PipelineFileEnvironment.maxBytes else {
        report(
          .expansion, message: "the file `\(path)` cannot be used", location: location,
          hint: "it is larger than 1 MiB")
        return nil
      }
      guard let text = String(validating: bytes, as: UTF8.self) else {
        report(
          .expansion, message: "the file `\(path)` cannot be used", location: location,
          hint: "it is not UTF-8 text")
        return nil
      }
      return text.withoutLastLineBreak
    } catch {
      report(
        .expansion, message: "the file `\(path)` cannot be read", location: location,
        hint: Self.reason(error))
      return nil
    }
  }

  private static func reason(_ error: any Error) -> String {
    (error as? PipelineFileEnvironment.Failure)?.reason ?? "the reason is unknown"
  }

  mutating func reportMalformed(
    _ failure: Expansion.Failure, location: FileLocation, label: String
  ) {
    switch failure {
    case .unclosed:
      report(
        .wrongValue,
        message: "`${` in \(label) is not closed", location: location,
        hint: "write `$$` for a literal `$`")
    case .withoutScheme(let name):
      report(
        .wrongValue, message: "`${\(name)}` in \(label) has no source", location: location,
        hint: "did you mean `${env:\(name)}`?")
    case .unknownScheme(let scheme):
      let meant = suggestion(for: scheme, in: Expansion.schemes)
      findings.append(
        PipelineDiagnostic(
          .unknownName, "`${\(scheme):…}` is not a known expansion", at: location,
          hint: meant.map { "did you mean `\($0)`?" },
          notes: [.init("expansions", Expansion.schemes.joined(separator: ", "))]))
    case .unnamed(let scheme):
      report(
        .wrongValue, message: "`${\(scheme):}` in \(label) has no name", location: location,
        hint: "write a name after the colon")
    }
  }

  private mutating func report(
    _ code: PipelineDiagnostic.Code, message: String, location: FileLocation, hint: String
  ) {
    findings.append(PipelineDiagnostic(code, message, at: location, hint: hint))
  }

  func isSecret(_ option: OptionDescription, _ name: String) -> Bool {
    switch option.secrecy {
    case .open, .url: false
    case .secret: true
    case .secretHeaders: SecretNames.isSecretField(name)
    }
  }

  mutating func reportLiteralSecret(
    _ expansion: Expansion, isSecret: Bool, location: FileLocation, label: String
  ) {
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
    secretLocations.append(location)
    report(
      .literalSecret, message: "\(label) is a secret, and the file contains its value",
      location: location,
      hint: "read it from a variable or file: ${env:NAME} or ${file:path}")
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

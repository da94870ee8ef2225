/// Text with places that are filled from a request's context: `tenant-${context:tenant}`.
///
/// Everything else that a pipeline file can expand was expanded when the file was read.
public struct Template: Sendable, Hashable {
  package enum Part: Sendable, Hashable {
    case text(String)
    case context(name: String, fallback: String?)
  }

  package let parts: [Part]

  init(parts: [Part]) {
    self.parts = parts
  }

  /// Text without anything to fill in.
  public init(_ text: String) {
    self.init(parts: [.text(text)])
  }

  /// The names of the context values that the template needs, without those that have a default.
  public var requiredNames: [String] {
    parts.compactMap { if case .context(let name, nil) = $0 { name } else { nil } }
  }

  /// Whether the text is the same for every request.
  public var isConstant: Bool {
    parts.allSatisfy { if case .text = $0 { true } else { false } }
  }

  /// The text with its places filled.
  ///
  /// - Throws: ``MissingValue`` for a value that is neither there nor has a default.
  public func text(_ value: (_ name: String) -> String?) throws(MissingValue) -> String {
    var result = ""
    for part in parts {
      switch part {
      case .text(let text): result += text
      case .context(let name, let fallback):
        guard let text = value(name) ?? fallback else { throw MissingValue(name: name) }
        result += text
      }
    }
    return result
  }

  /// A value that a template needs and that the request's context does not have.
  public struct MissingValue: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the missing value.
    public var name: String

    public var description: String {
      "the request's context has no value `\(name)`; "
        + "set it, or give a default: ${context:\(name):-…}"
    }
  }
}

/// A diagnostic about a pipeline file, a project file or a batch manifest.
public struct PipelineDiagnostic: Error, Sendable, Hashable {
  /// How severe a diagnostic is.
  public enum Severity: String, Sendable, Hashable {
    /// An error, which prevents loading, or a warning.
    case error, warning
  }

  /// The severity.
  public var severity: Severity
  /// The number of the check.
  public var code: Code
  /// What was being read and what was found, in one line. Never contains an expanded value.
  public var message: String
  /// The source location.
  public var location: FileLocation
  /// What would work; printed next to the underline.
  public var hint: String?
  /// Further lines, such as the valid options: ("options", "a, b").
  public var notes: [Note]

  /// Creates a diagnostic.
  ///
  /// - Parameters:
  ///   - code: The number of the check.
  ///   - message: What was being read and what was found, in one line.
  ///   - severity: An error by default.
  ///   - location: The source location.
  ///   - hint: What would work.
  ///   - notes: Further lines, such as the valid options.
  public init(
    _ code: Code, _ message: String, severity: Severity = .error, at location: FileLocation,
    hint: String? = nil, notes: [Note] = []
  ) {
    self.severity = severity
    self.code = code
    self.message = message
    self.location = location
    self.hint = hint
    self.notes = notes
  }

  /// A further line of a diagnostic.
  public struct Note: Sendable, Hashable {
    /// The label of the line.
    public var label: String
    /// The text of the line.
    public var text: String

    /// Creates a line.
    ///
    /// - Parameters:
    ///   - label: The label of the line.
    ///   - text: The text of the line.
    public init(_ label: String, _ text: String) {
      self.label = label
      self.text = text
    }
  }
}

extension PipelineDiagnostic {
  /// The identifier under which a check is documented: `P010`.
  ///
  /// A plugin of your own gives its rules a code of its own kind: `"ACME1"`.
  public struct Code: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
    /// The code as printed, such as `P010`.
    public let rawValue: String

    /// Creates a code from its text.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// Creates a code from a literal.
    public init(stringLiteral value: String) {
      self.init(rawValue: value)
    }

    /// The text is not YAML, or uses a part of YAML that pipeline files do not have.
    public static let unreadable: Code = "P000"
    /// An unknown key or plugin.
    public static let unknownName: Code = "P001"
    /// A key that was already given.
    public static let duplicateKey: Code = "P002"
    /// A wrong type, a missing unit, a value out of range, or a required value that is missing.
    public static let wrongValue: Code = "P003"
    /// A plugin among those of another stage.
    public static let stageOrder: Code = "P009"
    /// Not exactly one plugin that fetches.
    public static let fetch: Code = "P010"
    /// Parsing is missing, repeated, or above the fetch.
    public static let parse: Code = "P011"
    /// A cache write without a store, or before there is anything to write.
    public static let cacheWrite: Code = "P012"
    /// A cache read after the network, or of a cache that nothing fills.
    public static let cacheRead: Code = "P013"
    /// Persisted queries where they cannot work.
    public static let persistedQueries: Code = "P014"
    /// Something may start the chain again, and nothing bounds how often.
    public static let restarts: Code = "P015"
    /// Status check not between fetch and parse.
    public static let responseCode: Code = "P016"
    /// Credentials where a refusal of the server does not reach them.
    public static let credentials: Code = "P017"
    /// Headers are logged before later plugins change them.
    public static let loggingPosition: Code = "P018"
    /// A secret written literally in the file.
    public static let literalSecret: Code = "P019"
    /// Mutations are retried, and nothing tells the server that it is the same one.
    public static let retriedMutations: Code = "P020"
    /// A rule that names what the schema does not have.
    public static let schemaRule: Code = "P021"
    /// Something to expand that is not there.
    public static let expansion: Code = "P030"
    /// A test names an entry that the chain does not have.
    public static let unknownStage: Code = "P031"
    /// A document of a batch that cannot be used.
    public static let document: Code = "B001"
    /// A variable of a batch, or a row that does not fit it.
    public static let variable: Code = "B002"
    /// A template with an unknown name.
    public static let template: Code = "B003"
    /// An output outside of the manifest's folder.
    public static let output: Code = "B004"
    /// Operations that need each other, or one that is not there.
    public static let needs: Code = "B005"
    /// An input that cannot be read.
    public static let input: Code = "B006"
    /// A path that leads nowhere, or a condition that cannot be read.
    public static let path: Code = "B007"
  }
}

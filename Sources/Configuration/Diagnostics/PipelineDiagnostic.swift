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
  public var place: SourcePlace
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
  ///   - place: The source location.
  ///   - hint: What would work.
  ///   - notes: Further lines, such as the valid options.
  public init(
    _ code: Code, _ message: String, severity: Severity = .error, at place: SourcePlace,
    hint: String? = nil, notes: [Note] = []
  ) {
    self.severity = severity
    self.code = code
    self.message = message
    self.place = place
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
  /// The number under which a check is documented.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// The text is not YAML, or uses a YAML feature that pipeline files do not support.
    case unreadable = "P000"
    /// An unknown key or plugin.
    case unknownName = "P001"
    /// A key that occurs twice.
    case duplicateKey = "P002"
    /// A wrong type, a missing unit, a value out of range, or a required value that is missing.
    case wrongValue = "P003"
    /// A plugin among those of another stage.
    case stageOrder = "P009"
    /// Not exactly one plugin fetches.
    case fetch = "P010"
    /// Parsing is missing, repeated, or above the fetch.
    case parse = "P011"
    /// A cache write without a store, or at a position where no records exist yet.
    case cacheWrite = "P012"
    /// A cache read after the network, or of a cache that nothing writes.
    case cacheRead = "P013"
    /// Persisted queries at a position where they cannot work.
    case persistedQueries = "P014"
    /// A plugin may restart the chain, and no plugin limits the number of attempts.
    case restarts = "P015"
    /// A status check that is not between fetch and parse.
    case responseCode = "P016"
    /// Credentials at a position where the server's rejection does not reach their plugin.
    case credentials = "P017"
    /// Header fields are logged before later plugins change them.
    case loggingPlace = "P018"
    /// A secret written literally in the file.
    case literalSecret = "P019"
    /// Mutations are retried without an idempotency key.
    case retriedMutations = "P020"
    /// A rule that names a part of the schema that does not exist.
    case schemaRule = "P021"
    /// An expansion of a variable, file or command that does not exist.
    case expansion = "P030"
    /// A test names an entry that the chain does not have.
    case unknownStage = "P031"
    /// A document of a batch that cannot be used.
    case document = "B001"
    /// A variable of a batch, or a row with values of the wrong type.
    case variable = "B002"
    /// A template with an unknown name.
    case template = "B003"
    /// An output outside the manifest's folder.
    case output = "B004"
    /// Operations that depend on each other in a cycle, or on an unknown operation.
    case needs = "B005"
    /// An input that cannot be read.
    case input = "B006"
    /// An invalid path or condition, or a path that the operation's data does not have.
    case path = "B007"
  }
}

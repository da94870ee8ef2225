/// One finding about a pipeline file.
public struct PipelineDiagnostic: Error, Sendable, Hashable {
  public enum Severity: String, Sendable, Hashable {
    case error, warning
  }

  public var severity: Severity
  public var code: Code
  /// What was being read and what was found, in one line. Never contains an expanded value.
  public var message: String
  public var place: SourcePlace
  /// What would work, printed beside the underline.
  public var hint: String?
  /// Further lines such as the options there are: ("options", "a, b").
  public var notes: [Note]

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

  public struct Note: Sendable, Hashable {
    public var label: String
    public var text: String

    public init(_ label: String, _ text: String) {
      self.label = label
      self.text = text
    }
  }
}

extension PipelineDiagnostic {
  /// The number under which a check is documented.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// The text is not YAML, or uses a part of YAML that pipeline files do not have.
    case unreadable = "P000"
    /// An unknown key or plugin.
    case unknownName = "P001"
    /// A key that was already given.
    case duplicateKey = "P002"
    /// A wrong type, a missing unit, a value out of range, or a required value that is missing.
    case wrongValue = "P003"
    /// A plugin among those of another stage.
    case stageOrder = "P009"
    /// Not exactly one plugin that fetches.
    case fetch = "P010"
    /// Parsing is missing, repeated, or above the fetch.
    case parse = "P011"
    /// A cache write without a store, or before there is anything to write.
    case cacheWrite = "P012"
    /// A cache read after the network, or of a cache that nothing fills.
    case cacheRead = "P013"
    /// Persisted queries where they cannot work.
    case persistedQueries = "P014"
    /// Something may start the chain again, and nothing bounds how often.
    case restarts = "P015"
    /// Status check not between fetch and parse.
    case responseCode = "P016"
    /// Credentials where a refusal of the server does not reach them.
    case credentials = "P017"
    /// Headers are logged before later plugins change them.
    case loggingPlace = "P018"
    /// A secret written literally in the file.
    case literalSecret = "P019"
    /// Mutations are retried, and nothing tells the server that it is the same one.
    case retriedMutations = "P020"
    /// A rule that names what the schema does not have.
    case schemaRule = "P021"
    /// Something to expand that is not there.
    case expansion = "P030"
    /// A test names an entry that the chain does not have.
    case unknownStage = "P031"
    /// A document of a batch that cannot be used.
    case document = "B001"
    /// A variable of a batch, or a row that does not fit it.
    case variable = "B002"
    /// A template with an unknown name.
    case template = "B003"
    /// An output outside of the manifest's folder.
    case output = "B004"
    /// Operations that need each other, or one that is not there.
    case needs = "B005"
    /// An input that cannot be read.
    case input = "B006"
    /// A path that leads nowhere, or a condition that cannot be read.
    case path = "B007"
  }
}

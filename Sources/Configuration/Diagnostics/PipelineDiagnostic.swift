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
  /// A plugin outside of this package uses codes with a prefix of its own: `"ACME1"`.
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

    /// The text is not YAML, or uses a YAML feature that pipeline files do not support.
    public static let unreadable: Code = "P000"
    /// An unknown key or plugin.
    public static let unknownName: Code = "P001"
    /// A repeated key.
    public static let duplicateKey: Code = "P002"
    /// A wrong type, a missing unit, a value out of range, or a required value that is missing.
    public static let wrongValue: Code = "P003"
    /// A plugin is between those of another stage.
    public static let stageOrder: Code = "P009"
    /// The chain does not have exactly one plugin that sends requests.
    public static let fetch: Code = "P010"
    /// The parser is missing, repeated, or above the fetch.
    public static let parse: Code = "P011"
    /// A cache write has no store, or is above the parser.
    public static let cacheWrite: Code = "P012"
    /// A cache read is below the fetch, or reads a store that no plugin fills.
    public static let cacheRead: Code = "P013"
    /// Persisted queries are at a position where they cannot work.
    public static let persistedQueries: Code = "P014"
    /// A plugin may restart the chain, and no plugin bounds the number of restarts.
    public static let restarts: Code = "P015"
    /// The status check is not between the fetch and the parser.
    public static let responseCode: Code = "P016"
    /// Credentials are at a position where the server's rejection does not reach them.
    public static let credentials: Code = "P017"
    /// Header fields are logged before a later plugin changes them.
    public static let loggingPosition: Code = "P018"
    /// The file contains a literal secret.
    public static let literalSecret: Code = "P019"
    /// Mutations are retried, and the server cannot recognize a repeated one.
    public static let retriedMutations: Code = "P020"
    /// A rule names a type, field or argument that the schema does not have.
    public static let schemaRule: Code = "P021"
    /// A name has a newer spelling.
    public static let formerName: Code = "P022"
    /// A setting has no effect on subscriptions, or prevents them.
    public static let subscriptions: Code = "P023"
    /// A variable, file or command of an expansion is not available.
    public static let expansion: Code = "P030"
    /// A test names an entry that the chain does not have.
    public static let unknownStage: Code = "P031"
    /// A document of a batch cannot be used.
    public static let document: Code = "B001"
    /// A variable of a batch is wrong, or a row has no valid value for it.
    public static let variable: Code = "B002"
    /// A template has an unknown name.
    public static let template: Code = "B003"
    /// An output is outside of the manifest's folder.
    public static let output: Code = "B004"
    /// Operations depend on each other in a cycle, or on one that does not exist.
    public static let needs: Code = "B005"
    /// An input cannot be read.
    public static let input: Code = "B006"
    /// A path has no target, or a condition is invalid.
    public static let path: Code = "B007"
  }
}

/// A source location: a part of one line of a file.
public struct FileLocation: Sendable, Hashable {
  /// The path of the file, as the user wrote it.
  public var file: String
  /// The line, from 1.
  public var line: Int
  /// The column, from 1, in Unicode scalars.
  public var column: Int
  /// The length in Unicode scalars, at least 1.
  public var length: Int

  /// Creates a source location; by default the beginning of the file.
  ///
  /// - Parameters:
  ///   - file: The path of the file.
  ///   - line: The line, from 1.
  ///   - column: The column, from 1, in Unicode scalars.
  ///   - length: The length in Unicode scalars, at least 1.
  public init(file: String, line: Int = 1, column: Int = 1, length: Int = 1) {
    self.file = file
    self.line = line
    self.column = column
    self.length = length
  }
}

extension FileLocation: CustomStringConvertible {
  /// File, line and column: `ci.pipeline.yaml:6:18`.
  public var description: String { "\(file):\(line):\(column)" }
}

extension FileLocation: Comparable {
  /// Orders locations by file, line and column.
  public static func < (lhs: FileLocation, rhs: FileLocation) -> Bool {
    (lhs.file, lhs.line, lhs.column) < (rhs.file, rhs.line, rhs.column)
  }
}

public import GQLRunCache
public import GQLRunJSON
public import Logging

/// A plugin as documentation, help and the JSON Schema show it.
public struct PluginDescription: Sendable {
  /// The name in a pipeline file, in kebab case.
  public let name: String
  /// What the plugin does, in one sentence without a full stop.
  public let summary: String
  /// When to use it, where it belongs, and an example.
  public let documentation: PluginDocumentation
  /// The placement with default options.
  public let placement: Placement
  /// The options, in the order of their declarations.
  public let options: [OptionDescription]
  /// The entries of the documentation's examples.
  public var examples: [String] { documentation.examples }
  private let foreignProperties: [String]

  /// Reads the declarations of a plugin.
  public init<Described: Plugin>(_ plugin: Described.Type) {
    name = plugin.name
    summary = plugin.summary
    documentation = plugin.documentation
    placement = plugin.init().placement
    options = plugin.optionDescriptions
    foreignProperties = plugin.foreignProperties
  }

  /// The errors of the declarations; empty for a valid plugin.
  ///
  /// Adding a plugin with problems to a registry is a precondition failure.
  public var problems: [String] {
    var problems: [String] = []
    if !Self.isName(name, separator: "-") || ["id", "when"].contains(name) {
      problems.append("`\(name)` is not the name of a plugin: use kebab case")
    }
    if placement.stages.isEmpty { problems.append("`\(name)` has no stage") }
    if !Self.isSummary(summary) {
      problems.append("the summary of `\(name)` is not one sentence without a full stop")
    }
    let texts = [
      ("use", documentation.use), ("position", documentation.position),
      ("example", documentation.example), ("narration", documentation.narration),
      ("subscriptions", documentation.subscriptions), ("uploads", documentation.uploads),
    ]
    problems += texts.filter(\.1.isEmpty).map { "the documentation of `\(name)` has no \($0.0)" }
    problems += foreignProperties.map {
      "the property `\($0)` of `\(name)` is not an `@Option`; compute it instead"
    }
    return problems + Self.problems(of: options, in: name)
  }

  private static func problems(of options: [OptionDescription], in owner: String) -> [String] {
    var problems: [String] = []
    for option in options {
      let label = "`\(option.name)` of `\(owner)`"
      if !isName(option.name, separator: "_") {
        problems.append("\(label) cannot be written in snake case")
      }
      if !isSummary(option.summary) {
        problems.append("the summary of \(label) is not one sentence without a full stop")
      }
      if let inner = option.type.group {
        let innerProblems = Self.problems(of: inner, in: option.name)
        problems += innerProblems
        guard innerProblems.isEmpty else { continue }
      }
      if !option.hasValidDefault {
        problems.append("the default of \(label) is not \(option.type.expectation)")
      }
    }
    return problems
  }

  private static func isSummary(_ text: String) -> Bool { !text.isEmpty && !text.hasSuffix(".") }

  private static func isName(_ name: String, separator: Character) -> Bool {
    guard let first = name.first, first.isASCII, first.isLowercase else { return false }
    return name.allSatisfy {
      $0.isASCII && ($0.isLowercase || $0.isNumber) || $0 == separator
    } && name.last != separator
  }
}

extension OptionType {
  /// The options of a group, or of the groups in a list or map.
  fileprivate var group: [OptionDescription]? {
    switch self {
    case .list(let element), .map(let element): element.group
    default: table?.options
    }
  }
}

extension PluginDescription {
  /// The description as `gqlrun plugins NAME` prints it.
  public var text: String {
    var lines = [
      "\(name) — \(summary)", "", "\(placement.kind.rawValue), stage \(placement.stageText)",
    ]
    lines += ["", documentation.use, "", documentation.position]
    lines += ["", "Subscriptions: \(documentation.subscriptions)"]
    lines += ["", "Uploads: \(documentation.uploads)"]
    if !options.isEmpty {
      lines += ["", "options:"] + options.flatMap { $0.lines(indent: "  ") }
    }
    lines += ["", "example:", "  - \(documentation.example)", "", documentation.narration]
    if !documentation.moreExamples.isEmpty {
      lines += ["", "more examples:"] + documentation.moreExamples.map { "  - \($0)" }
    }
    return lines.map { $0 + "\n" }.joined()
  }
}

// Types of the pipeline that options can have; files contain their raw values.

extension ChainError.Layer: ExpressibleByOption {}
extension Endpoint.Method: ExpressibleByOption {}
extension Endpoint.Subscriptions.Transport: ExpressibleByOption {}
extension ErrorPolicy: ExpressibleByOption {}
extension ErrorReadPolicy: ExpressibleByOption {}
extension Logger.Level: ExpressibleByOption {}
extension TLSSettings.Version: ExpressibleByOption {}

/// A max age, in whole seconds: `5m`.
public struct RecordAge: Sendable, Hashable, ExpressibleByOption {
  /// The age, in whole seconds.
  public var duration: Duration

  /// Creates an age.
  ///
  /// - Parameter duration: The age, in whole seconds.
  public init(_ duration: Duration) {
    self.duration = duration
  }

  /// A duration in whole seconds.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { PipelineFile.maxAge }
  /// Zero.
  public static var unsetOption: RecordAge { RecordAge(.zero) }
  /// The age with its largest exact unit: `5m`.
  public var optionDefault: JSONValue? { duration.optionDefault }

  /// Creates the value from an option.
  ///
  /// - Throws: `OptionError` if the option is not a duration.
  public init(option: GivenOption) throws(OptionError) {
    self.init(try Duration(option: option))
  }
}

extension CachePolicy: ExpressibleByOption {
  /// The names of all policies.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .choice(names) }

  /// Creates the policy from its name.
  ///
  /// - Throws: `OptionError` for an unknown name.
  public init(option: GivenOption) throws(OptionError) {
    let name = try String(option: option)
    guard let policy = CachePolicy(name: name) else {
      throw OptionError("`\(name)` is not a fetch policy")
    }
    self = policy
  }
}

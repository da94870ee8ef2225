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
      let location = FileLocation(file: "default", line: 1, column: 1)
      if let text = option.defaultText,
        OptionDecoder.defaultValue(of: option, text, location: location) == nil
      {
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
    case .object(let table): table.options
    case .list(let element), .map(let element): element.group
    default: nil
    }
  }
}

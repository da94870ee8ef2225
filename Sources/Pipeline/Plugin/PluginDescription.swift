/// What a plugin is and which options it has: the one table behind parsing, errors, help and
/// documentation.
public struct PluginDescription: Sendable, Hashable {
  /// The name as written in a chain, in kebab case.
  public var name: String
  /// What it does, in one sentence without a full stop.
  public var summary: String
  public var kind: Kind
  /// The stages it takes part in; mostly one.
  public var stages: [PluginStage]
  /// What the rules about a chain's order need to know about it.
  public var roles: Set<PluginRole>
  public var options: [OptionDescription]
  /// Entries of a chain as one would write them, without the leading dash.
  public var examples: [String]

  public init(
    name: String, summary: String, kind: Kind, stages: [PluginStage], roles: Set<PluginRole> = [],
    options: [OptionDescription] = [], examples: [String] = []
  ) {
    self.name = name
    self.summary = summary
    self.kind = kind
    self.stages = stages
    self.roles = roles
    self.options = options
    self.examples = examples
  }

  /// How a plugin stands in a chain.
  public enum Kind: String, Sendable, Hashable {
    /// Surrounds everything below it: sees the request on the way down and the responses on the way
    /// up.
    case wrap
    /// Acts once, at its place.
    case step
  }
}

/// The four stages of a chain, in their order.
public enum PluginStage: String, Sendable, Hashable, CaseIterable {
  case graphQL = "GraphQL"
  case cache = "cache"
  case http = "HTTP"
  case parsing = "parsing"
}

/// A part that a plugin plays in a chain and that other plugins are placed by.
public enum PluginRole: String, Sendable, Hashable, CaseIterable {
  /// Sends the request over the network; innermost.
  case fetch
  /// May answer instead of the network; with an option `mode`, only when that is `replay`.
  case replay
  /// Looks at the response's status.
  case responseCode
  case parse
  case cacheRead
  case cacheWrite
  /// Sends hashes instead of documents.
  case persistedQueries
  /// Sends credentials, and renews them when they are refused.
  case authenticates
  /// May start the chain again.
  case restarts
  /// Bounds how often the chain is started again; retries mutations when its option `mutations` is
  /// `always`.
  case boundsRestarts
  /// Shows the fields of HTTP requests when its option `headers` is `true`.
  case logsHeaders
  /// Changes the fields of HTTP requests.
  case changesHeaders
}

extension PluginDescription {
  /// What is wrong with the description itself; empty for a good one.
  ///
  /// A registry refuses a plugin whose description has problems, so a test of the registry tests
  /// the tables.
  public var problems: [String] {
    var problems: [String] = []
    if !Self.isName(name, separator: "-") || ["id", "when"].contains(name) {
      problems.append("`\(name)` is not a name for a plugin")
    }
    if stages.isEmpty { problems.append("`\(name)` takes part in no stage") }
    if summary.isEmpty || summary.hasSuffix(".") {
      problems.append("the summary of `\(name)` is no sentence without a full stop")
    }
    return problems + Self.problems(of: options, in: name)
  }

  private static func problems(of options: [OptionDescription], in owner: String) -> [String] {
    var problems: [String] = []
    var names: Set<String> = []
    for option in options {
      let label = "`\(option.name)` of `\(owner)`"
      if !isName(option.name, separator: "_") { problems.append("\(label) is not in snake case") }
      if !names.insert(option.name).inserted { problems.append("\(label) is described twice") }
      if option.summary.isEmpty || option.summary.hasSuffix(".") {
        problems.append("the summary of \(label) is no sentence without a full stop")
      }
      if option.isRequired, option.defaultText != nil {
        problems.append("\(label) is required and has a default")
      }
      if case .object(let inner) = option.type {
        let innerProblems = Self.problems(of: inner, in: option.name)
        problems += innerProblems
        guard innerProblems.isEmpty else { continue }
      }
      let place = SourcePlace(file: "default", line: 1, column: 1)
      if let text = option.defaultText,
        OptionDecoder.defaultValue(of: option, text, place: place) == nil
      {
        problems.append("the default of \(label) is not \(option.type.expectation)")
      }
    }
    return problems
  }

  private static func isName(_ name: String, separator: Character) -> Bool {
    guard let first = name.first, first.isASCII, first.isLowercase else { return false }
    return name.allSatisfy {
      $0.isASCII && ($0.isLowercase || $0.isNumber) || $0 == separator
    } && name.last != separator
  }
}

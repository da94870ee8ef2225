/// The position of a plugin in a chain, and its requirements on other plugins.
///
/// ```swift
/// var placement: Placement {
///   .step(
///     .cache,
///     rules: [
///       .once(.writesCache, code: .cacheWrite, verb: "writes the cache"),
///       .requires(.store, code: .cacheWrite, message: "{self} has no store to write to", remedy: "add `store:
///       …`"), .below(.parses, code: .cacheWrite, reason: "before there is anything to write"),
///     ])
/// }
/// ```
/// `gqlrun pipeline check` reports every violated rule with its code, the line of the entry and the
/// rule's reason. A plugin computes its placement, so rules can depend on its options.
public struct Placement: Sendable {
  /// How a plugin acts on a request.
  public enum Kind: String, Sendable, Hashable {
    /// Surrounds everything below it: sees the request on its path down and the responses on their
    /// path up.
    case wrap
    /// Acts once, at its position.
    case step
  }

  /// Whether the plugin surrounds what is below it or acts once.
  public var kind: Kind
  /// The stages of the plugin; usually one.
  public var stages: [PluginStage]
  /// The rules about other plugins and about the pipeline file.
  public var rules: [PlacementRule]
  /// The code of the diagnostic for a plugin among those of another stage; `nil` if the rules cover
  /// that case.
  public var stageCode: PipelineDiagnostic.Code? = .stageOrder

  /// Creates a placement; `wrap(_:rules:)` and `step(_:rules:)` read better.
  public init(_ kind: Kind, stages: [PluginStage], rules: [PlacementRule] = []) {
    self.kind = kind
    self.stages = stages
    self.rules = rules
  }

  /// A plugin that surrounds what is below it.
  public static func wrap(_ stages: PluginStage..., rules: [PlacementRule] = []) -> Placement {
    Placement(.wrap, stages: stages, rules: rules)
  }

  /// A plugin that acts once.
  public static func step(_ stage: PluginStage, rules: [PlacementRule] = []) -> Placement {
    Placement(.step, stages: [stage], rules: rules)
  }

  /// The stages as text: "GraphQL and HTTP".
  public var stageText: String { stages.map(\.rawValue).joined(separator: " and ") }

  /// Whether all stages are HTTP or parsing.
  var isBelowCache: Bool { !stages.contains(.graphQL) && !stages.contains(.cache) }
}

/// The four stages of a chain, in their order.
public enum PluginStage: String, Sendable, Hashable, CaseIterable {
  /// Requests and results.
  case graphQL = "GraphQL"
  /// The store.
  case cache = "cache"
  /// HTTP messages.
  case http = "HTTP"
  /// Response bodies.
  case parsing = "parsing"
}

/// A part of a pipeline other than its chain, which rules can require.
public enum PipelineFeature: Sendable, Hashable {
  /// The key `endpoint`.
  case endpoint
  /// A store of any kind.
  case store
  /// A store that is empty when the program starts.
  case memoryStore
  /// A rule in `types` or `fields` that gives a `max_age`.
  case ages
}

/// One rule of a ``Placement``.
///
/// In texts, `{self}` is replaced by the name of the plugin's entry, and `{other}` by that of the
/// other entry.
public struct PlacementRule: Sendable {
  enum Condition: Sendable {
    /// The first entry with a trait of any of the sets, tried in order.
    case above([PluginTraits], moving: PluginTraits?)
    case below([PluginTraits])
    case belowAll(PluginTraits)
    case once(PluginTraits)
    case present(PluginTraits, atChain: Bool, only: PipelineFeature?)
    case feature(PipelineFeature)
  }

  let condition: Condition
  let code: PipelineDiagnostic.Code
  let text: String
  private(set) var remedy: String?
  private(set) var severity = PipelineDiagnostic.Severity.error

  /// The entry is above the first one that has `traits`.
  ///
  /// - Parameters:
  ///   - traits: The traits of the entry that must be below.
  ///   - target: The traits of the entry that the remedy names, if that is another one; the rule
  ///     then only applies to entries that are below both.
  ///   - code: The code of the diagnostic. Of several violated rules with one code, the first is
  ///     reported.
  ///   - reason: The problem of a position below it, as the end of a sentence: "too late to send
  ///     anything".
  public static func above(
    _ traits: PluginTraits, moving target: PluginTraits? = nil, code: PipelineDiagnostic.Code,
    reason: String
  ) -> PlacementRule {
    PlacementRule(
      condition: .above([traits], moving: target), code: code, text: reason)
  }

  /// The entry is below the first one that has `traits` or, when none has them, `alternative`.
  ///
  /// - Parameters:
  ///   - traits: The traits of the entry that must be above.
  ///   - alternative: The traits of that entry if none has `traits`; `nil` for none.
  ///   - code: The code of the diagnostic.
  ///   - reason: The problem of a position above it, as the end of a sentence.
  public static func below(
    _ traits: PluginTraits, or alternative: PluginTraits? = nil, code: PipelineDiagnostic.Code,
    reason: String
  ) -> PlacementRule {
    PlacementRule(
      condition: .below([traits] + [alternative].compactMap { $0 }), code: code, text: reason)
  }

  /// The entry is below all that have `traits`; otherwise there is a warning.
  ///
  /// - Parameters:
  ///   - traits: The traits of the entries that must be above.
  ///   - code: The code of the diagnostic.
  ///   - reason: The problem of a position above one, as the end of a sentence.
  ///   - remedy: What would work.
  public static func belowAll(
    _ traits: PluginTraits, code: PipelineDiagnostic.Code, reason: String, remedy: String
  ) -> PlacementRule {
    PlacementRule(
      condition: .belowAll(traits), code: code, text: reason, remedy: remedy, severity: .warning)
  }

  /// At most one entry of the chain has `traits`.
  ///
  /// - Parameters:
  ///   - traits: The traits of the entries.
  ///   - code: The code of the diagnostic.
  ///   - verb: The action, as the end of a sentence: "reads the cache".
  public static func once(
    _ traits: PluginTraits, code: PipelineDiagnostic.Code, verb: String
  ) -> PlacementRule {
    PlacementRule(
      condition: .once(traits), code: code, text: verb, remedy: "remove one of them")
  }

  /// An entry of the chain has at least one of `traits`.
  ///
  /// Not reported if the chain has an unknown plugin, which may be the missing one.
  ///
  /// - Parameters:
  ///   - traits: The traits, one of which an entry must have.
  ///   - feature: The feature of pipelines that the rule applies to; `nil` for all.
  ///   - atChain: Whether the diagnostic has the location of `chain` instead of the entry's.
  ///   - code: The code of the diagnostic.
  ///   - message: The message of the diagnostic.
  ///   - remedy: What would work.
  ///   - severity: The severity of the diagnostic; an error by default.
  public static func requires(
    _ traits: PluginTraits, with feature: PipelineFeature? = nil, atChain: Bool = false,
    code: PipelineDiagnostic.Code, message: String, remedy: String,
    severity: PipelineDiagnostic.Severity = .error
  ) -> PlacementRule {
    PlacementRule(
      condition: .present(traits, atChain: atChain, only: feature), code: code, text: message,
      remedy: remedy, severity: severity)
  }

  /// The pipeline has a feature.
  ///
  /// - Parameters:
  ///   - feature: The feature.
  ///   - code: The code of the diagnostic.
  ///   - message: The message of the diagnostic.
  ///   - remedy: What would work.
  ///   - severity: The severity of the diagnostic; an error by default.
  public static func requires(
    _ feature: PipelineFeature, code: PipelineDiagnostic.Code, message: String, remedy: String,
    severity: PipelineDiagnostic.Severity = .error
  ) -> PlacementRule {
    PlacementRule(
      condition: .feature(feature), code: code, text: message, remedy: remedy, severity: severity)
  }
}

/// Where in a chain a plugin belongs, and what it requires of the other plugins.
///
/// ```swift
/// var placement: Placement {
///   .step(
///     .cache,
///     rules: [
///       .once(.writesCache, .cacheWrite, "writes the cache"),
///       .requires(.store, .cacheWrite, "{self} has no store to write to", remedy: "add `store: …`"),
///       .below(.parses, .cacheWrite, "before there is anything to write"),
///     ])
/// }
/// ```
/// `gqlrun pipeline check` reports every violated rule with its code, the line of the entry and the
/// reason that the rule gives. A plugin computes its placement from its options, so a rule may depend
/// on them.
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
  /// The stages it takes part in; mostly one.
  public var stages: [PluginStage]
  /// The rules about other plugins and about the pipeline file.
  public var rules: [PlacementRule]
  /// The code of the diagnostic about a plugin among those of another stage; `nil` when the rules
  /// cover it.
  public var stageCode: PipelineDiagnostic.Code? = .stageOrder

  /// Creates a placement; `wrap(_:rules:)` and `step(_:rules:)` read better.
  public init(_ kind: Kind, _ stages: [PluginStage], _ rules: [PlacementRule] = []) {
    self.kind = kind
    self.stages = stages
    self.rules = rules
  }

  /// A plugin that surrounds what is below it.
  public static func wrap(_ stages: PluginStage..., rules: [PlacementRule] = []) -> Placement {
    Placement(.wrap, stages, rules)
  }

  /// A plugin that acts once.
  public static func step(_ stage: PluginStage, rules: [PlacementRule] = []) -> Placement {
    Placement(.step, [stage], rules)
  }

  /// The stages as a person reads them: "GraphQL and HTTP".
  public var stageText: String { stages.map(\.rawValue).joined(separator: " and ") }

  /// Whether the plugin takes part in the HTTP and parsing stages only.
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

/// What a pipeline file has besides its chain.
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
/// In the texts, `{self}` is the name of the plugin's entry, and `{other}` of the one the rule is
/// about.
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
  let remedy: String?
  let severity: PipelineDiagnostic.Severity

  /// The entry is above the first one that has `traits`.
  ///
  /// - Parameters:
  ///   - traits: Of the entry that must be below.
  ///   - target: Of the entry to move above, where that is another; the rule is only about entries
  ///     that are below both.
  ///   - code: Identifies the rule. Of the rules with one code, the first violated one is reported.
  ///   - reason: What goes wrong below it, as the end of a sentence: "too late to send anything".
  public static func above(
    _ traits: PluginTraits, moving target: PluginTraits? = nil, _ code: PipelineDiagnostic.Code,
    _ reason: String
  ) -> PlacementRule {
    PlacementRule(
      condition: .above([traits], moving: target), code: code, text: reason, remedy: nil,
      severity: .error)
  }

  /// The entry is below the first one that has `traits` or, when none has them, `alternative`.
  ///
  /// - Parameter reason: What goes wrong above it, as the end of a sentence.
  public static func below(
    _ traits: PluginTraits, or alternative: PluginTraits? = nil, _ code: PipelineDiagnostic.Code,
    _ reason: String
  ) -> PlacementRule {
    PlacementRule(
      condition: .below([traits] + [alternative].compactMap { $0 }), code: code, text: reason,
      remedy: nil, severity: .error)
  }

  /// The entry is below every one that has `traits`; otherwise there is a warning.
  ///
  /// - Parameter reason: What goes wrong above it, as the end of a sentence.
  public static func belowAll(
    _ traits: PluginTraits, _ code: PipelineDiagnostic.Code, _ reason: String, remedy: String
  ) -> PlacementRule {
    PlacementRule(
      condition: .belowAll(traits), code: code, text: reason, remedy: remedy, severity: .warning)
  }

  /// At most one entry of the chain has `traits`.
  ///
  /// - Parameter verb: What it does once: "reads the cache".
  public static func once(
    _ traits: PluginTraits, _ code: PipelineDiagnostic.Code, _ verb: String
  ) -> PlacementRule {
    PlacementRule(
      condition: .once(traits), code: code, text: verb, remedy: "remove one of them",
      severity: .error)
  }

  /// Some entry has at least one of `traits`.
  ///
  /// Not reported while the chain names an unknown plugin, which may be the one.
  ///
  /// - Parameters:
  ///   - atChain: Whether the diagnostic points at `chain` instead of the entry.
  ///   - feature: The rule holds only for pipelines that have it.
  public static func requires(
    _ traits: PluginTraits, with feature: PipelineFeature? = nil, atChain: Bool = false,
    _ code: PipelineDiagnostic.Code, _ message: String, remedy: String,
    severity: PipelineDiagnostic.Severity = .error
  ) -> PlacementRule {
    PlacementRule(
      condition: .present(traits, atChain: atChain, only: feature), code: code, text: message,
      remedy: remedy, severity: severity)
  }

  /// The pipeline has a feature besides its chain.
  public static func requires(
    _ feature: PipelineFeature, _ code: PipelineDiagnostic.Code, _ message: String, remedy: String,
    severity: PipelineDiagnostic.Severity = .error
  ) -> PlacementRule {
    PlacementRule(
      condition: .feature(feature), code: code, text: message, remedy: remedy, severity: severity)
  }
}

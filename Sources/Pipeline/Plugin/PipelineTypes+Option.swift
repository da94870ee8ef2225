public import GQLRunCache
public import Logging

// Types of the pipeline that options can have; files contain their raw values.

extension ChainError.Layer: ExpressibleByOption {}
extension Endpoint.Method: ExpressibleByOption {}
extension Endpoint.Subscriptions.Transport: ExpressibleByOption {}
extension ErrorPolicy: ExpressibleByOption {}
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
  public var optionDefaultText: String? { duration.optionText }

  /// Creates the value from an option.
  ///
  /// - Throws: `OptionError` if the option is not a duration.
  public init(option: OptionValue) throws(OptionError) {
    self.init(try Duration(option: option))
  }
}

extension CachePolicy: ExpressibleByOption {
  /// The names of all policies.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .choice(names) }

  /// Creates the policy from its name.
  ///
  /// - Throws: `OptionError` for an unknown name.
  public init(option: OptionValue) throws(OptionError) {
    let name = try String(option: option)
    guard let policy = CachePolicy(name: name) else {
      throw OptionError("`\(name)` is not a fetch policy")
    }
    self = policy
  }
}

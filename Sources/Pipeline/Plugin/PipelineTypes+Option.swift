public import GQLRunCache
public import Logging

// Types of the pipeline that options have; their raw values are the words of a file.

extension ChainError.Layer: ExpressibleByOption {}
extension Endpoint.Method: ExpressibleByOption {}
extension ErrorPolicy: ExpressibleByOption {}
extension Logger.Level: ExpressibleByOption {}
extension TLSSettings.Version: ExpressibleByOption {}

/// An age of records, in whole seconds: `5m`.
public struct RecordAge: Sendable, Hashable, ExpressibleByOption {
  /// The age, in whole seconds.
  public var duration: Duration

  /// Creates an age.
  public init(_ duration: Duration) {
    self.duration = duration
  }

  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { PipelineFile.maxAge }
  public static var unsetOption: RecordAge { RecordAge(.zero) }
  public var optionDefaultText: String? { duration.optionText }

  public init(option: OptionValue) throws(OptionError) {
    self.init(try Duration(option: option))
  }
}

extension CachePolicy: ExpressibleByOption {
  /// The names of all vocabularies.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .choice(names) }

  public init(option: OptionValue) throws(OptionError) {
    let name = try String(option: option)
    guard let policy = CachePolicy(name: name) else {
      throw OptionError("`\(name)` is not a fetch policy")
    }
    self = policy
  }
}

import GQLRunSupport

/// The options of a group, described when they are first needed.
///
/// A file names few of the groups that its options could have, and describing all of them is a tenth of the work of a
/// short run.
public final class OptionTable: Sendable {
  private let describe: @Sendable () -> [OptionDescription]
  private let known = Locked<[OptionDescription]?>(nil)

  /// Creates a table.
  ///
  /// - Parameter options: The options, in the order of their declarations; evaluated once, or twice if two tasks need
  ///   them at the same time.
  public init(_ options: @autoclosure @escaping @Sendable () -> [OptionDescription]) {
    describe = options
  }

  /// The options, in the order of their declarations.
  public var options: [OptionDescription] {
    if let known = known.withLock({ $0 }) { return known }
    let options = describe()
    known.withLock { $0 = options }
    return options
  }
}

extension OptionTable: Hashable {
  /// Whether the tables have the same options.
  public static func == (one: OptionTable, other: OptionTable) -> Bool {
    one === other || one.options == other.options
  }

  /// Hashes the options.
  public func hash(into hasher: inout Hasher) { hasher.combine(options) }
}

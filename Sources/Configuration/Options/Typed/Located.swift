/// A value of an option with its source location: `@Option("…") var paths: [Located<String>] = []`.
///
/// For elements of lists and values of maps; the location of an option itself is
/// ``OptionProperty/location``.
@dynamicMemberLookup
public struct Located<Value: Sendable>: Sendable {
  /// The value.
  public var value: Value
  /// The source location of the value.
  public var location: FileLocation

  /// Creates a value with its source location; without one, a default.
  public init(
    _ value: Value, at location: FileLocation = FileLocation(file: "", line: 1, column: 1)
  ) {
    self.value = value
    self.location = location
  }

  /// A property of the value.
  public subscript<Member>(dynamicMember member: KeyPath<Value, Member>) -> Member {
    value[keyPath: member]
  }
}

extension Located: ExpressibleByOption where Value: ExpressibleByOption {
  /// The bounds of the value.
  public typealias OptionBound = Value.OptionBound

  public static func optionType(in range: ClosedRange<OptionBound>?) -> OptionType {
    Value.optionType(in: range)
  }
  public static var unsetOption: Self { Located(.unsetOption) }
  public static var optionSecrecy: OptionSecrecy { Value.optionSecrecy }
  /// Those of the value.
  public var optionGroups: [NestedOptions] { value.optionGroups }
  public var optionDefaultText: String? { value.optionDefaultText }

  public init(option: OptionValue) throws(OptionError) {
    self.init(try Value(option: option), at: option.location)
  }
}

/// Any YAML, with the source location of each part. Nothing in it is expanded.
package struct OptionNode: ExpressibleByOption {
  /// The node of the file.
  package var node: YAMLNode

  package static func optionType(in range: ClosedRange<Never>?) -> OptionType { .json }
  package static var unsetOption: OptionNode {
    let start = FileLocation(file: "", line: 1, column: 1)
    return OptionNode(node: YAMLNode(content: .scalar("", isPlain: true), location: start))
  }
  /// `nil`: only a file has nodes.
  package var optionDefaultText: String? { nil }

  package init(node: YAMLNode) {
    self.node = node
  }

  package init(option: OptionValue) throws(OptionError) {
    guard let node = option.node else { throw .mismatch(Self.self) }
    self.init(node: node)
  }
}

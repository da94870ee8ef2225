public import GQLRunJSON

/// The decoded options of an entry: complete, typed and within their bounds.
///
/// Each type has two accessors: `duration("timeout")` for an option that is required or has a
/// default, `duration(ifGiven: "timeout")` for one that may be unset. An option that the table does
/// not have, or that has another type, is a precondition failure.
public struct PluginOptions: Sendable {
  /// The values by name, in the order of the table, without unset options.
  public private(set) var values: [(name: String, value: OptionValue)]
  /// The names of all options, including unset ones.
  private let known: Set<String>
  /// The source location of the options, or of the plugin if the file sets none.
  public let location: FileLocation

  init(values: [(name: String, value: OptionValue)], known: Set<String>, location: FileLocation) {
    self.values = values
    self.known = known
    self.location = location
  }

  /// The value of an option; `nil` if it is unset.
  public subscript(name: String) -> OptionValue? {
    precondition(known.contains(name), "the plugin has no option `\(name)`")
    return values.first { $0.name == name }?.value
  }

  /// The source location of an option, or of the plugin if the file does not set the option.
  ///
  /// - Parameter path: The option's name; a dotted path for members of groups and maps and, by
  ///   index, elements of lists: `rules.0.message`.
  public func location(of path: String) -> FileLocation {
    var rest = path.split(separator: ".").map(String.init)[...]
    guard let name = rest.popFirst(), var value = values.first(where: { $0.name == name })?.value
    else { return location }
    while let name = rest.popFirst() {
      let inner: OptionValue? =
        switch value.content {
        case .object(let options): options.values.first { $0.name == name }?.value
        case .list(let elements):
          Int(name).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
        case .map(let entries): entries.first { $0.name == name }?.value
        default: nil
        }
      guard let inner, !inner.isDefault else { break }
      value = inner
    }
    return value.location
  }

  /// Whether a value depends on a command that was not run.
  package var isUnresolved: Bool {
    values.contains { $0.value.isUnresolved }
  }
}

extension PluginOptions {
  /// The Boolean of an option that always has a value.
  public func bool(_ name: String) -> Bool { given(name, bool(ifGiven: name)) }
  /// The integer of an option that always has a value.
  public func int(_ name: String) -> Int { given(name, int(ifGiven: name)) }
  /// The number of an option that always has a value.
  public func double(_ name: String) -> Double { given(name, double(ifGiven: name)) }
  /// The text of an option that always has a value: text, a path, or the word of a choice.
  public func string(_ name: String) -> String { given(name, string(ifGiven: name)) }
  /// The template of an option that always has a value.
  public func template(_ name: String) -> Template { given(name, template(ifGiven: name)) }
  /// The duration of an option that always has a value.
  public func duration(_ name: String) -> Duration { given(name, duration(ifGiven: name)) }
  /// The size of an option that always has a value.
  public func size(_ name: String) -> ByteSize { given(name, size(ifGiven: name)) }
  /// The share of an option that always has a value, from 0 to 1.
  public func percentage(_ name: String) -> Double { given(name, percentage(ifGiven: name)) }
  /// The section of an option that always has a value.
  public func object(_ name: String) -> PluginOptions { given(name, object(ifGiven: name)) }
  /// The secret of an option that always has a value.
  public func secret(_ name: String) -> SecretString { given(name, secret(ifGiven: name)) }
  /// The choice, as a case of an enumeration whose raw values are the option's choices.
  public func choice<Choice: RawRepresentable<String>>(
    _ name: String, as type: Choice.Type = Choice.self
  ) -> Choice {
    given(name, choice(ifGiven: name))
  }
}

extension PluginOptions {
  /// The Boolean of an option; `nil` if it is not set.
  public func bool(ifGiven name: String) -> Bool? {
    read(name) { if case .bool(let value) = $0 { value } else { nil } }
  }

  /// The integer of an option; `nil` if it is not set.
  public func int(ifGiven name: String) -> Int? {
    read(name) { if case .int(let value) = $0 { value } else { nil } }
  }

  /// The number of an option; `nil` if it is not set.
  public func double(ifGiven name: String) -> Double? {
    read(name) { if case .double(let value) = $0 { value } else { nil } }
  }

  /// The text of an option: text, a path relative to the working directory, or the word of a
  /// choice; `nil` if it is not set.
  public func string(ifGiven name: String) -> String? {
    read(name) { if case .string(let value) = $0 { value } else { nil } }
  }

  /// The template of an option; `nil` if it is not set.
  public func template(ifGiven name: String) -> Template? {
    read(name) { if case .template(let value) = $0 { value } else { nil } }
  }

  /// The duration of an option; `nil` if it is not set.
  public func duration(ifGiven name: String) -> Duration? {
    read(name) { if case .duration(let value) = $0 { value } else { nil } }
  }

  /// The size of an option; `nil` if it is not set.
  public func size(ifGiven name: String) -> ByteSize? {
    read(name) { if case .size(let value) = $0 { value } else { nil } }
  }

  /// The share of an option, from 0 to 1; `nil` if it is not set.
  public func percentage(ifGiven name: String) -> Double? {
    read(name) { if case .percentage(let value) = $0 { value } else { nil } }
  }

  /// The JSON value of an option; `nil` if it is not set.
  public func json(ifGiven name: String) -> JSONValue? {
    read(name) { if case .json(let value) = $0 { value } else { nil } }
  }

  /// The section of an option; `nil` if it is not set.
  public func object(ifGiven name: String) -> PluginOptions? {
    read(name) { if case .object(let value) = $0 { value } else { nil } }
  }

  /// The secret of an option; `nil` if it is not set.
  public func secret(ifGiven name: String) -> SecretString? {
    string(ifGiven: name).map(SecretString.init)
  }

  /// The choice as a case of an enumeration; `nil` if the option is not set.
  public func choice<Choice: RawRepresentable<String>>(
    ifGiven name: String, as type: Choice.Type = Choice.self
  ) -> Choice? {
    string(ifGiven: name).map {
      guard let choice = Choice(rawValue: $0) else {
        preconditionFailure("`\(Choice.self)` has no case for a choice of `\(name)`")
      }
      return choice
    }
  }

  /// The elements of a list of text, paths or choices; empty when unset.
  public func strings(_ name: String) -> [String] {
    list(name) { if case .string(let value) = $0 { value } else { nil } }
  }

  /// The elements of a list of integers; empty when unset.
  public func ints(_ name: String) -> [Int] {
    list(name) { if case .int(let value) = $0 { value } else { nil } }
  }

  /// The elements of a list of objects; empty when unset.
  public func objects(_ name: String) -> [PluginOptions] {
    list(name) { if case .object(let value) = $0 { value } else { nil } }
  }

  /// The entries of a map of text, in the order of the file; empty when unset.
  public func stringMap(_ name: String) -> [(name: String, value: String)] {
    map(name) { if case .string(let value) = $0 { value } else { nil } }
  }

  /// The entries of a map of lists of text; empty when unset.
  public func stringListMap(_ name: String) -> [(name: String, value: [String])] {
    map(name) {
      guard case .list(let elements) = $0 else { return nil }
      return elements.compactMap {
        if case .string(let value) = $0.content { value } else { nil }
      }
    }
  }

  /// The entries of a map of integers, in the order of the file; empty when unset.
  public func intMap(_ name: String) -> [(name: String, value: Int)] {
    map(name) { if case .int(let value) = $0 { value } else { nil } }
  }

  /// The entries of a map of templates; empty when unset.
  public func templateMap(_ name: String) -> [(name: String, value: Template)] {
    map(name) { if case .template(let value) = $0 { value } else { nil } }
  }
}

extension PluginOptions {
  private func given<Value>(_ name: String, _ value: Value?) -> Value {
    guard let value else {
      preconditionFailure("option `\(name)` may be unset: use `ifGiven:`, or give it a default")
    }
    return value
  }

  private func read<Value>(
    _ name: String, _ extract: (OptionValue.Content) -> Value?
  ) -> Value? {
    // Only checks have unresolved values; no interceptor is created from them.
    self[name].flatMap { $0.isUnknown ? nil : extracted(name, $0, extract) }
  }

  private func list<Value>(
    _ name: String, _ extract: (OptionValue.Content) -> Value?
  ) -> [Value] {
    guard let value = self[name], !value.isUnknown else { return [] }
    guard case .list(let elements) = value.content else {
      preconditionFailure("option `\(name)` is not described as a list")
    }
    return elements.filter { !$0.isUnknown }.map { extracted(name, $0, extract) }
  }

  private func map<Value>(
    _ name: String, _ extract: (OptionValue.Content) -> Value?
  ) -> [(name: String, value: Value)] {
    guard let value = self[name], !value.isUnknown else { return [] }
    guard case .map(let entries) = value.content else {
      preconditionFailure("option `\(name)` is not described as a map")
    }
    return entries.filter { !$0.value.isUnknown }
      .map { ($0.name, extracted(name, $0.value, extract)) }
  }

  private func extracted<Value>(
    _ name: String, _ value: OptionValue, _ extract: (OptionValue.Content) -> Value?
  ) -> Value {
    guard let result = extract(value.content) else {
      preconditionFailure("option `\(name)` is not described as \(Value.self)")
    }
    return result
  }
}

import GQLRunJSON

/// An option of a plugin or of an ``OptionSection``: `@Option(0...24, "How many …") var maxRetries
/// = 3`.
///
/// The declaration defines the whole option. Its name in a file is the
/// property's in snake case (`max_retries`), its type the property's type, its default the
/// property's initial value. A property with neither an initial value nor an optional type is
/// required.
///
/// `$maxRetries` is the declaration itself: ``isGiven``, ``name``, ``location``, ``error(_:remedy:)``.
@propertyWrapper
public struct OptionProperty<Value: Sendable>: Codable, Sendable {
  /// The value of the option.
  public var wrappedValue: Value
  /// The declaration, as `$name`.
  public var projectedValue: OptionProperty<Value> { self }

  /// What the option does, in one sentence without a full stop.
  public let summary: String
  /// The name in a file; empty in a value that was not decoded from one.
  public private(set) var name = ""
  /// Whether a file sets the option.
  public private(set) var isGiven = false
  /// The source location of the value; that of the section if the file does not set the option, or
  /// gives a value of another form.
  public private(set) var location = FileLocation(file: "")
  /// The source location of the option's key; that of the section if the file does not set the
  /// option, or gives a value of another form.
  public private(set) var keyLocation = FileLocation(file: "")
  /// Whether the value is that of the file or the default; `false` if a required value is missing, or
  /// the value of the file is invalid or unknown.
  public private(set) var isUsable = true
  private let secrecy: OptionSecrecy
  let isRequired: Bool
  private let form: OptionForm<Value>

  /// Always throws: only pipeline files can be decoded, not other formats.
  public init(from decoder: any Decoder) throws {
    throw DecodingError.dataCorrupted(
      .init(
        codingPath: decoder.codingPath,
        debugDescription: "options are only decoded from YAML files"))
  }

  /// Always throws: options are not encoded.
  public func encode(to encoder: any Encoder) throws {
    guard let collector = encoder as? OptionCollector else {
      throw EncodingError.invalidValue(
        self, .init(codingPath: encoder.codingPath, debugDescription: "options are not encoded"))
    }
    collector.collect(self)
  }

  /// Creates an error with the option's source location.
  ///
  /// - Parameters:
  ///   - message: What is wrong, without the value, which may be secret.
  ///   - remedy: What would work.
  public func error(_ message: String, remedy: String? = nil) -> OptionError {
    OptionError(option: name, message, remedy: remedy)
  }
}

extension OptionProperty where Value: ExpressibleByOption {
  /// Creates an option with a default and bounds.
  ///
  /// - Parameters:
  ///   - wrappedValue: The default.
  ///   - range: The smallest and the largest value; for a list or map, of its elements.
  ///   - summary: What the option does, in one sentence without a full stop.
  ///   - secrecy: Whether values may be shown; that of the type by default.
  public init(
    wrappedValue: Value, _ range: ClosedRange<Value.OptionBound>, _ summary: String,
    secrecy: OptionSecrecy? = nil
  ) {
    self.init(wrappedValue, range: range, summary: summary, secrecy: secrecy, isRequired: false)
  }

  /// Creates an option with a default and without bounds.
  public init(wrappedValue: Value, _ summary: String, secrecy: OptionSecrecy? = nil) {
    self.init(wrappedValue, range: nil, summary: summary, secrecy: secrecy, isRequired: false)
  }

  /// Creates an option with bounds and without a default: optional if its type is, otherwise
  /// required.
  public init(
    _ range: ClosedRange<Value.OptionBound>, _ summary: String, secrecy: OptionSecrecy? = nil
  ) {
    self.init(
      .unsetOption, range: range, summary: summary, secrecy: secrecy,
      isRequired: !Value.isOptionalOption)
  }

  /// Creates an option without a default and without bounds.
  public init(_ summary: String, secrecy: OptionSecrecy? = nil) {
    self.init(
      .unsetOption, range: nil, summary: summary, secrecy: secrecy,
      isRequired: !Value.isOptionalOption)
  }

  private init(
    _ value: Value, range: ClosedRange<Value.OptionBound>?, summary: String,
    secrecy: OptionSecrecy?, isRequired: Bool
  ) {
    wrappedValue = value
    form = OptionForm(in: range)
    self.summary = summary
    self.secrecy = secrecy ?? Value.optionSecrecy
    self.isRequired = isRequired
  }
}

/// The form of an option in a file, and its values.
///
/// ``OptionProperty`` has its functions and not the constraint `Value: ExpressibleByOption`: to create a type such as
/// `OptionProperty<Int?>` with a constraint, the Swift runtime scans all conformances of the program.
private final class OptionForm<Value: Sendable>: Sendable {
  let type: @Sendable () -> OptionType
  let read: @Sendable (GivenOption) throws(OptionError) -> Value
  let json: @Sendable (Value) -> JSONValue?
  let validate: @Sendable (Value) throws(OptionError) -> Void

  init(in range: ClosedRange<Value.OptionBound>?) where Value: ExpressibleByOption {
    type = { Value.optionType(in: range) }
    read = { option throws(OptionError) in try Value(option: option) }
    json = { $0.optionDefault }
    validate = { value throws(OptionError) in try value.validateGroups() }
  }
}

/// Prints the name only: the value may be secret, or contain an expanded secret.
extension OptionProperty: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The name, without the value.
  public var description: String { "option \(name)" }
  /// The name, without the value.
  public var debugDescription: String { description }
  /// A mirror without children, so that `dump` shows no value.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// An ``OptionProperty`` of any type, as found by an ``OptionCollector``.
protocol AnyOptionProperty {
  /// Whether a file must set the option.
  var isRequired: Bool { get }
  /// Whether a file sets the option.
  var isGiven: Bool { get }
  /// Whether the value is that of the file or the default.
  var isUsable: Bool { get }

  func description(named name: String) -> OptionDescription
  func read(from section: OptionSectionReader, named name: String) -> Self
  func validate(named name: String) throws(OptionError)
}

extension OptionProperty: AnyOptionProperty {
  private var defaultValue: JSONValue? { isRequired ? nil : form.json(wrappedValue) }

  func description(named name: String) -> OptionDescription {
    var description = OptionDescription(
      name, type: form.type(), default: defaultValue, required: isRequired, secrecy: secrecy,
      summary: summary)
    description.hasValidDefault = hasValidDefault
    return description
  }

  /// Whether a file may write the default.
  private var hasValidDefault: Bool {
    guard let defaultValue else { return true }
    let decoder = OptionDecoder(folder: ".", environment: PipelineFileEnvironment())
    let node = YAMLNode(defaultValue, at: location)
    _ = try? form.read(
      GivenOption(
        node: node, type: form.type(), label: name, name: name, secrecy: secrecy, noun: "option",
        decoder: decoder))
    return decoder.findings.isEmpty
  }

  /// The property with the value of the file; unchanged if that is invalid.
  func read(from section: OptionSectionReader, named name: String) -> Self {
    let member = section.member(name)
    var property = self
    property.name = name
    property.location = member?.value.location ?? section.location
    property.keyLocation = member?.keyLocation ?? section.location
    property.isGiven = member != nil
    if let member {
      property.take(member.value, from: section)
    } else if isRequired {
      property.isUsable = false
      section.reportMissing(name, form.type())
    } else if case .object = form.type(), defaultValue != nil {
      // The options of the group get their names and locations.
      property.take(YAMLNode(emptyAt: section.location), from: section)
    }
    return property
  }

  private mutating func take(_ node: YAMLNode, from section: OptionSectionReader) {
    do throws(OptionError) {
      wrappedValue = try form.read(
        section.option(node, named: name, type: form.type(), secrecy: secrecy))
    } catch {
      let decoder = section.decoder
      if error.cause == .reported { (location, keyLocation) = (section.location, section.location) }
      // A file that is only inspected has the default for a value that is not known.
      isUsable =
        error.cause == .unknown && decoder.environment.showsPlaceholders && defaultValue != nil
      if error.cause == .unknown, !isUsable { decoder.gaps += 1 }
      section.append(error.within(name))
    }
  }

  /// Checks the groups in the value.
  func validate(named name: String) throws(OptionError) {
    do throws(OptionError) { try form.validate(wrappedValue) } catch { throw error.within(name) }
  }
}

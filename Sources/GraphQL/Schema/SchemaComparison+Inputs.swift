/// What documents give to a server: arguments, fields of input objects, directives.
extension SchemaComparison {
  // MARK: - Arguments and input fields

  mutating func compareArguments(
    _ coordinate: String, _ before: NamedList<InputValueDefinition>,
    _ after: NamedList<InputValueDefinition>
  ) {
    for argument in before where after[argument.name.value] == nil {
      subject = "\(coordinate)(\(argument.name.value):)"
      report(.argumentRemoved, "\(coordinate) arg \(argument.name.value) was removed.")
    }
    for argument in before {
      guard let other = after[argument.name.value] else { continue }
      subject = "\(coordinate)(\(argument.name.value):)"
      compare(argument, other, "\(coordinate) arg \(argument.name.value)", .argument)
    }
    for argument in after where before[argument.name.value] == nil {
      let name = argument.name.value
      subject = "\(coordinate)(\(name):)"
      if argument.isRequired {
        report(.requiredArgumentAdded, "A required arg \(name) on \(coordinate) was added.")
      } else {
        report(.optionalArgumentAdded, "An optional arg \(name) on \(coordinate) was added.")
      }
    }
  }

  // MARK: - Directives

  mutating func compareDirectives() {
    for name in old.directiveNamesInOrder {
      guard let before = old.directiveDefinitions[name] else { continue }
      subject = "@\(name)"
      guard let after = new.directiveDefinitions[name] else {
        report(.directiveRemoved, "\(name) was removed.")
        continue
      }
      compare(before, after)
    }
    for name in new.directiveNamesInOrder where old.directiveDefinitions[name] == nil {
      subject = "@\(name)"
      report(.directiveAdded, "\(name) was added.")
    }
  }

  private mutating func compare(_ before: DirectiveDefinition, _ after: DirectiveDefinition) {
    let name = before.name.value
    for argument in after.arguments where before.argument(named: argument.name.value) == nil {
      let argumentName = argument.name.value
      subject = "@\(name)(\(argumentName):)"
      if argument.isRequired {
        report(
          .requiredDirectiveArgumentAdded,
          "A required arg \(argumentName) on directive \(name) was added.")
      } else {
        report(
          .optionalDirectiveArgumentAdded,
          "An optional arg \(argumentName) on directive \(name) was added.")
      }
    }
    for argument in before.arguments where after.argument(named: argument.name.value) == nil {
      subject = "@\(name)(\(argument.name.value):)"
      report(.directiveArgumentRemoved, "\(argument.name.value) was removed from \(name).")
    }
    for argument in before.arguments {
      guard let other = after.argument(named: argument.name.value) else { continue }
      subject = "@\(name)(\(argument.name.value):)"
      compare(argument, other, "@\(name) arg \(argument.name.value)", .directiveArgument)
    }
    subject = "@\(name)"
    if before.isRepeatable, !after.isRepeatable {
      report(.directiveRepeatableRemoved, "Repeatable flag was removed from \(name).")
    } else if after.isRepeatable, !before.isRepeatable {
      report(.directiveRepeatableAdded, "Repeatable flag was added to \(name).")
    }
    for location in before.locations where !after.locations.contains(location) {
      report(.directiveLocationRemoved, "\(location.rawValue) was removed from \(name).")
    }
    for location in after.locations where !before.locations.contains(location) {
      report(.directiveLocationAdded, "\(location.rawValue) was added to \(name).")
    }
    compareDescriptions(before.description?.value, after.description?.value, "@\(name)")
  }

  // MARK: - Input values

  /// Where an input value is declared: which kinds its changes have, and how they are worded.
  struct InputPosition {
    var typeChanged: SchemaChange.Kind
    var typeChangedSafely: SchemaChange.Kind
    var typeVerb: String
    var defaultChanged: SchemaChange.Kind
    var defaultAdded: SchemaChange.Kind
    var becameRequired: SchemaChange.Kind

    static let argument = InputPosition(
      typeChanged: .argumentChangedKind, typeChangedSafely: .argumentChangedKindSafe,
      typeVerb: "has changed type", defaultChanged: .argumentDefaultValueChange,
      defaultAdded: .argumentDefaultValueAdded, becameRequired: .argumentBecameRequired)
    static let inputField = InputPosition(
      typeChanged: .fieldChangedKind, typeChangedSafely: .fieldChangedKindSafe,
      typeVerb: "changed type", defaultChanged: .inputFieldDefaultValueChange,
      defaultAdded: .inputFieldDefaultValueAdded, becameRequired: .inputFieldBecameRequired)
    static let directiveArgument = InputPosition(
      typeChanged: .directiveArgumentChangedKind,
      typeChangedSafely: .directiveArgumentChangedKindSafe, typeVerb: "has changed type",
      defaultChanged: .directiveArgumentDefaultValueChange,
      defaultAdded: .directiveArgumentDefaultValueAdded,
      becameRequired: .directiveArgumentBecameRequired)
  }

  /// Compares an input value that both versions have.
  mutating func compare(
    _ before: InputValueDefinition, _ after: InputValueDefinition, _ coordinate: String,
    _ position: InputPosition
  ) {
    let isSafe = before.type.isSafeAsInput(after.type)
    if !before.type.isSameType(as: after.type) {
      report(
        isSafe ? position.typeChangedSafely : position.typeChanged,
        "\(coordinate) \(position.typeVerb) from \(before.type.printed()) to \(after.type.printed())."
      )
    }
    if isSafe {
      let value = old.defaultValue(of: before)?.sorted.printed()
      let other = new.defaultValue(of: after)?.sorted.printed()
      switch (value, other) {
      case (let value?, let other?) where value != other:
        report(
          position.defaultChanged,
          "\(coordinate) has changed defaultValue from \(value) to \(other).")
      // Documents that leave it out were valid, and are no longer.
      case (_?, nil) where after.isRequired:
        report(
          position.becameRequired, "\(coordinate) defaultValue was removed, so a value is required."
        )
      case (_?, nil):
        report(position.defaultChanged, "\(coordinate) defaultValue was removed.")
      case (nil, let other?):
        report(position.defaultAdded, "\(coordinate) defaultValue \(other) was added.")
      default:
        break
      }
    }
    compareDescriptions(before.description?.value, after.description?.value, coordinate)
    compareDeprecations(before.deprecationReason, after.deprecationReason, coordinate)
  }
}

extension TypeReference {
  /// Whether an argument may change to `other`: values of this type are of that one too.
  fileprivate func isSafeAsInput(_ other: TypeReference) -> Bool {
    switch (self, other) {
    case (.nonNull(let inner), .nonNull(let otherInner)): inner.isSafeAsInput(otherInner)
    case (.nonNull(let inner), _): inner.isSafeAsInput(other)
    case (_, .nonNull): false
    case (.list(let inner, _), .list(let otherInner, _)): inner.isSafeAsInput(otherInner)
    case (.named(let name), .named(let otherName)): name.value == otherName.value
    default: false
    }
  }
}

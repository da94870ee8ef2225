import GQLRunLanguage

/// A field of which `@catch` or `@catchByDefault` decides what its type has for errors.
struct CaughtField {
  /// One level of the field: the field itself, the elements of its list, and so on.
  private struct Level {
    /// Whether the schema has `!` there.
    var isNonNull: Bool
    /// Whether a null without an error breaks the schema's promise.
    var isPresent: Bool
    var target: CatchTarget?
  }

  private let levels: [Level]
  /// The type in the schema with what it promises about nulls, for messages.
  let schemaType: String
  /// Whether a part of the Swift type is a `Result`.
  var hasResult: Bool { levels.contains { $0.target == .result } }

  /// Creates the description of a selected field; `nil` if nothing catches its errors.
  ///
  /// - Parameters:
  ///   - field: The field in the document.
  ///   - definition: The field in the schema.
  ///   - semantic: The levels at which it is semantically non-null.
  ///   - standard: The target of nullable positions without `@catch`.
  init?(
    _ field: Field, _ definition: FieldDefinition, semantic: Set<Int>,
    default standard: CatchTarget?
  ) {
    let directive = CatchDirective(field.directives)
    guard directive != nil || standard != nil else { return nil }
    var levels: [Level] = []
    var type: TypeReference? = definition.type
    while let current = type {
      let isNonNull = current.isNonNull
      let number = levels.count
      let own = directive.flatMap { $0.levels.contains(number) ? $0.target : nil }
      levels.append(
        Level(
          isNonNull: isNonNull, isPresent: isNonNull || semantic.contains(number),
          target: own ?? (isNonNull ? nil : standard)))
      type = current.element
    }
    guard levels.contains(where: { $0.target != nil }) else { return nil }
    self.levels = levels
    let promised = semantic.filter(levels.indices.contains).sorted()
    let arguments = promised == [0] ? "" : "(levels: \(promised))"
    schemaType =
      definition.type.printed() + (promised.isEmpty ? "" : " @semanticNonNull\(arguments)")
  }

  /// The type in Swift, with `base` for the named type.
  func swift(_ base: String) -> String {
    levels.reversed().enumerated().reduce(base) { inner, next in
      let (depth, level) = next
      let type = depth == 0 ? inner : "[\(inner)]"
      return switch level.target {
      case nil: level.isNonNull ? type : "\(type)?"
      case .null: "\(type)?"
      case .result: "Result<\(level.isPresent ? type : "\(type)?"), FieldError>"
      case .thrown: level.isPresent ? type : "\(type)?"
      }
    }
  }

  /// The expression that reads the value from `$0`, a `ValueReader`.
  ///
  /// Levels below the last one with a target need none: Swift infers how to read them.
  var reading: String {
    let last = levels.lastIndex { $0.target != nil } ?? 0
    var inner = ""
    for level in levels[...last].reversed() {
      // What reads the value at this level, if it is there.
      var value = inner.isEmpty ? "" : "try $0.array { \(inner) }"
      // `nullOnError` reads a null itself.
      let isOptional =
        level.target == nil ? !level.isNonNull : !level.isPresent && level.target != .null
      if !value.isEmpty, isOptional { value = "try $0.optional { \(value) }" }
      let call =
        switch level.target {
        case nil: ""
        case .null: "try $0.nullOnError"
        case .result: "try $0.result"
        case .thrown: "try $0.throwing"
        }
      inner = call.isEmpty ? value : call + (value.isEmpty ? "()" : " { \(value) }")
    }
    return inner
  }
}

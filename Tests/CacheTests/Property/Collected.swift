import GQLRunJSON
import GQLRunLanguage

@testable import GQLRunCache

/// One response key of an object, with everything selected below it.
struct CollectedField {
  var key: String
  var name: String
  var storedKey: String
  var selections: [SelectionSet]
}

/// Reads a document the slow way: which fields an object of a type has.
///
/// https://spec.graphql.org/September2025/#CollectFields()
struct FieldCollector {
  let document: Document
  let variables: JSONObject
  let schema: RandomSchema

  /// - Parameter text: A document of the operation: what is sent, or what its author wrote.
  init(parsing text: String, of operation: PreparedOperation, schema: RandomSchema) throws {
    document = try Document(parsing: text)
    variables = operation.variables
    self.schema = schema
  }

  var root: SelectionSet {
    document.operations.first?.selectionSet
      ?? SelectionSet(selections: [], location: SourceLocation(line: 0, column: 0, offset: 0))
  }

  func fields(of sets: [SelectionSet], type: String) -> [CollectedField] {
    var result: [CollectedField] = []
    for set in sets { collect(set, type: type, into: &result) }
    return result
  }

  private func collect(
    _ set: SelectionSet, type: String, into result: inout [CollectedField]
  ) {
    for selection in set.selections {
      switch selection {
      case .field(let field):
        guard isIncluded(field.directives) else { continue }
        let key = field.alias?.value ?? field.name.value
        if let index = result.firstIndex(where: { $0.key == key }) {
          if let inner = field.selectionSet { result[index].selections.append(inner) }
          continue
        }
        result.append(
          CollectedField(
            key: key, name: field.name.value, storedKey: storedKey(field),
            selections: field.selectionSet.map { [$0] } ?? []))
      case .inlineFragment(let fragment):
        guard isIncluded(fragment.directives), applies(fragment.typeCondition?.value, type) else {
          continue
        }
        collect(fragment.selectionSet, type: type, into: &result)
      case .fragmentSpread(let spread):
        guard isIncluded(spread.directives),
          let fragment = document.fragments.first(where: { $0.name.value == spread.name.value }),
          applies(fragment.typeCondition.value, type)
        else { continue }
        collect(fragment.selectionSet, type: type, into: &result)
      }
    }
  }

  func applies(_ condition: String?, _ type: String) -> Bool {
    guard let condition else { return true }
    return condition == type || schema.possibleTypes(condition).contains(type)
  }

  func isIncluded(_ directives: [Directive]) -> Bool {
    for directive in directives {
      var flag = false
      switch directive.arguments.first?.value {
      case .boolean(let value, _): flag = value
      case .variable(let name): flag = variables[name.value] == .boolean(true)
      default: break
      }
      if directive.name.value == "skip" && flag { return false }
      if directive.name.value == "include" && !flag { return false }
    }
    return true
  }

  func storedKey(_ field: Field) -> String {
    var arguments = JSONObject()
    for argument in field.arguments {
      if let value = value(argument.value) { arguments[argument.name.value] = value }
    }
    if arguments.isEmpty { return field.name.value }
    return "\(field.name.value)(\(JSONValue.object(arguments).canonicalText))"
  }

  private func value(_ literal: Value) -> JSONValue? {
    switch literal {
    case .variable(let name): return variables[name.value]
    case .int(let text, _), .float(let text, _): return JSONNumber(text: text).map { .number($0) }
    case .string(let string): return .string(string.value)
    case .boolean(let flag, _): return .boolean(flag)
    case .null: return .null
    case .enumeration(let name): return .string(name.value)
    case .list(let values, _): return .array(values.map { value($0) ?? .null })
    case .object(let fields, _):
      var object = JSONObject()
      for field in fields {
        if let value = value(field.value) { object[field.name.value] = value }
      }
      return .object(object)
    }
  }
}

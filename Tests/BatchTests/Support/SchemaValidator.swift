import Foundation
import GQLRunJSON

/// Validates JSON values with the keywords of JSON Schema that generated schemas use.
///
/// https://json-schema.org/draft/2020-12
struct SchemaValidator {
  let schema: JSONValue

  /// The errors of a value, each with its path.
  func errors(of value: JSONValue) -> [String] { Self.errors(value, schema, "$") }

  private static func errors(_ value: JSONValue, _ schema: JSONValue, _ path: String) -> [String] {
    var errors: [String] = []
    if let types = schema["type"]?.arrayValue ?? schema["type"].map({ [$0] }),
      !types.contains(where: { fits(value, $0.stringValue ?? "") })
    {
      return ["\(path): \(value.jsonText()) is not \(types.map { $0.jsonText() })"]
    }
    if let words = schema["enum"]?.arrayValue, !words.contains(value) {
      errors.append("\(path): \(value.jsonText()) is not one of \(words.map { $0.jsonText() })")
    }
    if let choices = schema["anyOf"]?.arrayValue {
      let all = choices.map { Self.errors(value, $0, path) }
      if all.allSatisfy({ !$0.isEmpty }) { errors += all.min { $0.count < $1.count } ?? [] }
    }
    if let pattern = schema["pattern"]?.stringValue, let text = value.stringValue,
      text.range(of: pattern, options: .regularExpression) == nil
    {
      errors.append("\(path): \(text) does not match \(pattern)")
    }
    if let number = value.doubleValue {
      if let low = schema["minimum"]?.doubleValue, number < low {
        errors.append("\(path): < \(low)")
      }
      if let high = schema["maximum"]?.doubleValue, number > high {
        errors.append("\(path): > \(high)")
      }
    }
    if let items = schema["items"], let elements = value.arrayValue {
      for (index, element) in elements.enumerated() {
        errors += Self.errors(element, items, "\(path)[\(index)]")
      }
    }
    guard let object = value.objectValue else { return errors }
    for name in schema["required"]?.arrayValue ?? [] where object[name.stringValue ?? ""] == nil {
      errors.append("\(path): no \(name.jsonText())")
    }
    if let most = schema["maxProperties"]?.intValue, object.count > most {
      errors.append("\(path): more than \(most) members")
    }
    for member in object {
      let inner = "\(path).\(member.key)"
      if let property = schema["properties"]?[member.key] {
        errors += Self.errors(member.value, property, inner)
      } else if let other = schema["additionalProperties"] {
        errors +=
          other == .boolean(false)
          ? ["\(inner): unknown"] : Self.errors(member.value, other, inner)
      }
    }
    return errors
  }

  private static func fits(_ value: JSONValue, _ type: String) -> Bool {
    switch (type, value) {
    case ("null", .null), ("boolean", .boolean), ("string", .string), ("array", .array),
      ("object", .object), ("number", .number):
      true
    case ("integer", .number(let number)): Int(number.text) != nil
    default: false
    }
  }
}

import GQLRunJSON
import GQLRunLanguage

/// A value does not have its scalar type.
struct ScalarFailure: Error {
  var message: String
}

/// Input coercion of the built-in scalar types.
///
/// https://spec.graphql.org/September2025/#sec-Scalars.Built-in-Scalars
enum Scalar {
  /// The name of the scalar type of files.
  static let upload = "Upload"

  /// Coerces a variable's value to a scalar type. Custom scalars accept any value, except files.
  static func coerce(_ value: JSONValue, to type: String) throws(ScalarFailure) -> JSONValue {
    switch type {
    case "Int":
      guard let number = value.numberValue, let whole = number.intValue else {
        throw ScalarFailure(message: "Int cannot represent non-integer value: \(shown(value))")
      }
      guard Int32(exactly: whole) != nil else {
        throw ScalarFailure(
          message: "Int cannot represent non 32-bit signed integer value: \(shown(value))")
      }
      return .number(JSONNumber(whole))
    case "Float":
      guard value.doubleValue != nil else {
        throw ScalarFailure(message: "Float cannot represent non numeric value: \(shown(value))")
      }
      return value
    case "String":
      guard value.stringValue != nil else {
        throw ScalarFailure(message: "String cannot represent a non string value: \(shown(value))")
      }
      return value
    case "Boolean":
      guard value.boolValue != nil else {
        throw ScalarFailure(
          message: "Boolean cannot represent a non boolean value: \(shown(value))")
      }
      return value
    case "ID":
      if value.stringValue != nil { return value }
      guard let number = value.numberValue, number.isInteger else {
        throw ScalarFailure(message: "ID cannot represent value: \(shown(value))")
      }
      return .string(number.text)
    case upload:
      throw ScalarFailure(
        message: "Upload value invalid: a file is sent in a form (multipart/form-data).")
    default:
      return value
    }
  }

  /// A value as JSON in messages, truncated if it is long.
  static func shown(_ value: JSONValue) -> String {
    let text = value.jsonText()
    return text.count > 100 ? "\(text.prefix(100))…" : text
  }
}

/// A JSON value kept as the text it is written in, so that numbers stay exact.
///
/// The text is trusted to be valid JSON: it comes from a JSON parser or from the initializers here.
public struct JSONText: Sendable, Hashable {
  public let text: String

  /// Takes text that is known to be one valid JSON value.
  public init(trusted text: String) {
    self.text = text
  }

  /// The empty object.
  public static let emptyObject = JSONText(trusted: "{}")
  public static let null = JSONText(trusted: "null")

  public static func bool(_ value: Bool) -> JSONText {
    JSONText(trusted: value ? "true" : "false")
  }

  public static func int(_ value: Int) -> JSONText {
    JSONText(trusted: String(value))
  }

  /// A JSON string with the minimal escapes of RFC 8259.
  public static func string(_ value: String) -> JSONText {
    var text = String.UnicodeScalarView("\"".unicodeScalars)
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text.append(contentsOf: "\\\"".unicodeScalars)
      case "\\": text.append(contentsOf: "\\\\".unicodeScalars)
      case "\n": text.append(contentsOf: "\\n".unicodeScalars)
      case "\r": text.append(contentsOf: "\\r".unicodeScalars)
      case "\t": text.append(contentsOf: "\\t".unicodeScalars)
      case "\u{8}": text.append(contentsOf: "\\b".unicodeScalars)
      case "\u{C}": text.append(contentsOf: "\\f".unicodeScalars)
      case "\u{0}"..<"\u{20}":
        let digits = String(scalar.value, radix: 16)
        text.append(contentsOf: "\\u".unicodeScalars)
        text.append(
          contentsOf: String(repeating: "0", count: 4 - digits.count).unicodeScalars)
        text.append(contentsOf: digits.unicodeScalars)
      default: text.append(scalar)
      }
    }
    text.append("\"")
    return JSONText(trusted: String(text))
  }

  /// An object with its members in the order given.
  public static func object(_ members: [(key: String, value: JSONText)]) -> JSONText {
    let pairs = members.map { "\(JSONText.string($0.key).text):\($0.value.text)" }
    return JSONText(trusted: "{\(pairs.joined(separator: ","))}")
  }

  public static func array(_ elements: [JSONText]) -> JSONText {
    JSONText(trusted: "[\(elements.map(\.text).joined(separator: ","))]")
  }
}

extension JSONText: CustomStringConvertible {
  public var description: String { text }
}

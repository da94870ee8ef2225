import GQLRunJSON

/// A country, identified by its ISO 3166-1 alpha-2 code.
///
/// A class, because it is passed around as the parent of its fields.
final class Country: Sendable {
  let code: String
  let name: String
  let native: String
  /// Calling codes, separated by commas.
  let phone: String
  /// The code of the continent.
  let continent: String
  let capital: String?
  /// ISO 4217 codes, separated by commas.
  let currency: String?
  /// The codes of the languages.
  let languages: [String]
  let states: [State]

  init(_ json: JSONValue, states: JSONObject) {
    func text(_ key: String) -> String { json[key]?.stringValue ?? "" }
    let code = text("code")
    self.code = code
    name = text("name")
    native = text("native")
    phone = text("phone")
    continent = text("continent")
    capital = json["capital"]?.stringValue
    currency = json["currency"]?.stringValue
    languages = (json["languages"]?.arrayValue ?? []).compactMap(\.stringValue)
    self.states = states.map { member in
      State(code: member.key, name: member.value.stringValue ?? "", countryCode: code)
    }
  }

  var phones: [String] { phone.split(separator: ",").map(String.init) }
  var currencies: [String] { (currency ?? "").split(separator: ",").map(String.init) }

  /// The flag: the code's letters as regional indicator symbols.
  var emoji: String { String(String.UnicodeScalarView(flag)) }

  /// The flag's code points, such as `U+1F1E8 U+1F1E6`.
  var emojiCodePoints: String {
    flag.map { "U+" + String($0.value, radix: 16, uppercase: true) }.joined(separator: " ")
  }

  private var flag: [Unicode.Scalar] {
    code.unicodeScalars.compactMap { letter in
      ("A"..."Z").contains(letter) ? Unicode.Scalar(0x1F1E6 + letter.value - 0x41) : nil
    }
  }
}

extension State {
  /// The flag, if Unicode has one: those of England, Scotland and Wales.
  var emoji: String? {
    guard countryCode == "GB", ["ENG", "SCT", "WLS"].contains(code) else { return nil }
    let tags = (countryCode + code).lowercased().unicodeScalars.compactMap {
      Unicode.Scalar(0xE0000 + $0.value)
    }
    var flag = String.UnicodeScalarView(["\u{1F3F4}"])
    flag.append(contentsOf: tags)
    flag.append("\u{E007F}")
    return String(flag)
  }
}

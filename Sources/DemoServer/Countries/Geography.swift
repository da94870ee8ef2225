import GQLRunJSON

/// The countries of the world with their continents and languages, from ``CountriesData``.
struct Geography: Sendable {
  /// Sorted by code.
  let continents: [Continent]
  /// Sorted by code.
  let countries: [Country]
  /// Sorted by code.
  let languages: [Language]

  private let continentsByCode: [String: Continent]
  private let countriesByCode: [String: Country]
  private let languagesByCode: [String: Language]
  private let countriesByContinent: [String: [Country]]
  private let countriesByLanguage: [String: [Country]]
  /// The names of all countries in languages other than English, by the codes of language and country.
  let translations: [String: [String: String]]

  static let world = Geography(json: CountriesData.json)

  /// Parses the data. Leaves out incomplete entries, which the tests of the data detect.
  init(json: String) {
    let data = (try? JSONValue(parsing: json)) ?? .null
    func rows(_ key: String) -> [Row] {
      (data[key]?.arrayValue ?? []).map { Row(values: $0.arrayValue ?? []) }
    }
    continents = rows("continents").map(Continent.init)
    languages = rows("languages").map(Language.init)
    countries = rows("countries").map { row in
      Country(row, states: data["states"]?[row.text(0)]?.objectValue ?? [:])
    }
    continentsByCode = Dictionary(continents.map { ($0.code, $0) }) { first, _ in first }
    countriesByCode = Dictionary(countries.map { ($0.code, $0) }) { first, _ in first }
    languagesByCode = Dictionary(languages.map { ($0.code, $0) }) { first, _ in first }
    countriesByContinent = Dictionary(grouping: countries, by: \.continent)
    countriesByLanguage = countries.reduce(into: [:]) { result, country in
      for language in country.languages { result[language, default: []].append(country) }
    }
    translations = (data["names"]?.objectValue ?? [:]).reduce(into: [:]) { result, member in
      result[member.key] = (member.value.objectValue ?? [:]).reduce(into: [:]) { names, name in
        names[name.key] = name.value.stringValue
      }
    }
  }

  func continent(_ code: String) -> Continent? { continentsByCode[code] }
  func country(_ code: String) -> Country? { countriesByCode[code] }
  func language(_ code: String) -> Language? { languagesByCode[code] }
  func countries(of continent: Continent) -> [Country] {
    countriesByContinent[continent.code] ?? []
  }
  func countries(speaking language: Language) -> [Country] {
    countriesByLanguage[language.code] ?? []
  }

  /// A country's name in a language; in English if there is no translation.
  func name(of country: Country, in language: String?) -> String {
    guard let language = language?.prefix(while: { $0 != "-" && $0 != "_" }).lowercased() else {
      return country.name
    }
    if let translation = translations[language]?[country.code] { return translation }
    return country.languages.first == language ? country.native : country.name
  }
}

/// A continent, identified by its two-letter code.
struct Continent: Sendable, Hashable {
  let code: String
  let name: String

  fileprivate init(_ row: Row) {
    code = row.text(0)
    name = row.text(1)
  }
}

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
  let states: [Subdivision]

  fileprivate init(_ row: Row, states: JSONObject) {
    let code = row.text(0)
    self.code = code
    name = row.text(1)
    native = row.string(2) ?? name
    phone = row.text(3)
    continent = row.text(4)
    capital = row.string(5)
    currency = row.string(6)
    languages = row.values.dropFirst(7).compactMap(\.stringValue)
    self.states = states.map { member in
      Subdivision(code: member.key, name: member.value.stringValue ?? "", countryCode: code)
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

/// A language, identified by its ISO 639 code.
struct Language: Sendable, Hashable {
  let code: String
  let name: String
  let native: String
  let isRightToLeft: Bool

  fileprivate init(_ row: Row) {
    code = row.text(0)
    name = row.text(1)
    native = row.string(2) ?? name
    isRightToLeft = row[3]?.boolValue ?? false
  }
}

/// A state, province or other subdivision of a country.
struct Subdivision: Sendable, Hashable {
  let code: String
  let name: String
  let countryCode: String

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

/// A row of a table of ``CountriesData``, whose columns are described there.
private struct Row {
  let values: [JSONValue]

  subscript(column: Int) -> JSONValue? { values.indices.contains(column) ? values[column] : nil }
  func string(_ column: Int) -> String? { self[column]?.stringValue }
  func text(_ column: Int) -> String { string(column) ?? "" }
}

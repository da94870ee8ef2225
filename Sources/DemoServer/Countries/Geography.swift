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
  private let translations: [String: [String: String]]

  static let world = Geography(json: CountriesData.json)

  /// Parses the data. Leaves out incomplete entries, which the tests of the data detect.
  init(json: String) {
    let data = (try? JSONValue(parsing: json)) ?? .null
    continents = data.members("continents").map(Continent.init)
    languages = data.members("languages").map(Language.init)
    countries = data.members("countries").map { member in
      let states = data["states"]?[member.text("code")]?.objectValue ?? [:]
      return Country(member, states: states)
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

  /// The languages other than English that the names of all countries are translated to.
  var translatedLanguages: [String] { translations.keys.sorted() }

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

  init(_ json: JSONValue) {
    code = json.text("code")
    name = json.text("name")
  }
}

/// A language, identified by its ISO 639 code.
struct Language: Sendable, Hashable {
  let code: String
  let name: String
  let native: String
  let isRightToLeft: Bool

  init(_ json: JSONValue) {
    code = json.text("code")
    name = json.text("name")
    native = json.text("native")
    isRightToLeft = json["rtl"]?.boolValue ?? false
  }
}

/// A state, province or other subdivision of a country.
struct State: Sendable, Hashable {
  let code: String
  let name: String
  let countryCode: String
}

extension JSONValue {
  fileprivate func members(_ key: String) -> [JSONValue] { self[key]?.arrayValue ?? [] }
  fileprivate func text(_ key: String) -> String { self[key]?.stringValue ?? "" }
}

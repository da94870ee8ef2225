import Testing

@testable import GQLRunDemoServer

/// The data of the countries is whole and consistent.
@Suite struct GeographyTests {
  let world = Geography.world

  @Test func `there are seven continents and all countries of ISO 3166 with Kosovo`() {
    #expect(world.continents.map(\.code) == ["AF", "AN", "AS", "EU", "NA", "OC", "SA"])
    #expect(world.countries.count == 250)
    #expect(world.country("XK")?.name == "Kosovo")
  }

  @Test func `codes are unique and sorted`() {
    for codes in [
      world.continents.map(\.code), world.countries.map(\.code), world.languages.map(\.code),
    ] {
      #expect(Set(codes).count == codes.count)
      #expect(codes == codes.sorted())
    }
  }

  @Test func `every country's continent and languages are known`() {
    for country in world.countries {
      #expect(world.continent(country.continent) != nil, "\(country.code)")
      for language in country.languages {
        #expect(world.language(language) != nil, "\(country.code): \(language)")
      }
    }
  }

  @Test func `every language is spoken somewhere, and every continent has countries`() {
    for language in world.languages { #expect(!world.countries(speaking: language).isEmpty) }
    for continent in world.continents { #expect(!world.countries(of: continent).isEmpty) }
    #expect(world.continents.map { world.countries(of: $0).count }.reduce(0, +) == 250)
  }

  @Test func `no text is empty, and codes look like codes`() {
    for country in world.countries {
      let code = country.code
      #expect(code.utf8.count == 2 && code == code.uppercased())
      #expect(!country.name.isEmpty && !country.native.isEmpty, "\(code)")
      #expect(country.capital != "" && country.currency != "", "\(code)")
      #expect(!country.phones.isEmpty, "\(code)")
      #expect(
        country.phones.allSatisfy { $0.utf8.allSatisfy { (48...57).contains($0) } && $0.count <= 4 }
      )
      #expect(
        country.currencies.allSatisfy { $0.utf8.count == 3 && $0 == $0.uppercased() }, "\(code)")
    }
    for language in world.languages { #expect(!language.name.isEmpty && !language.native.isEmpty) }
  }

  @Test func `the flag is the code in regional indicators`() {
    for country in world.countries {
      let scalars = Array(country.emoji.unicodeScalars)
      #expect(scalars.count == 2 && country.emoji.count == 1)
      #expect(
        String(String.UnicodeScalarView(scalars.compactMap { Unicode.Scalar($0.value - 0x1F1A5) }))
          == country.code)
    }
    #expect(world.country("CA")?.emoji == "🇨🇦")
    #expect(world.country("CA")?.emojiCodePoints == "U+1F1E8 U+1F1E6")
  }

  @Test(arguments: [
    ("CA", "Ottawa", "CAD", "NA", ["en", "fr"]),
    ("JP", "Tokyo", "JPY", "AS", ["ja"]),
    ("BR", "Brasília", "BRL", "SA", ["pt"]),
    ("HR", "Zagreb", "EUR", "EU", ["hr"]),
    ("NZ", "Wellington", "NZD", "OC", ["en", "mi"]),
    ("KE", "Nairobi", "KES", "AF", ["en", "sw"]),
  ])
  func `facts hold`(
    _ code: String, capital: String, currency: String, continent: String, languages: [String]
  ) throws {
    let country = try #require(world.country(code))
    #expect(country.capital == capital)
    #expect(country.currency == currency)
    #expect(country.continent == continent)
    #expect(country.languages == languages)
  }

  @Test func `some countries have states`() {
    let counts = ["US": 51, "CA": 13, "DE": 16, "AU": 8, "CH": 26, "GB": 4, "FR": 0]
    for (code, count) in counts { #expect(world.country(code)?.states.count == count, "\(code)") }
    #expect(world.country("GB")?.states.first { $0.code == "SCT" }?.emoji == "🏴󠁧󠁢󠁳󠁣󠁴󠁿")
  }

  @Test func `names are translated for every country`() throws {
    #expect(world.translations.keys.sorted() == ["de", "es", "fr", "ja"])
    let germany = try #require(world.country("DE"))
    #expect(world.name(of: germany, in: nil) == "Germany")
    #expect(world.name(of: germany, in: "fr") == "Allemagne")
    #expect(world.name(of: germany, in: "es-MX") == "Alemania")
    #expect(world.name(of: germany, in: "xx") == "Germany")
    let greece = try #require(world.country("GR"))
    #expect(world.name(of: greece, in: "el") == "Ελλάδα")
    for language in world.translations.keys {
      for country in world.countries {
        #expect(!world.name(of: country, in: language).isEmpty)
      }
    }
  }
}

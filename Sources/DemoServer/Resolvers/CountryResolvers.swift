import GQLRunJSON

extension Resolvers {
  static let continentFields = fields(
    of: { entity -> Continent? in if case .continent(let value) = entity { value } else { nil } },
    [
      "code": { continent, _, _ in .string(continent.code) },
      "name": { continent, _, _ in .string(continent.name) },
      "countries": { continent, _, context in
        .list(context.geography.countries(of: continent)) { .object(.country($0)) }
      },
    ])

  static let countryFields = fields(
    of: { entity -> Country? in if case .country(let value) = entity { value } else { nil } },
    [
      "code": { country, _, _ in .string(country.code) },
      "name": { country, arguments, context in
        .string(context.geography.name(of: country, in: arguments["lang"]?.stringValue))
      },
      "native": { country, _, _ in .string(country.native) },
      "phone": { country, _, _ in .string(country.phone) },
      "phones": { country, _, _ in .list(country.phones, ResolvedValue.string) },
      "capital": { country, _, _ in .optional(country.capital) },
      "currency": { country, _, _ in .optional(country.currency) },
      "currencies": { country, _, _ in .list(country.currencies, ResolvedValue.string) },
      "continent": { country, _, context in
        .optional(context.geography.continent(country.continent).map(Entity.continent))
      },
      "languages": { country, _, context in
        .list(country.languages.compactMap(context.geography.language)) { .object(.language($0)) }
      },
      "emoji": { country, _, _ in .string(country.emoji) },
      "emojiU": { country, _, _ in .string(country.emojiCodePoints) },
      "states": { country, _, _ in .list(country.states) { .object(.state($0)) } },
      "subdivisions": { country, _, _ in
        .list(country.states) { .object(.subdivision($0)) }
      },
    ])

  static let languageFields = fields(
    of: { entity -> Language? in if case .language(let value) = entity { value } else { nil } },
    [
      "code": { language, _, _ in .string(language.code) },
      "name": { language, _, _ in .string(language.name) },
      "native": { language, _, _ in .string(language.native) },
      "rtl": { language, _, _ in .boolean(language.isRightToLeft) },
      "countries": { language, _, context in
        .list(context.geography.countries(speaking: language)) { .object(.country($0)) }
      },
    ])

  static let stateFields = fields(
    of: { entity -> Subdivision? in if case .state(let value) = entity { value } else { nil } },
    [
      "code": { state, _, _ in .string(state.code) },
      "name": { state, _, _ in .string(state.name) },
      "country": { state, _, context in
        .optional(context.geography.country(state.countryCode).map(Entity.country))
      },
    ])

  static let subdivisionFields = fields(
    of: { entity -> Subdivision? in if case .subdivision(let value) = entity { value } else { nil }
    },
    [
      "code": { state, _, _ in .string(state.code) },
      "name": { state, _, _ in .string(state.name) },
      "emoji": { state, _, _ in .optional(state.emoji) },
    ])
}

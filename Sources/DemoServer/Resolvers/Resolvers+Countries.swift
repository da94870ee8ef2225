import GQLRunJSON

extension Resolvers {
  static let continentFields: [String: FieldBehaviour] = [
    "code": continent { continent, _, _ in .string(continent.code) },
    "name": continent { continent, _, _ in .string(continent.name) },
    "countries": continent { continent, _, context in
      .list(context.geography.countries(of: continent)) { .object(.country($0)) }
    },
  ]

  static let countryFields: [String: FieldBehaviour] = [
    "code": country { country, _, _ in .string(country.code) },
    "name": country { country, arguments, context in
      .string(context.geography.name(of: country, in: arguments["lang"]?.stringValue))
    },
    "native": country { country, _, _ in .string(country.native) },
    "phone": country { country, _, _ in .string(country.phone) },
    "phones": country { country, _, _ in .list(country.phones, Resolved.string) },
    "capital": country { country, _, _ in .optional(country.capital) },
    "currency": country { country, _, _ in .optional(country.currency) },
    "currencies": country { country, _, _ in .list(country.currencies, Resolved.string) },
    "continent": country { country, _, context in
      .optional(context.geography.continent(country.continent).map(Entity.continent))
    },
    "languages": country { country, _, context in
      .list(country.languages.compactMap(context.geography.language)) { .object(.language($0)) }
    },
    "emoji": country { country, _, _ in .string(country.emoji) },
    "emojiU": country { country, _, _ in .string(country.emojiCodePoints) },
    "states": country { country, _, _ in .list(country.states) { .object(.state($0)) } },
    "subdivisions": country { country, _, _ in
      .list(country.states) { .object(.subdivision($0)) }
    },
  ]

  static let languageFields: [String: FieldBehaviour] = [
    "code": language { language, _, _ in .string(language.code) },
    "name": language { language, _, _ in .string(language.name) },
    "native": language { language, _, _ in .string(language.native) },
    "rtl": language { language, _, _ in .boolean(language.isRightToLeft) },
    "countries": language { language, _, context in
      .list(context.geography.countries(speaking: language)) { .object(.country($0)) }
    },
  ]

  static let stateFields: [String: FieldBehaviour] = [
    "code": state { state, _, _ in .string(state.code) },
    "name": state { state, _, _ in .string(state.name) },
    "country": state { state, _, context in
      .optional(context.geography.country(state.countryCode).map(Entity.country))
    },
  ]

  static let subdivisionFields: [String: FieldBehaviour] = [
    "code": subdivision { state, _, _ in .string(state.code) },
    "name": subdivision { state, _, _ in .string(state.name) },
    "emoji": subdivision { state, _, _ in .optional(state.emoji) },
  ]

  private typealias Body<Parent> =
    @Sendable (Parent, Arguments, inout ResolverContext) -> Resolved

  private static func continent(_ body: @escaping Body<Continent>) -> FieldBehaviour {
    FieldBehaviour(of: { if case .continent(let continent) = $0 { continent } else { nil } }, body)
  }

  private static func country(_ body: @escaping Body<Country>) -> FieldBehaviour {
    FieldBehaviour(of: { if case .country(let country) = $0 { country } else { nil } }, body)
  }

  private static func language(_ body: @escaping Body<Language>) -> FieldBehaviour {
    FieldBehaviour(of: { if case .language(let language) = $0 { language } else { nil } }, body)
  }

  private static func state(_ body: @escaping Body<State>) -> FieldBehaviour {
    FieldBehaviour(of: { if case .state(let state) = $0 { state } else { nil } }, body)
  }

  private static func subdivision(_ body: @escaping Body<State>) -> FieldBehaviour {
    FieldBehaviour(of: { if case .subdivision(let state) = $0 { state } else { nil } }, body)
  }
}

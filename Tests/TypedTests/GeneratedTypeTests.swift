import Foundation
import GQLRunGeneratedTypes
import GQLRunTyped
import Testing

@Suite("Generated types")
struct GeneratedTypeTests {
  @Test("a result is read in any order of its members, and unknown members are ignored")
  func order() throws {
    let data = try HeroOverlapQuery().data(
      json: #"""
        {"extra": [{"a": "}"}, 1e3], "hero": {"friends": [{"appearsIn": ["JEDI", "EPISODE_9", null],
        "name": "Han", "id": "2", "__typename": "Human"}, null], "id": "1", "name": "L\u0075ke",
        "homeworld": {"id": "p"}, "__typename": "Human"}}
        """#.utf8)
    let hero = try #require(data.hero)
    #expect(hero.name == "Luke")
    #expect(hero.homeworld?.id == "p")
    #expect(hero.characterName.id == "1")
    #expect(hero.friends?[0]?.appearsIn == [.jedi, .unknown("EPISODE_9"), nil])
    #expect(hero.friends?[1] == nil)
    #expect(hero.withFriends.friends?[0]?.characterName.name == "Han")
  }

  @Test("type conditions are the cases of one enumeration, with one case for other types")
  func variants() throws {
    func variant(_ object: String) throws -> TypeConditionsQuery.Data.Hero.Variant {
      let data = try TypeConditionsQuery.Data(json: #"{"hero": \#(object)}"#)
      return try #require(data.hero).variant
    }
    guard
      case .droid(let droid) = try variant(
        #"{"__typename": "Droid", "name": "R2", "primaryFunction": "Astromech"}"#)
    else {
      Issue.record("not a droid")
      return
    }
    #expect(droid.primaryFunction == "Astromech")
    guard case .other(let typename) = try variant(#"{"__typename": "Ewok", "name": "W"}"#) else {
      Issue.record("not another type")
      return
    }
    #expect(typename == "Ewok")
  }

  @Test("overlapping type conditions have one case for each combination")
  func overlap() throws {
    let data = try OverlappingConditionsQuery.Data(
      json: """
        {"node": {"__typename": "Human", "name": "Han", "license": null, "height": 1.8}}
        """)
    guard case .human(let human)? = data.node else {
      Issue.record("not a human")
      return
    }
    #expect(human.name == "Han")
    #expect(human.height == 1.8)
  }

  @Test("fragments with conditions on variables are read if they apply")
  func conditionalFragments() throws {
    let json = #"{"me": {"id": "1", "name": "A", "address": null}}"#.utf8
    #expect(try IncludeFragmentQuery(x: true, y: false).data(json: json).me?.userParts?.name == "A")
    #expect(try IncludeFragmentQuery(x: true, y: true).data(json: json).me?.userParts == nil)
    #expect(try IncludeFragmentQuery(x: false, y: false).data(json: json).me?.userParts == nil)
    #expect(try IncludeEitherQuery(x: false, y: true).data(json: json).me?.userParts != nil)
    // The default value of the variable.
    #expect(try IncludeNonNullDefaultQuery().data(json: json).me?.userParts == nil)
  }

  @Test("excluded fields are nil; other missing fields are errors")
  func excluded() throws {
    let data = try IncludeQuery(x: false).data(
      json: #"{"hero": {"__typename": "Human", "id": "1"}}"#.utf8)
    #expect(data.hero?.id == "1")
    #expect(data.hero?.name == nil)
    let error = #expect(throws: TypeMismatch.self) {
      try HeroNameQuery.Data(json: #"{"hero": {"__typename": "Human"}}"#)
    }
    #expect(error?.description == "hero.name: expected String!, found no member")
    #expect(error?.isMissing == true)
  }

  @Test("deferred fields are pending until the server has sent them")
  func deferred() throws {
    #expect(try DeferFragmentQuery.Data(json: #"{"me": {"id": "1"}}"#).me?.userParts.value == nil)
    let loaded = try DeferFragmentQuery.Data(
      json: #"{"me": {"id": "1", "name": "A", "address": {"city": "B"}}}"#)
    #expect(loaded.me?.userParts.value?.address?.city == "B")
    // Fields of the wrong type are an error, not pending.
    #expect(throws: TypeMismatch.self) {
      try DeferFragmentQuery.Data(json: #"{"me": {"id": "1", "name": 2, "address": null}}"#)
    }
  }

  @Test(
    "a value of another type is an error with the path, the type and what came",
    arguments: [
      #"{"settings": 3}"#: "settings: expected Settings!, found the number 3",
      #"{"settings": null}"#: "settings: expected Settings!, found null",
      #"{"settings": {"theme": true}}"#: "settings.theme: expected String, found true",
      #"{"settings": {"theme": null, "flags": [true, "no"]}}"#:
        #"settings.flags[1]: expected [Boolean!]!, found the string "no""#,
      #"{"settings": {"theme": null, "flags": [], "limits": {"min": 1.5}}}"#:
        "settings.limits.min: expected Int, found the number 1.5",
      #"{"settings": {"theme": null, "flags": [], "limits": {"min": 99999999999999999999}}}"#:
        "settings.limits.min: expected Int, found the number 99999999999999999999",
      #"[]"#: "the data: expected an object, found a list",
    ] as [String: String])
  func mismatch(json: String, message: String) throws {
    let error = #expect(throws: TypeMismatch.self) { try SettingsQuery.Data(json: json) }
    #expect(error?.description == message)
  }

  @Test("invalid JSON is an error of the parser", arguments: ["", "{", #"{"settings": }"#, "{} x"])
  func invalid(json: String) {
    #expect(throws: JSONError.self) { try SettingsQuery.Data(json: json) }
  }

  @Test("numbers may have any notation, and large ones are exact")
  func numbers() throws {
    let data = try MatrixQuery.Data(json: #"{"matrix": [[1e2, -0, 9007199254740993], []]}"#)
    #expect(data.matrix == [[100, 0, 9_007_199_254_740_993], []])
  }

  @Test("custom scalars have their Swift types, and a wrong value has a reason")
  func scalars() throws {
    let data = try TimeQuery.Data(json: #"{"time": "1970-01-01T00:00:01.5Z"}"#)
    #expect(data.time == Date(timeIntervalSince1970: 1.5))
    let error = #expect(throws: TypeMismatch.self) {
      try TimeQuery.Data(json: #"{"time": "today"}"#)
    }
    #expect(
      error?.description == "time: expected DateTime!, found the string \"today\" "
        + "(not a date and time such as 2026-01-31T12:00:00Z)")
  }

  @Test("absent, null and given variables differ")
  func variables() throws {
    func text(_ variables: JSONObject) -> String { JSONValue.object(variables).jsonText() }
    #expect(text(AllNullableQuery().variables) == "{}")
    #expect(
      text(AllNullableQuery(episode: nil, first: 3, after: "x").variables)
        == #"{"episode":null,"first":3,"after":"x"}"#)
    #expect(text(WithDefaultsQuery().variables) == "{}")
    #expect(
      text(AllNullableQuery(episode: .value(.newHope)).variables) == #"{"episode":"NEW_HOPE"}"#)
    let update = UpdateUserMutation(
      id: "1", input: UserInput(name: nil, tags: ["a", nil], matrix: [[1]]))
    #expect(
      text(update.variables)
        == #"{"id":"1","input":{"name":null,"tags":["a",null],"matrix":[[1]]}}"#)
  }

  @Test("input objects may contain themselves, and exactly one field of a @oneOf object is given")
  func inputs() {
    let tree = TreeInput(
      value: 1, left: .value(TreeInput(value: 2)), children: [TreeInput(value: 3)])
    #expect(tree.json.jsonText() == #"{"value":1,"left":{"value":2},"children":[{"value":3}]}"#)
    #expect(CharacterLookup.name("Han").json.jsonText() == #"{"name":"Han"}"#)
    #expect(CharacterLookup.all([.id("1")]).json.jsonText() == #"{"all":[{"id":"1"}]}"#)
  }

  @Test("conformances are those of the comment directives")
  func conformances() throws {
    let json = #"{"me": {"id": "1", "parent": null}}"#
    let data = try HashableQuery.Data(json: json)
    #expect(Set([data, try HashableQuery.Data(json: json)]).count == 1)
    let hero = try IdentifiableQuery.Data(
      json: #"{"hero": {"__typename": "Human", "id": "1", "name": "A"}}"#)
    #expect(try #require(hero.hero).id == "1")
    let codable = try CodableQuery.Data(
      json: #"{"me": {"id": "1", "name": "A", "address": null, "status": "ACTIVE"}}"#)
    let copy = try JSONDecoder().decode(
      CodableQuery.Data.self, from: JSONEncoder().encode(codable))
    #expect(copy.json == codable.json)
  }

  @Test("an empty selection set is a type without properties, which existing objects have")
  func emptySelectionSets() throws {
    #expect(EmptyDroidQuery.document == "query EmptyDroid($id:ID!){droid(id:$id){}}")
    let data = try EmptyDroidQuery.Data(json: #"{"droid": {}}"#)
    #expect(data.droid != nil)
    #expect(data.json.jsonText() == #"{"droid":{"__typename":"Droid"}}"#)
    #expect(try EmptyDroidQuery.Data(json: #"{"droid": null}"#).droid == nil)
    #expect(try EmptyConditionalQuery.Data(json: "{}").droid == nil)
    #expect(try EmptyConditionalQuery.Data(json: #"{"droid": {"x": 1}}"#).droid != nil)
  }

  @Test("an empty fragment distinguishes the objects of its type")
  func emptyVariants() throws {
    func hero(_ type: String) throws -> EmptyVariantsQuery.Data.Hero? {
      try EmptyVariantsQuery.Data(
        json: #"{"hero": {"__typename": "\#(type)", "name": "R2"}}"#
      ).hero
    }
    guard case .human = try hero("Human"), case .droid(let droid) = try hero("Droid"),
      case .other(let typename) = try hero("Ewok")
    else {
      Issue.record("other cases")
      return
    }
    #expect(droid.name == "R2")
    #expect(typename == "Ewok")
  }

  @Test("a deprecated value can be read and written")
  func deprecatedValue() throws {
    let data = try StatusNowQuery.Data(json: #"{"status": "ON_HOLD"}"#)
    #expect(data.status.rawValue == "ON_HOLD")
    #expect(data.json.jsonText() == #"{"status":"ON_HOLD"}"#)
    #expect(Status(rawValue: "NEW") == .unknown("NEW"))
  }

  @Test("the sent document has the types of interface and union values")
  func document() {
    #expect(
      HeroNameQuery.document == "query HeroName{hero{__typename name}}")
    #expect(
      HeroWithFragmentQuery.document.contains(
        "fragment CharacterName on Character{__typename id name}"))
  }
}

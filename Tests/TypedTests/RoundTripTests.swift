import GQLRunGeneratedTypes
import GQLRunTyped
import Testing

/// Generated value → JSON → generated value.
@Suite("Round trips of generated types")
struct RoundTripTests {
  private func expectRoundTrip<Data: GraphQLObject>(_ data: Data) throws {
    let text = data.json.jsonText()
    #expect(try Data(json: text).json.jsonText() == text)
  }

  @Test("initializers make complete data, with the types of all objects")
  func initializer() throws {
    let owner = HumanDetails(
      height: 1.8, mass: nil, homeworld: HumanDetails.Homeworld(name: "Corellia"))
    let droid = DroidDetails(
      primaryFunction: "Astromech", owner: DroidDetails.Owner(humanDetails: owner))
    let data = HeroConditionalFragmentsQuery.Data(
      hero: .init(name: "R2", variant: .droid(.init(droidDetails: droid))))
    #expect(
      data.json.jsonText()
        == #"{"hero":{"name":"R2","__typename":"Droid","primaryFunction":"Astromech","owner":"#
        + #"{"__typename":"Human","height":1.8,"mass":null,"homeworld":{"__typename":"Planet","name":"Corellia"}}}}"#
    )
    try expectRoundTrip(data)
  }

  @Test("fields that several fragments select are written once, with all of their own fields")
  func merged() throws {
    let data = OverlapOfObjectsQuery.Data(
      me: .init(
        address: .init(city: "Paris"),
        userParts: UserParts(id: "1", name: "A", address: .init(city: "Paris"))))
    #expect(
      data.json.jsonText()
        == #"{"me":{"__typename":"User","address":{"__typename":"Address","city":"Paris"},"#
        + #""id":"1","name":"A"}}"#)
    try expectRoundTrip(data)
  }

  @Test("lists, nulls, enums and scalars survive")
  func values() throws {
    try expectRoundTrip(
      HeroOverlapQuery.Data(
        json: """
          {"hero": {"__typename": "Human", "name": "L", "homeworld": null, "id": "1", "friends":
          [null, {"__typename": "Droid", "name": "R", "appearsIn": [null, "NEW"], "id": "2"}]}}
          """))
    try expectRoundTrip(
      CubeQuery.Data(json: #"{"cube": [[], [[], [{"__typename": "Droid", "name": "x"}]]]}"#))
    try expectRoundTrip(CubeQuery.Data(json: #"{"cube": null}"#))
    try expectRoundTrip(
      StarshipCoordinatesQuery.Data(
        json: """
          {"starship": {"coordinates": [[1.5, -2]], "price": "1.00", "page": "https://x.y",
          "launched": "2020-01-01T00:00:00Z"}}
          """))
    try expectRoundTrip(
      AnythingQuery.Data(json: #"{"anything": {"a": [1.10, 12345678901234567890, null, {}]}}"#))
  }

  @Test("pending fields are not written")
  func deferred() throws {
    let data = DeferFragmentQuery.Data(me: .init(id: "1", userParts: .pending))
    #expect(data.json.jsonText() == #"{"me":{"__typename":"User","id":"1"}}"#)
    try expectRoundTrip(data)
  }
}

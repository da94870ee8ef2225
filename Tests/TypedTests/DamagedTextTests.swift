import GQLRunJSON
import GQLRunTyped
import Testing

/// Text of a damaged record, which a type decodes although no parser has accepted it.
@Suite("Damaged text")
struct DamagedTextTests {
  struct Row: GraphQLObject, Equatable {
    var value: JSONValue

    static func read(from object: inout ObjectReader) throws -> Self {
      try Self(value: object.read("value", "JSON!"))
    }
    func write(to object: inout ObjectWriter) { object.write(["value": value]) }
  }

  @Test(
    "is an error, never an access out of bounds",
    arguments: [
      #"{"value":{[1]2}}"#, #"{"value":{{}1}}"#, #"{[]:1}"#, #"{1:2}"#, #"{"value":{t:1}}"#,
      #"{"value":!}"#, #"{"value":[1,+]}"#, #"{"value":-}"#, #"{"value":1}"}"#, #"{"value"}"#,
    ])
  func error(text: String) {
    #expect(throws: (any Error).self) {
      try TokenIndex(checked: Array(text.utf8)).root(as: Row.self)
    }
  }

  @Test("values of all kinds are read without another check of their grammar")
  func valid() throws {
    let text = #"{"value":{"a":[{},[],"b",-1.5e3,true,null],"c":{"d":{"e":0}}}}"#
    let row = try TokenIndex(checked: Array(text.utf8)).root(as: Row.self)
    #expect(#"{"value":\#(row.value.jsonText())}"# == text)
  }
}

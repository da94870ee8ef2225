import GQLRunJSON
import Testing

@Suite("JSON object")
struct JSONObjectTests {
  private func object(_ count: Int) -> JSONObject {
    var object = JSONObject()
    for number in 0..<count { object["key\(number)"] = JSONValue.number(JSONNumber(number)) }
    return object
  }

  @Test(
    "finds every key in small and in large objects", arguments: [0, 1, 11, 12, 13, 14, 1000])
  func lookUp(_ count: Int) {
    let object = object(count)
    #expect(object.count == count)
    for number in 0..<count {
      #expect(object["key\(number)"]?.intValue == number)
      #expect(object[number].key == "key\(number)")
    }
    #expect(object["key\(count)"] == nil)
    #expect(object["key"] == nil)
  }

  @Test("replaces in place, appends, and removes", arguments: [1, 5, 13, 40])
  func changes(_ count: Int) {
    var object = object(count)
    object["key0"] = "changed"
    #expect(object[0].value == "changed")
    #expect(object.count == count)
    object["new"] = nil
    #expect(object.count == count)
    object["key0"] = nil
    #expect(object.count == count - 1)
    #expect(object["key0"] == nil)
    for number in 1..<max(count, 1) { #expect(object["key\(number)"]?.intValue == number) }
    object["key0"] = nil as JSONValue?
    object["last"] = JSONValue.null
    #expect(object.members.last?.key == "last")
    #expect(object["last"] == JSONValue.null)
  }

  @Test("removes one by one down to nothing")
  func emptied() {
    var object = object(30)
    for number in 0..<30 {
      object["key\(number)"] = nil
      #expect(object["key29"] != nil || number == 29)
    }
    #expect(object.isEmpty)
  }

  @Test("is not created from members with the same key", arguments: [2, 5, 20])
  func unique(_ count: Int) {
    var members = object(count).members
    #expect(JSONObject(uniqueMembers: members) == object(count))
    members.append(JSONObject.Member(key: "key1", value: 7))
    #expect(JSONObject(uniqueMembers: members) == nil)
  }

  @Test("distinguishes composed and decomposed keys")
  func bytewise() {
    let object: JSONObject = ["\u{E9}": 1, "e\u{301}": 2]
    #expect(object["\u{E9}"] == 1)
    #expect(object["e\u{301}"] == 2)
  }
}

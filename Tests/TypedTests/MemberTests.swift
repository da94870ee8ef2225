import GQLRunJSON
import GQLRunTyped
import Testing

/// Members of an object, wherever the response has them.
@Suite("Members of objects")
struct MemberTests {
  struct Point: GraphQLObject, Equatable {
    var x: Int
    var y: Int?

    static func read(from object: inout ObjectReader) throws -> Self {
      try Self(x: object.read("x", "Int!"), y: object.read("y", "Int"))
    }
    func write(to object: inout ObjectWriter) { object.write(["x": x, "y": y]) }
  }

  @Test(
    "keys may be in any order, escaped or repeated",
    arguments: [
      (#"{"x":1,"y":2}"#, 2), (#"{"y":2,"x":1}"#, 2), (#"{"\u0079":2,"\u0078":1}"#, 2),
      (#"{"x":1,"xy":3,"yx":4,"":5,"y":2}"#, 2), (#"{"z":{"x":7,"y":8},"x":1,"y":null}"#, nil),
      (#"{"y":2,"a":[1,{"x":9}],"x":1}"#, 2),
      // The next member of that name in the order of the fields.
      (#"{"y":3,"x":1,"x":5,"y":2}"#, 2),
    ] as [(String, Int?)])
  func order(json: String, y: Int?) throws {
    #expect(try TokenIndex(checked: Array(json.utf8)).root(as: Point.self) == Point(x: 1, y: y))
  }

  @Test(
    "missing and wrong members are errors with their field",
    arguments: [
      (#"{"y":2}"#, "x: expected Int!, found no member"),
      (#"{"x":1}"#, "y: expected Int, found no member"),
      (
        #"{"x":1,"y":9223372036854775808}"#, "y: expected Int, found the number 9223372036854775808"
      ),
      (#"{"x":"1","y":2}"#, #"x: expected Int!, found the string "1""#),
      (#"{"x":1.5,"y":2}"#, "x: expected Int!, found the number 1.5"),
    ])
  func errors(json: String, message: String) throws {
    let error = #expect(throws: TypeMismatch.self) {
      try TokenIndex(checked: Array(json.utf8)).root(as: Point.self)
    }
    #expect(error?.description == message)
  }

  struct Line: GraphQLObject, Equatable {
    var end: Point?

    static func read(from object: inout ObjectReader) throws -> Self {
      try Self(end: object.readIfIncluded("end", "Point!"))
    }
    func write(to object: inout ObjectWriter) { object.writeIfPresent("end", end) }
  }

  @Test(
    "an excluded object is nil, also when other selections have requested a part of it",
    arguments: [
      ("{}", nil), (#"{"end":null}"#, nil), (#"{"end":{"x":1}}"#, nil),
      (#"{"end":{"x":1,"y":2}}"#, Point(x: 1, y: 2)),
    ] as [(String, Point?)])
  func excluded(json: String, end: Point?) throws {
    #expect(try TokenIndex(checked: Array(json.utf8)).root(as: Line.self).end == end)
    let error = #expect(throws: TypeMismatch.self) {
      try TokenIndex(checked: Array(#"{"end":{"x":1,"y":"2"}}"#.utf8)).root(as: Line.self)
    }
    #expect(error?.description == #"end.y: expected Int, found the string "2""#)
  }

  @Test(
    "integers have up to 64 bits",
    arguments: [
      ("9223372036854775807", Int.max), ("-9223372036854775808", Int.min),
      ("999999999999999999", 999_999_999_999_999_999),
      ("1000000000000000000", 1_000_000_000_000_000_000),
      ("-0", 0), ("1.0", 1), ("12e1", 120),
    ])
  func integers(text: String, value: Int) throws {
    #expect(try TokenIndex(checked: Array(text.utf8)).root(as: Int.self) == value)
  }

  @Test("bytes that are not UTF-8 become replacement characters, as in other strings")
  func invalidUTF8() throws {
    let text: [UInt8] = [0x22, 0x61, 0xFF, 0x62, 0x22]
    #expect(try TokenIndex(checked: text).root(as: String.self) == "a\u{FFFD}b")
    #expect(throws: JSONError.self) { try TokenIndex(checking: text) }
  }
}

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
      #"{"y":2}"#: "x: expected Int!, found no member",
      #"{"x":1}"#: "y: expected Int, found no member",
      #"{"x":1,"y":9223372036854775808}"#: "y: expected Int, found the number 9223372036854775808",
      #"{"x":"1","y":2}"#: #"x: expected Int!, found the string "1""#,
      #"{"x":1.5,"y":2}"#: "x: expected Int!, found the number 1.5",
    ] as [String: String])
  func errors(json: String, message: String) throws {
    let error = #expect(throws: TypeMismatch.self) {
      try TokenIndex(checked: Array(json.utf8)).root(as: Point.self)
    }
    #expect(error?.description == message)
  }

  /// Keys of all lengths for which comparisons differ.
  struct Keys: GraphQLObject, Equatable {
    var values: [Int]

    static func read(from object: inout ObjectReader) throws -> Self {
      try Self(values: [
        object.read("a", "Int!"), object.read("abc", "Int!"), object.read("abcd", "Int!"),
        object.read("abcdefg", "Int!"), object.read("abcdefgh", "Int!"),
        object.read("abcdefghi", "Int!"), object.read("abcdefghijklmnop", "Int!"),
        object.read("abcdefghijklmnopqrs", "Int!"),
      ])
    }
    func write(to object: inout ObjectWriter) {}
  }

  @Test("a key is found among keys that differ in one character")
  func similarKeys() throws {
    let keys = [
      "a", "abc", "abcd", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghijklmnop",
      "abcdefghijklmnopqrs",
    ]
    var members: [String] = []
    for (position, key) in keys.enumerated() {
      for changed in key.indices {
        let other = key[..<changed] + "_" + key[key.index(after: changed)...]
        members.append(#""\#(other)":-1"#)
      }
      members.append(#""\#(key)":\#(position)"#)
    }
    for members in [members, members.reversed()] {
      let text = "{\(members.joined(separator: ","))}"
      let found = try TokenIndex(checked: Array(text.utf8)).root(as: Keys.self)
      #expect(found == Keys(values: Array(keys.indices)))
    }
  }

  /// A type that reads itself, and does not borrow the reader.
  struct Cents: GraphQLDecodable, Equatable {
    var cents: Int
    init(cents: Int) { self.cents = cents }
    init(from value: ValueReader) throws { cents = try value.int() }
  }

  @Test("lists of short elements have more tokens than the index has space for at first")
  func shortElements() throws {
    let numbers = (0..<10_000).map { $0 % 10 }
    let text = "[\(numbers.map(String.init).joined(separator: ","))]"
    let found = try TokenIndex(checked: Array(text.utf8)).root(as: [Cents].self)
    #expect(found == numbers.map { Cents(cents: $0) })
    let depth = 200
    let nested =
      String(repeating: #"{"a":[1,2,"#, count: depth) + "3" + String(repeating: "]}", count: depth)
    let value = try TokenIndex(checked: Array(nested.utf8)).root(as: JSONValue.self)
    #expect(value.jsonText() == nested)
    for text in [String(text.dropLast()), String(nested.dropLast())] {
      #expect(throws: JSONError.self) { try TokenIndex(checked: Array(text.utf8)) }
    }
  }

  @Test("an element that has another type is an error after the elements before it")
  func wrongElement() {
    let strings = #"["a string that is longer than fifteen bytes"]"#
    let text = "[\(strings),\(strings),[\"b\",null],\(strings)]"
    let error = #expect(throws: TypeMismatch.self) {
      try TokenIndex(checked: Array(text.utf8)).root(as: [[String]].self)
    }
    #expect(error?.path == [.index(2), .index(1)])
    #expect(error?.found == "null")
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

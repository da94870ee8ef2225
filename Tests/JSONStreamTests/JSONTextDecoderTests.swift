import Foundation
import GQLRunJSON
import GQLRunTestSupport
import Testing

@Suite("JSON text decoder")
struct JSONTextDecoderTests {
  private func decode<Value: Decodable>(
    _ text: String, as type: Value.Type = Value.self, _ decoder: JSONTextDecoder = .init()
  ) throws -> Value {
    try decoder.decode(type, from: Array(text.utf8))
  }

  /// The result as text: what was decoded, or the kind and path of the error.
  private func outcome(_ decode: () throws -> String) -> String {
    do {
      return try decode()
    } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context)
    {
      // Foundation reports some nulls as the one, others as the other.
      return "mismatch \(path(context))"
    } catch DecodingError.keyNotFound(let key, let context) {
      return "key not found \(key.stringValue) \(path(context))"
    } catch DecodingError.dataCorrupted {
      return Self.corrupted
    } catch {
      return "\(error)"
    }
  }

  /// Foundation has no path for these errors.
  private static let corrupted = "corrupted"

  private func path(_ context: DecodingError.Context) -> String {
    context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.description
  }

  @Test("decodes random types from random texts as Foundation does", arguments: 0..<60)
  func random(_ seed: Int) {
    var random = SeededRandom(UInt64(seed))
    var decoded = 0
    for _ in 0..<60 {
      let plan = DecodingPlan.random(&random)
      let text = plan.text(&random)
      let foundation = JSONDecoder()
      foundation.userInfo[DecodingPlan.key] = plan
      var own = JSONTextDecoder()
      own.userInfo[DecodingPlan.key] = plan
      let expected = outcome {
        try foundation.decode(Planned.self, from: Data(text.utf8)).transcript
      }
      let found = outcome { try decode(text, as: Planned.self, own).transcript }
      let isBothErrors = expected == Self.corrupted && found.hasPrefix("mismatch")
      #expect(found == expected || isBothErrors, "\(text)")
      if expected.hasPrefix("[") { decoded += 1 }
    }
    #expect(decoded > 3)
  }

  @Test("refuses the texts that the parser refuses", arguments: 0..<10)
  func damaged(_ seed: Int) {
    var fuzz = JSONFuzz(seed: UInt64(seed))
    for _ in 0..<200 {
      let text = fuzz.damaged(fuzz.text())
      let value = try? JSONValue(parsing: text, options: .init(allowsDuplicateKeys: true))
      let skipped = try? JSONTextDecoder().decode(Skipped.self, from: text)
      #expect((skipped == nil) == (value == nil), "\(String(decoding: text, as: UTF8.self))")
    }
  }

  /// Accepts every value, and visits all its members and elements.
  private struct Skipped: Decodable {
    init(from decoder: any Decoder) throws {
      if let container = try? decoder.container(keyedBy: AnyKey.self) {
        for key in container.allKeys { _ = try container.decode(Skipped.self, forKey: key) }
      } else if var container = try? decoder.unkeyedContainer() {
        while !container.isAtEnd { _ = try container.decode(Skipped.self) }
      } else {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) { _ = text.count }
      }
    }
  }

  // MARK: - Numbers

  @Test("keeps integers and decimals exact in every notation")
  func exact() throws {
    #expect(try decode("9007199254740993.0", as: Int.self) == 9_007_199_254_740_993)
    #expect(try decode("18446744073709551615", as: UInt64.self) == .max)
    #expect(try decode("1844674407370955161.5e1", as: UInt64.self) == .max)
    #expect(try decode("-9223372036854775808", as: Int64.self) == .min)
    #expect(try decode("-170141183460469231731687303715884105728", as: Int128.self) == .min)
    let decimal = try decode("12345678901234567890.123456789012345678", as: Decimal.self)
    #expect("\(decimal)" == "12345678901234567890.123456789012345678")
    #expect(try decode("0.1", as: Double.self) == 0.1)
  }

  @Test("a JSON value inside another type keeps numbers, order and bytes")
  func values() throws {
    struct Envelope: Decodable {
      let value: JSONValue
      let rest: [JSONValue?]
    }
    let envelope: Envelope = try decode(
      #"{"rest": [null, 1.50, {"z": 1e400}], "value": {"b": 1.0, "a": 12345678901234567890123}}"#)
    #expect(envelope.value.jsonText() == #"{"b":1.0,"a":12345678901234567890123}"#)
    #expect(envelope.rest.map { $0?.jsonText() } == [nil, "1.50", #"{"z":1e400}"#])
  }

  // MARK: - Keys

  private struct Composed: Decodable {
    let name: Int?
    enum CodingKeys: String, CodingKey { case name = "\u{E9}" }
  }

  @Test("compares keys as bytes: canonically equivalent keys are different keys")
  func bytes() throws {
    #expect(try decode("{\"\u{E9}\": 1}", as: Composed.self).name == 1)
    #expect(try decode("{\"e\u{301}\": 1}", as: Composed.self).name == nil)
    let many = (0..<20).map { "\"\($0)\": 0, " }.joined()
    #expect(try decode("{\(many)\"e\u{301}\": 1, \"\u{E9}\": 2}", as: Composed.self).name == 2)
  }

  @Test("decodes the first of several members with one key", arguments: [1, 40])
  func duplicates(_ others: Int) throws {
    let rest = (0..<others).map { ", \"\($0)\": 0" }.joined()
    #expect(try decode("{\"é\": 1, \"é\": 2\(rest)}", as: Composed.self).name == 1)
  }

  @Test(
    "converts keys as Foundation does, except those of dictionaries",
    arguments: [
      "one", "one_two", "_one_two_", "__one__two__", "ONE_TWO", "oneTwo", "_", "", "a_b_c",
      "élan_été",
      "one_2", "_one",
    ])
  func keys(_ key: String) throws {
    struct Keys: Decodable, Equatable {
      let own: [String]
      let dictionary: [String: Int]
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        own = container.allKeys.map(\.stringValue).sorted()
        dictionary = try container.decode([String: Int].self, forKey: AnyKey(stringValue: "inner"))
      }
    }
    let text = "{\"\(key)\": 1, \"inner\": {\"\(key)\": 1}}"
    var own = JSONTextDecoder()
    let foundation = JSONDecoder()
    own.keyDecodingStrategy = .convertFromSnakeCase
    foundation.keyDecodingStrategy = .convertFromSnakeCase
    #expect(
      try decode(text, as: Keys.self, own) == foundation.decode(Keys.self, from: Data(text.utf8)))
    own.keyDecodingStrategy = .custom {
      $0.last.map { AnyKey(stringValue: $0.stringValue + "er") }!
    }
    let renamed = text.replacing("inner", with: "inn")
    #expect(try decode(renamed, as: Keys.self, own).own == [key + "er", "inner"].sorted())
  }

  // MARK: - Strategies

  @Test("applies the strategies of dates, data and floating-point numbers")
  func strategies() throws {
    var decoder = JSONTextDecoder()
    let instant = Date(timeIntervalSince1970: 1_700_000_000)
    #expect(try decode("721692800", as: Date.self, decoder) == instant)
    decoder.dateDecodingStrategy = .secondsSince1970
    #expect(try decode("1700000000", as: Date.self, decoder) == instant)
    decoder.dateDecodingStrategy = .millisecondsSince1970
    #expect(try decode("[1700000000000]", as: [Date].self, decoder) == [instant])
    decoder.dateDecodingStrategy = .iso8601
    #expect(try decode("\"2023-11-14T22:13:20Z\"", as: Date.self, decoder) == instant)
    #expect(throws: DecodingError.self) { try decode("\"yesterday\"", as: Date.self, decoder) }
    decoder.dateDecodingStrategy = .custom { decoder in
      Date(
        timeIntervalSince1970: try decoder.singleValueContainer().decode([String: Double].self)[
          "at"] ?? 0)
    }
    #expect(try decode("{\"at\": 1700000000}", as: Date.self, decoder) == instant)
    #expect(try decode("\"aGk=\"", as: Data.self, decoder) == Data("hi".utf8))
    decoder.dataDecodingStrategy = .deferredToData
    #expect(try decode("[104, 105]", as: Data.self, decoder) == Data("hi".utf8))
    #expect(throws: DecodingError.self) { try decode("\"inf\"", as: Double.self, decoder) }
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    #expect(
      try decode("[\"inf\", \"-inf\", 1]", as: [Float].self, decoder) == [.infinity, -.infinity, 1])
    #expect(try decode("\"nan\"", as: Double.self, decoder).isNaN)
  }

  // MARK: - Errors

  private struct Country: Decodable {
    struct City: Decodable {
      let name: String
      let population: Int8
    }
    let cities: [City]
  }

  @Test(
    "an error has the path and what was found",
    arguments: [
      (
        #"{"cities": [{"name": "Faro", "population": 1}, {"name": 7}]}"#, "cities.1.name",
        "a number"
      ),
      (#"{"cities": [{"name": null}]}"#, "cities.0.name", "null"),
      (#"{"cities": [{"name": "", "population": 300}]}"#, "cities.0.population", "300"),
      (#"{"cities": {}}"#, "cities", "an object"),
      (#"{"city": []}"#, "", "no member \"cities\""),
      (#"{"cities": ["#, "", "unexpected end"),
    ])
  func errors(text: String, path: String, found: String) {
    do {
      _ = try decode(text, as: Country.self)
      Issue.record("decoded")
    } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context)
    {
      let keys = context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }
      #expect(keys.joined(separator: ".") == path)
      #expect(context.debugDescription.contains(found), "\(context.debugDescription)")
    } catch {
      Issue.record(error)
    }
  }

  @Test("respects the limit of nesting, so that a text cannot exhaust the stack")
  func depth() {
    struct Nested: Decodable {
      init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        while !container.isAtEnd { _ = try container.decode(Nested.self) }
      }
    }
    let text = { String(repeating: "[", count: $0) + String(repeating: "]", count: $0) }
    #expect(throws: Never.self) { try decode(text(512), as: Nested.self) }
    #expect(throws: DecodingError.self) { try decode(text(513), as: Nested.self) }
  }

  @Test("a container that outlives the decoding stays valid")
  func outlives() throws {
    struct Kept: Decodable {
      let decoder: any Decoder
      init(from decoder: any Decoder) throws { self.decoder = decoder }
    }
    let kept = try decode("{\"a\": [\"text\"]}", as: Kept.self)
    #expect(try [String: [String]](from: kept.decoder) == ["a": ["text"]])
  }

  @Test("a class decodes its superclass from the member \"super\"")
  func classes() throws {
    class Animal: Decodable {
      let name: String
    }
    final class Bird: Animal {
      let wings: Int
      enum CodingKeys: CodingKey { case wings }
      required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        wings = try container.decode(Int.self, forKey: .wings)
        try super.init(from: container.superDecoder())
      }
    }
    let bird: Bird = try decode("{\"super\": {\"name\": \"Stork\"}, \"wings\": 2}")
    #expect(bird.name == "Stork" && bird.wings == 2)
    #expect(throws: DecodingError.self) { try decode("{\"wings\": 2}", as: Bird.self) }
  }
}

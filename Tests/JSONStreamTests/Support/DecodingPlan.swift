import Foundation
import GQLRunTestSupport

/// What a ``Planned`` value reads from its decoder: a random `Decodable` type.
indirect enum DecodingPlan: Sendable {
  case value(@Sendable (any SingleValueDecodingContainer) throws -> String)
  case optional(DecodingPlan)
  case object([(key: String, plan: DecodingPlan, isNested: Bool)])
  case array([DecodingPlan])
  case dictionary
  case list

  static let key = {
    guard let key = CodingUserInfoKey(rawValue: "plan") else { preconditionFailure("no key") }
    return key
  }()

  /// The types of values, with a function that decodes one and shows it.
  private static let types: [@Sendable (any SingleValueDecodingContainer) throws -> String] = [
    shows(Bool.self), shows(String.self), shows(Int.self), shows(Int8.self), shows(Int16.self),
    shows(Int32.self), shows(Int64.self), shows(UInt.self), shows(UInt8.self), shows(UInt16.self),
    shows(UInt32.self), shows(UInt64.self), shows(Double.self), shows(Float.self),
    shows(Decimal.self), shows(Date.self), shows(Data.self), shows(URL.self), shows([Int].self),
    shows([String?].self), shows([Double].self), shows([[Bool]].self),
  ]

  private static func shows<Value: Decodable & Sendable>(
    _ type: Value.Type
  ) -> @Sendable (any SingleValueDecodingContainer) throws -> String {
    { "\(type) \(String(reflecting: try $0.decode(type)))" }
  }

  static func random(_ random: inout SeededRandom, depth: Int = 0) -> Self {
    switch Int.random(in: 0..<(depth < 4 ? 10 : 3), using: &random) {
    case 0...2: return .value(types.randomElement(using: &random) ?? shows(Int.self))
    case 3: return .optional(.random(&random, depth: depth + 1))
    case 4: return .dictionary
    case 5: return .list
    case 6:
      return .array(
        (0..<Int.random(in: 0...4, using: &random)).map { _ in
          .random(&random, depth: depth + 1)
        })
    default:
      return .object(
        (0..<Int.random(in: 0...20, using: &random)).map { index in
          let plan = Self.random(&random, depth: depth + 1)
          return ("member_\(index) é\n", plan, Bool.random(using: &random))
        })
    }
  }

  /// Text that mostly fits the plan; the rest is of another kind, absent or too large.
  func text(_ random: inout SeededRandom) -> String {
    let space = ["", "", "", " ", "\n\t"].randomElement(using: &random) ?? ""
    if Int.random(in: 0..<60, using: &random) == 0 { return space + Self.anything(&random) }
    let text: String
    switch self {
    case .value:
      text = Self.scalars.randomElement(using: &random) ?? "0"
    case .optional(let plan): text = Bool.random(using: &random) ? "null" : plan.text(&random)
    case .dictionary:
      text = "{\"a\": 1, \"b_c\": -2, \"d\\u00e9\":3.0}"
    case .list: text = "[1,\(space) 2 ,null, \"x\",{\"y\":[[]]}]"
    case .array(let plans):
      text = "[\(plans.map { $0.text(&random) }.joined(separator: "\(space),"))]"
    case .object(let members):
      let written = members.filter { _ in Int.random(in: 0..<80, using: &random) > 0 }.shuffled(
        using: &random
      ).map { member in
        let key =
          Bool.random(using: &random)
          ? member.key.replacing("\n", with: "\\n")
          : "\\u006dember"
            + member.key.dropFirst(6).replacing("\n", with: "\\u000A")
            .replacing("é", with: "\\u00e9")
        return "\"\(key)\"\(space):\(member.plan.text(&random))"
      }
      text = "{\((written + ["\"other\": {\"a\": [{}, []]}"]).joined(separator: ","))\(space)}"
    }
    return space + text
  }

  private static let scalars = [
    "0", "-0", "1", "-1", "12", "127", "128", "-128", "-129", "255", "256", "65535", "65536",
    "2147483647", "2147483648", "-2147483649", "4294967295", "9223372036854775807",
    "-9223372036854775808", "9223372036854775808", "18446744073709551615", "18446744073709551616",
    "1.0", "1e2", "-2.50E+1", "0.1", "3.14159", "1e-7", "1e38", "1e39", "1e308", "1e309",
    "123456789012345678901234567890.12345678", "true", "false", "null", "\"\"", "\"text\"",
    "\"é \\u00e9 \\ud83d\\ude00 😀 \\n\\t\\b\\f\\r\\\\\\/\\\"\\u0000\"", "\"aGVsbG8=\"", "\"a\\nb\"",
    "\"https://example.com/a?b=c#d\"", "\"1\"", "[]", "[1, 2]", "[\"a\", null]", "[0.5]",
    "[[true], []]", "{}",
  ]

  private static func anything(_ random: inout SeededRandom) -> String {
    scalars.randomElement(using: &random) ?? "null"
  }
}

/// Decodes by the plan in the decoder's user info, and shows what it got.
struct Planned: Decodable {
  let transcript: String

  init(from decoder: any Decoder) throws {
    guard let plan = decoder.userInfo[DecodingPlan.key] as? DecodingPlan else {
      preconditionFailure("the user info has no plan")
    }
    transcript = try Self.read(plan, decoder)
  }

  private static func read(_ plan: DecodingPlan, _ decoder: any Decoder) throws -> String {
    switch plan {
    case .value(let decode): return try decode(decoder.singleValueContainer())
    case .optional(let plan):
      return try decoder.singleValueContainer().decodeNil() ? "nil" : read(plan, decoder)
    case .dictionary:
      return try decoder.singleValueContainer().decode([String: Int].self).sorted {
        $0.key < $1.key
      }
      .description
    case .list: return try list(decoder)
    case .array(let plans):
      var container = try decoder.unkeyedContainer()
      var texts = ["\(container.count ?? -1)"]
      for plan in plans {
        if try container.decodeNil() {
          texts.append("null")
        } else {
          texts.append(try read(plan, container.superDecoder()))
        }
      }
      return "\(texts) \(container.currentIndex) \(container.isAtEnd)"
    case .object(let members):
      let container = try decoder.container(keyedBy: AnyKey.self)
      var texts = [container.allKeys.map(\.stringValue).sorted().description]
      for member in members {
        let key = AnyKey(stringValue: member.key)
        texts.append("\(container.contains(key))")
        guard case .object(let inner) = member.plan, member.isNested else {
          _ = try container.decodeNil(forKey: key)
          texts.append(try read(member.plan, container.superDecoder(forKey: key)))
          continue
        }
        let nested = try container.nestedContainer(keyedBy: AnyKey.self, forKey: key)
        for member in inner {
          let key = AnyKey(stringValue: member.key)
          let text = try nested.decodeIfPresent(String.self, forKey: key)
          texts.append("\(nested.codingPath.count) \(text ?? "none")")
        }
      }
      return texts.description
    }
  }

  /// Every way to decode elements of different types.
  private static func list(_ decoder: any Decoder) throws -> String {
    var container = try decoder.unkeyedContainer()
    var texts: [String] = []
    while !container.isAtEnd {
      if try container.decodeNil() {
        texts.append("null")
      } else if let number = try? container.decode(Int.self) {
        texts.append("\(number)")
      } else if let text = try? container.decode(String.self) {
        texts.append(text)
      } else if var inner = try? container.nestedUnkeyedContainer() {
        while !inner.isAtEnd { texts.append("\(try inner.decode(Int?.self) as Any)") }
      } else {
        let object = try container.nestedContainer(keyedBy: AnyKey.self)
        for key in object.allKeys {
          var inner = try object.nestedUnkeyedContainer(forKey: key)
          texts.append(
            "\(key.stringValue) \(try inner.decode([Int].self)) \(inner.codingPath.count)")
        }
      }
    }
    return texts.description
  }
}

/// A coding key for any name.
struct AnyKey: CodingKey {
  var stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

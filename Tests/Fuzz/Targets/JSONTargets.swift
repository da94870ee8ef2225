import Foundation
import GQLRunTyped

@testable import GQLRunJSON

/// The parser against the strict one of the tests, in any chunks; values, writers and printers against each other.
@Sendable func fuzzJSON(_ input: FuzzInput) throws {
  var input = input
  let decision = input.decide()
  let text = input.bytes
  let whole = read(text)
  expectEqual(whole.error == nil, StrictOracle.accepts(text), of: "accepted")
  for (cuts, options) in [
    (Cuts.every(1), JSONParser.Options(minimumPiece: 1, slice: 3)),
    (.random(seed: UInt64(decision)), JSONParser.Options(minimumPiece: Int(decision % 9))),
  ] {
    let cut = read(text, cuts, options: options)
    expect(cut.agrees(with: whole), "\(cuts): \(cut.error as Any), whole \(whole.error as Any)")
  }
  guard whole.error == nil else { return }
  checkIndex(of: text)
  guard let value = try? JSONValue(parsing: text) else { return }
  let written = value.jsonBytes()
  expectEqual(try JSONValue(parsing: written), value, of: "compact text")
  expectEqual(try JSONValue(parsing: value.jsonBytes(pretty: true)), value, of: "indented text")
  expectEqual(try JSONValue(parsing: value.canonicalText), value, of: "canonical text")
  expectEqual(try JSONTextDecoder().decode(JSONValue.self, from: text), value, of: "decoded value")
  var (printer, printed) = (JSONPrettyPrinter(), [UInt8]())
  for chunk in chunks(of: written, decision) {
    chunk.withUnsafeBytes { printer.append($0, to: &printed) }
  }
  expectEqual(printed, value.jsonBytes(pretty: true), of: "printed in chunks")
}

/// The index that typed decoding uses: on valid text, the same values; on any text, no access out of bounds.
private func checkIndex(of text: [UInt8]) {
  let index = try? JSONIndex(checked: text)
  expect(index != nil, "no index of a valid text")
  guard let index, let value = try? JSONValue(parsing: text) else { return }
  expectEqual(try? JSONValue(index, at: 0), value, of: "indexed value")
}

/// Typed decoding of any text against Foundation's decoder and against the values of the parser.
@Sendable func fuzzDecoding(_ input: FuzzInput) throws {
  let text = input.bytes
  // Text of a parser is valid; other text must not lead out of bounds.
  if let index = try? JSONIndex(checked: text) { _ = try? JSONValue(index, at: 0) }
  guard let value = try? JSONValue(parsing: text) else {
    // Of several members of one key, the first is decoded.
    let isInvalid = !StrictOracle.accepts(text)
    let decoded = try? JSONTextDecoder().decode(Sample.self, from: text)
    expect(!isInvalid || decoded == nil, "invalid text decoded")
    return
  }
  let own = outcome { try JSONTextDecoder().decode(Sample.self, from: text) }
  // Foundation reads numbers through Double, and its limit of depth is its own.
  if let theirs = try? JSONDecoder().decode(Sample.self, from: Data(text)), !hasNumbers(value) {
    expectEqual(try? own.get(), theirs, of: "decoded")
  }
  let index = try TokenIndex(checked: text)
  guard let object = value.objectValue else {
    expect((try? index.root(as: Item.self)) == nil, "an object in other text")
    return
  }
  let item = outcome { try index.root(as: Item.self) }
  if case .success(let item) = item {
    expectEqual(item.id, object["id"]?.stringValue ?? "", of: "id")
    expectEqual(item.count, object["count"]?.numberValue?.intValue, of: "count")
    expectEqual(item.ratio, object["ratio"]?.numberValue?.doubleValue, of: "ratio")
    expectEqual(item.flag, object["flag"]?.boolValue, of: "flag")
    expectEqual(item.tags, object["tags"]?.arrayValue?.compactMap(\.stringValue), of: "tags")
  }
}

private func hasNumbers(_ value: JSONValue) -> Bool {
  switch value {
  case .number: true
  case .array(let elements): elements.contains(where: hasNumbers)
  case .object(let object): object.values.contains(where: hasNumbers)
  default: false
  }
}

private struct Sample: Codable, Equatable {
  var id: String?
  var flag: Bool?
  var tags: [String]?
  var by: [String: String]?
  var inner: [Sample]?
}

/// An object as `gqlrun generate` writes it.
private struct Item: GraphQLObject {
  var id: String
  var count: Int?
  var ratio: Double?
  var flag: Bool?
  var tags: [String]?

  static func read(from reader: inout ObjectReader) throws -> Item {
    Item(
      id: try reader.read("id", "ID!"), count: try reader.read("count", "Int"),
      ratio: try reader.read("ratio", "Float"), flag: try reader.read("flag", "Boolean"),
      tags: try reader.read("tags", "[String!]"))
  }

  func write(to writer: inout ObjectWriter) {}
}

/// Numbers, dates and identifiers: every notation of a number has one value, and what is written reads back.
@Sendable func fuzzScalars(_ input: FuzzInput) throws {
  let text = input.text
  if let number = JSONNumber(text: text) {
    expect(StrictOracle.accepts(Array(text.utf8)), "a number that is no JSON")
    if let value = number.intValue {
      // Exact up to 38 digits; a power of ten may have more.
      if let decimal = Decimal(string: text), text.utf8.count < 30 {
        expectEqual(decimal, Decimal(value), of: "whole number")
      }
    }
    let token = "[\(text)]"
    let index = try JSONIndex(checked: Array(token.utf8))
    if let short = index.shortInteger(1) {
      expectEqual(short, number.intValue, of: "short integer")
    }
    if let short = index.shortDecimal(1) { expectEqual(short, Double(text), of: "short decimal") }
    expectEqual(
      try? JSONTextDecoder().decode([Int].self, from: Array(token.utf8)).first, number.intValue,
      of: "decoded integer")
    expectEqual(
      try? JSONTextDecoder().decode([Double].self, from: Array(token.utf8)).first,
      number.doubleValue, of: "decoded number")
    if let decimal = try? Decimal(json: .number(number)) {
      expectEqual(try Decimal(json: decimal.json), decimal, of: "decimal")
    }
  } else {
    let isNumber =
      StrictOracle.accepts(Array(text.utf8))
      && (text.first.map { "-0123456789".contains($0) } ?? false)
      && !(text.last?.isWhitespace ?? true)
    expect(!isNumber, "a number that is refused")
  }
  let json = JSONValue.string(text)
  if let date = try? Date(json: json) {
    // Milliseconds are written.
    let again = try Date(json: date.json)
    expect(abs(again.timeIntervalSince(date)) < 0.002, "date \(date.json)")
  }
  if let uuid = try? UUID(json: json) { expectEqual(try UUID(json: uuid.json), uuid, of: "UUID") }
  if let url = try? URL(json: json) { _ = try? URL(json: url.json) }
}

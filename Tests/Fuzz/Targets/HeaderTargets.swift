import Foundation
import GQLRunSupport
import HTTPTypes

@testable import GQLRunBatch
@testable import GQLRunConfiguration
@testable import GQLRunPipeline
@testable import GQLRunPlugins

/// Dates of header fields against the grammar of the standard and Foundation's calendar, and delays of `Retry-After`.
@Sendable func fuzzDates(_ input: FuzzInput) throws {
  let text = input.text
  let found = HTTPDate.seconds(text)
  expectEqual(found, CookieDate.seconds(text), of: "the date \(text.debugDescription)")
  if let found {
    // The same date as servers should write it.
    let parts = Date(timeIntervalSince1970: found).ISO8601Format().split { "-T:Z".contains($0) }
    let month = CookieDate.months[(Int(parts[1]) ?? 1) - 1]
    let written =
      "Thu, \(parts[2]) \(month) \(parts[0]) \(parts[3]):\(parts[4]):\(parts[5]) GMT"
    expectEqual(HTTPDate.seconds(written), found, of: written)
  }
  for now in [0, 1_750_000_000.145, 253_402_300_799] {
    let delay = RetryAfter.delay(text, now: now)
    let trimmed = text.trimmingEnds()
    let isNumber = !trimmed.isEmpty && trimmed.utf8.allSatisfy { (48...57).contains($0) }
    let expected: Duration? =
      isNumber
      ? .seconds(Int(min(Double(trimmed) ?? .infinity, 0x1p40)))
      : HTTPDate.seconds(trimmed).map { .seconds(max($0 - now, 0)) }
    // A double has not all of the digits.
    if trimmed.count < 16 { expectEqual(delay, expected, of: "the delay \(trimmed)") }
    guard let delay else { continue }
    expect(delay >= .zero && delay <= .seconds(1 << 40), "the delay \(delay)")
    // As messages show it.
    expect(!delay.optionText.isEmpty, "a delay without text")
  }
}

/// The algorithm for dates of cookies, step by step, with the calendar of Foundation.
///
/// https://httpwg.org/http-extensions/draft-ietf-httpbis-rfc6265bis.html#section-5.1.1
private enum CookieDate {
  static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]
  private static let calendar: Calendar = {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    return calendar
  }()

  static func seconds(_ text: String) -> Double? {
    var (time, day, month, year): ([Int]?, Int?, Int?, Int?) = (nil, nil, nil, nil)
    for token in text.utf8.split(whereSeparator: isDelimiter).map({ Array($0) }) {
      if time == nil, let found = clock(token[...]) {
        time = found
      } else if day == nil, let found = number(token[...], digits: 1...2) {
        day = found
      } else if month == nil, token.count > 2,
        let index = months.firstIndex(of: String(decoding: token[..<3], as: UTF8.self).lowercased())
      {
        month = index + 1
      } else if year == nil, let found = number(token[...], digits: 2...4) {
        year = found
      }
    }
    guard let time, let day, let month, var year else { return nil }
    if (70...99).contains(year) { year += 1900 }
    if (0...69).contains(year) { year += 2000 }
    guard (1...31).contains(day), year >= 1601, time[0] <= 23, time[1] <= 59, time[2] <= 59
    else { return nil }
    let components = DateComponents(
      year: year, month: month, day: day, hour: time[0], minute: time[1], second: time[2])
    guard let date = calendar.date(from: components), calendar.component(.day, from: date) == day
    else { return nil }
    return date.timeIntervalSince1970
  }

  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
  }

  private static func clock(_ token: ArraySlice<UInt8>) -> [Int]? {
    var (rest, fields) = (token, [Int]())
    for index in 0..<3 {
      let digits = rest.prefix { (48...57).contains($0) }
      guard (1...2).contains(digits.count) else { return nil }
      fields.append(digits.reduce(0) { $0 * 10 + Int($1) - 48 })
      rest = rest.dropFirst(digits.count)
      guard index < 2 else { break }
      guard rest.popFirst() == 0x3A else { return nil }
    }
    return fields
  }

  private static func number(_ token: ArraySlice<UInt8>, digits: ClosedRange<Int>) -> Int? {
    let found = token.prefix { (48...57).contains($0) }
    guard digits.contains(found.count) else { return nil }
    return found.reduce(0) { $0 * 10 + Int($1) - 48 }
  }
}

/// Cookies of several responses against a jar that is searched in order: which request has which of them.
@Sendable func fuzzCookies(_ input: FuzzInput) throws {
  var input = input
  let decision = Int(input.decide())
  let origins = CookieModel.origins
  let (jar, model) = (CookieJar(), CookieModel())
  var now = 1_750_000_000.0
  for (index, line) in input.bytes.split(separator: 0x0A).prefix(20).enumerated() {
    let origin = origins[(decision + index * 5) % origins.count]
    // What a library for HTTP delivers is text without line breaks.
    let text = String(decoding: line, as: UTF8.self)
    jar.store([text], from: origin, now: now)
    model.store(text, from: origin, now: now)
    now += Double(decision % 7)
    for other in origins {
      let header = jar.header(for: other, now: now)
      expectEqual(header, model.header(for: other, now: now), of: "cookies after \(input.text)")
      if let header, header.utf8.allSatisfy({ $0 < 127 }) {
        expect(HTTPField.isValidValue(header), "cookies that cannot be sent: \(header)")
      }
    }
  }
}

/// A jar by the letter of the standard: a list, and texts as bytes.
private final class CookieModel {
  static let origins = [
    CookieOrigin(scheme: "https", authority: "a.example.com", path: "/x/y/graphql?a=/b/"),
    CookieOrigin(scheme: "http", authority: "A.example.com:8080", path: "/x"),
    CookieOrigin(scheme: "https", authority: "example.com", path: "/"),
    CookieOrigin(scheme: "wss", authority: "b.a.example.com", path: "/x/y"),
    CookieOrigin(scheme: "http", authority: "127.0.0.1", path: "/x/yz"),
    CookieOrigin(scheme: "https", authority: "[::1]:443", path: ""),
    CookieOrigin(scheme: "http", authority: "localhost", path: "/x/y/"),
  ]

  private struct Entry {
    var name: [UInt8]
    var value: [UInt8]
    var domain: [UInt8]
    var isHostOnly: Bool
    var path: [UInt8]
    var isSecure: Bool
    var expires: Double
  }

  private var entries: [Entry] = []

  func header(for origin: CookieOrigin, now: Double) -> String? {
    entries.removeAll { $0.expires <= now }
    let found = entries.filter { entry in
      (entry.isHostOnly
        ? Array(origin.host.utf8) == entry.domain
        : Self.isHost(Array(origin.host.utf8), in: entry.domain))
        && Self.isPath(Array(origin.path.utf8), in: entry.path)
        && (!entry.isSecure || origin.isSecure)
    }
    // Sorting keeps the order of entries with paths of the same length.
    let sorted = found.enumerated().sorted {
      ($1.element.path.count, $0.offset) < ($0.element.path.count, $1.offset)
    }
    guard !sorted.isEmpty else { return nil }
    let pairs = sorted.map { entry -> [UInt8] in
      let name = entry.element.name
      return name.isEmpty ? entry.element.value : name + Array("=".utf8) + entry.element.value
    }
    return String(decoding: Array(pairs.joined(separator: Array("; ".utf8))), as: UTF8.self)
  }

  func store(_ text: String, from origin: CookieOrigin, now: Double) {
    guard let new = Self.entry(text, from: origin, now: now) else { return }
    if !origin.isSecure,
      entries.contains(where: {
        $0.isSecure && $0.name == new.name
          && (Self.isHost($0.domain, in: new.domain) || Self.isHost(new.domain, in: $0.domain))
          && Self.isPath(new.path, in: $0.path)
      })
    {
      return
    }
    let old = entries.firstIndex {
      $0.name == new.name && $0.domain == new.domain && $0.isHostOnly == new.isHostOnly
        && $0.path == new.path
    }
    switch (old, new.expires <= now) {
    case (let old?, true): entries.remove(at: old)
    case (let old?, false): entries[old] = new
    case (nil, true): break
    case (nil, false): entries.append(new)
    }
  }

  private static func entry(_ text: String, from origin: CookieOrigin, now: Double) -> Entry? {
    guard !text.utf8.contains(where: { $0 < 32 && $0 != 9 || $0 == 127 }) else { return nil }
    let parts = text.utf8.split(separator: 0x3B, omittingEmptySubsequences: false).map {
      pair(Array($0))
    }
    let (name, value) = parts[0].isAlone ? ([], parts[0].name) : (parts[0].name, parts[0].value)
    guard name.count + value.count <= 4096, !(name.isEmpty && value.isEmpty) else { return nil }
    let host = Array(origin.host.utf8)
    var entry = Entry(
      name: name, value: value, domain: host, isHostOnly: true, path: defaultPath(origin),
      isSecure: false, expires: .infinity)
    var maxAge: Double?
    for part in parts.dropFirst() where part.value.count <= 1024 {
      switch lowercased(part.name) {
      case Array("expires".utf8):
        if let date = HTTPDate.seconds(String(decoding: part.value, as: UTF8.self)) {
          entry.expires = min(date, now + 400 * 86_400)
        }
      case Array("max-age".utf8):
        let digits = part.value.first == 0x2D ? part.value.dropFirst() : part.value[...]
        guard !digits.isEmpty, digits.allSatisfy({ (48...57).contains($0) }) else { continue }
        let seconds = digits.reduce(0.0) { min($0 * 10 + Double($1) - 48, 1e12) }
        maxAge = part.value.first == 0x2D ? -1 : seconds
      case Array("domain".utf8):
        guard part.value.allSatisfy({ $0 < 128 }) else { return nil }
        let domain = lowercased(
          part.value.first == 0x2E ? Array(part.value.dropFirst()) : part.value)
        (entry.domain, entry.isHostOnly) = domain.isEmpty ? (host, true) : (domain, false)
      case Array("path".utf8):
        entry.path = part.value.first == 0x2F ? part.value : defaultPath(origin)
      case Array("secure".utf8): entry.isSecure = true
      default: break
      }
    }
    if let maxAge { entry.expires = maxAge <= 0 ? 0 : now + min(maxAge, 400 * 86_400) }
    return isAccepted(&entry, origin, host) ? entry : nil
  }

  private static func isAccepted(
    _ entry: inout Entry, _ origin: CookieOrigin, _ host: [UInt8]
  ) -> Bool {
    if !entry.isHostOnly {
      guard isHost(host, in: entry.domain), entry.domain.contains(0x2E) || entry.domain == host
      else { return false }
      let isWhole = !entry.domain.contains(0x2E) || isAddress(entry.domain)
      if entry.domain == host, isWhole { entry.isHostOnly = true }
    }
    if entry.isSecure, !origin.isSecure { return false }
    // A server reads the value of a cookie without a name as its name.
    let name = lowercased(entry.name.isEmpty ? entry.value : entry.name)
    if name.starts(with: "__secure-".utf8) { return entry.isSecure && !entry.name.isEmpty }
    guard name.starts(with: "__host-".utf8) else { return true }
    return entry.isSecure && entry.isHostOnly && entry.path == [0x2F] && !entry.name.isEmpty
  }

  private static func pair(
    _ bytes: [UInt8]
  ) -> (name: [UInt8], value: [UInt8], isAlone: Bool) {
    guard let equals = bytes.firstIndex(of: 0x3D) else { return (trimmed(bytes[...]), [], true) }
    return (trimmed(bytes[..<equals]), trimmed(bytes[(equals + 1)...]), false)
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    return Array(bytes.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
  }

  /// Only ASCII has letters in two cases.
  private static func lowercased(_ bytes: [UInt8]) -> [UInt8] {
    bytes.map { (65...90).contains($0) ? $0 + 32 : $0 }
  }

  private static func isAddress(_ host: [UInt8]) -> Bool {
    host.first == 0x5B
      || host.split(separator: 0x2E).last.map { $0.allSatisfy { (48...57).contains($0) } } ?? false
  }

  private static func isHost(_ host: [UInt8], in domain: [UInt8]) -> Bool {
    host == domain
      || host.count > domain.count && host.suffix(domain.count + 1).elementsEqual([0x2E] + domain)
        && !isAddress(host)
  }

  private static func isPath(_ path: [UInt8], in prefix: [UInt8]) -> Bool {
    path == prefix
      || path.starts(with: prefix) && (prefix.last == 0x2F || path[prefix.count] == 0x2F)
  }

  private static func defaultPath(_ origin: CookieOrigin) -> [UInt8] {
    let path = Array(origin.path.utf8)
    guard path.first == 0x2F, let last = path.lastIndex(of: 0x2F), last > 0 else { return [0x2F] }
    return Array(path[..<last])
  }
}

/// Heads of responses: a status, and header fields as lines `name: value`. What plugins read of them is within limits;
/// a parameter of a media type is read as it was written.
@Sendable func fuzzHeads(_ input: FuzzInput) throws {
  var input = input
  let decision = Int(input.decide())
  let lines = input.bytes.split(separator: 0x0A, maxSplits: 12)
  let head = HTTPResponse(
    status: .init(code: [200, 403, 429, 503, 302, 204, 101, 599][decision % 8]),
    headerFields: headerFields(lines))
  let type = ResponseCheck.mediaType(head)
  expect(type?.contains { $0.isWhitespace || $0 == ";" } != true, "the type \(type ?? "")")
  _ = ResponseCheck.isPlainText(head.headerFields)
  for value in [head.headerFields[.contentType] ?? "", input.text] {
    checkParameters(of: value)
  }
  try checkBudget(head, body: lines.first.map { Array($0) } ?? [], decision)
  try wait {
    let response = HTTPResponseMessage(
      head: head, body: HTTPBody([lines.last.map { Array($0) } ?? []]))
    do {
      try await ResponseCheck.requireJSON(response, location: "fetch")
    } catch let error as ChainError {
      expect(error.code == .malformedResponse || error.code == .unexpectedContentType, "\(error)")
      expect(error.message.utf8.count < 4096, "a message of \(error.message.utf8.count) bytes")
      _ = FailureKind(error, mayRepeat: decision % 2 == 0, now: 1_750_000_000)
    }
  }
}

private func headerFields(_ lines: [ArraySlice<UInt8>]) -> HTTPFields {
  var fields = HTTPFields()
  for line in lines {
    let text = String(decoding: line, as: UTF8.self)
    guard let colon = text.firstIndex(of: ":"), let name = HTTPField.Name(String(text[..<colon]))
    else { continue }
    fields.append(HTTPField(name: name, value: String(text[text.index(after: colon)...])))
  }
  return fields
}

/// A parameter that is written as a quoted string reads back, whatever precedes it.
private func checkParameters(of value: String) {
  _ = EventFraming.parameter("boundary", of: value)
  let scalars = value.unicodeScalars.flatMap { scalar -> [Unicode.Scalar] in
    scalar == "\\" || scalar == "\"" ? ["\\", scalar] : [scalar]
  }
  let quoted = String(String.UnicodeScalarView(scalars))
  for start in ["multipart/mixed", "a;b=\"\\\";\";c= d ; x"] {
    expectEqual(
      EventFraming.parameter("boundary", of: "\(start); Boundary=\"\(quoted)\";e=f"), value,
      of: "the parameter \(quoted)")
  }
}

/// The rate limit of a server: what it reports never makes a caller wait for longer than a day, or for less than nothing.
private func checkBudget(_ head: HTTPResponse, body: [UInt8], _ decision: Int) throws {
  let budget = RequestBudget()
  let kinds = RequestBudget.Kind.allCases
  var now = Duration.zero
  for round in 0..<4 {
    let estimate =
      decision & 8 == 0 ? nil : RequestBudget.Estimate(group: "g", points: Double(decision))
    let reserve: RequestBudget.Reserve = decision & 16 == 0 ? .count(round) : .share(0.1)
    switch budget.admit(
      "a", nil, estimate: estimate, reserve: reserve, now: now, until: now + .seconds(1 << 40))
    {
    case .granted(let delay, let ticket):
      expect(delay >= .zero, "a delay of \(delay)")
      budget.note(head, of: ticket, now: now, time: 1_750_000_000)
      if let value = try? JSONValue(parsing: body) {
        budget.note(
          value, kinds[(decision + round) % kinds.count], of: ticket, now: now,
          time: 1_750_000_000)
      }
      budget.noteEnd(ticket, isAnswered: round % 2 == 0)
    case .later(let delay):
      expect(delay > .zero && delay <= .seconds(86_401), "a delay of \(delay)")
      now += delay
    case .tooLong(let delay, let reason): fail("\(reason): \(delay)")
    }
    if let left = budget.left(now: now) { expect(!left.left.isNaN, "what is left is no number") }
    _ = budget.isExcessive("a", estimate: estimate, reserve: reserve)
    _ = budget.takeReport()
  }
}

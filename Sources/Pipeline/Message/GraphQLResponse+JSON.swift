import Foundation
package import GQLRunJSON

extension GraphQLResponse {
  /// Calls `body` with the response as JSON text, piece by piece: `data`, then `errors` and
  /// `extensions` if there are any.
  ///
  /// - Parameter body: Called with each piece in order; the pointer is only valid during the call.
  /// - Throws: The errors of `body`, and an error if buffered data cannot be read from its file.
  public func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try Array(#"{"data":"#.utf8).withUnsafeBytes(body)
    if let data {
      try data.forEachChunk(body)
    } else {
      try Array("null".utf8).withUnsafeBytes(body)
    }
    var tail: [UInt8] = []
    if !errors.isEmpty {
      tail += Array(#","errors":"#.utf8) + JSONValue.array(errors.map(\.json)).jsonBytes()
    }
    if let extensions {
      tail += Array(#","extensions":"#.utf8) + JSONValue.object(extensions).jsonBytes()
    }
    tail.append(UInt8(ascii: "}"))
    try tail.withUnsafeBytes(body)
  }
}

extension GraphQLError {
  /// The error as JSON, as in a response.
  package var json: JSONValue {
    var object = JSONObject()
    object["message"] = .string(message)
    if !locations.isEmpty {
      object["locations"] = Self.json(locations)
    }
    if let path {
      object["path"] = .array(
        path.map { step in
          switch step {
          case .key(let key): .string(key)
          case .index(let index): .number(JSONNumber(index))
          }
        })
    }
    if let extensions { object["extensions"] = .object(extensions) }
    return .object(object)
  }

  /// Locations as JSON, as in a response.
  package static func json(_ locations: [Location]) -> JSONValue {
    .array(
      locations.map { location in
        .object([
          "line": .number(JSONNumber(location.line)),
          "column": .number(JSONNumber(location.column)),
        ])
      })
  }
}

extension SubscriptionGap {
  /// The gap as a line of NDJSON between events:
  /// `{"gap":{"since":"2026-11-23T20:15:00Z","lostConnection":true,"cause":"…"}}`.
  ///
  /// `dropped` is a member if events were dropped, and `catchUp` (`succeeded` or `failed`) if a query has fetched what
  /// was missed. An event has no member `gap`, so that a reader can tell the two apart.
  ///
  /// - Parameters:
  ///   - cause: Why events may be missing, for people and without secrets; `nil` leaves it out.
  ///   - until: The time from which events are complete again, in seconds since 1970; `nil` leaves it out.
  ///   - others: Further members, such as the task of a batch. They precede those of the gap.
  /// - Returns: The JSON text, without a line feed.
  package func gapLine(
    cause: String? = nil, until: Double? = nil, others: JSONObject = JSONObject()
  ) -> [UInt8] {
    func time(_ seconds: Double) -> JSONValue {
      .string(Date(timeIntervalSince1970: seconds).formatted(.iso8601))
    }
    var gap = others
    gap["since"] = time(since)
    if let until { gap["until"] = time(until) }
    gap["lostConnection"] = .boolean(lostConnection)
    if let cause { gap["cause"] = .string(cause) }
    if dropped > 0 { gap["dropped"] = .number(JSONNumber(dropped)) }
    switch catchUp {
    case .succeeded: gap["catchUp"] = "succeeded"
    case .failed: gap["catchUp"] = "failed"
    case nil: break
    }
    return JSONValue.object(["gap": .object(gap)]).jsonBytes()
  }
}

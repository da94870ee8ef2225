import Foundation
import GQLRunJSON
import GQLRunPipeline

/// Where events have the time at which the server made them, such as `data.messageAdded.at`.
///
/// The time is ISO 8601, or a number of seconds or milliseconds since 1970.
package struct EventTime: Sendable {
  private let keys: [String]

  /// - Parameter path: The fields from `data` to the time, separated by dots.
  /// - Throws: ``ProfileError`` for another text.
  package init(_ path: String) throws(ProfileError) {
    keys = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard keys.count > 1, keys[0] == "data", !keys.contains("") else {
      throw ProfileError(
        "cannot read --event-time \(path); write the fields from the data to the time, such as data.messageAdded.at"
      )
    }
  }

  private static let maxData = 16 << 20

  /// The time in an event, in seconds since 1970; `nil` if it has none.
  func seconds(in response: GraphQLResponse) -> Double? {
    guard let data = response.data, data.count <= Self.maxData else { return nil }
    let value = try? JSONValue(parsing: data.bytes())
    return keys.dropFirst().reduce(value) { $0?[$1] }.flatMap { Self.seconds($0) }
  }

  static func seconds(_ value: JSONValue) -> Double? {
    if let number = value.doubleValue {
      // Milliseconds reach 1e14, and seconds 1e11, in the year 5138.
      guard number < 1e14 else { return nil }
      return number < 1e11 ? number : number / 1e3
    }
    // The style of Foundation reads fractions of seconds, too.
    return value.stringValue.flatMap { try? Date($0, strategy: .iso8601) }?.timeIntervalSince1970
  }
}

/// The members of the response around `data`.
struct Envelope {
  /// The member whose value is next.
  enum Member: UInt8 { case data, errors, extensions, other }

  private(set) var member = Member.other
  /// The text of a captured member.
  var errors: [UInt8]?
  var extensions: [UInt8]?
  var hasData = false
  var dataIsNull = false

  mutating func begin(_ key: Bytes) {
    if key.equals("data") {
      member = .data
    } else if key.equals("errors") {
      member = .errors
    } else if key.equals("extensions") {
      member = .extensions
    } else {
      member = .other
    }
  }
}

import Foundation

/// A generated object of the shop or of a repository: its number among those of its type, from 0.
///
/// Like a post, it is the same in lists of any size, and is generated without the others.
struct ListedObject: Sendable, Hashable {
  /// The type of an object.
  enum Kind: Int, CaseIterable {
    case customer, order, line, repository, issue, issueComment, label

    private static let prefixes = ["CU", "O", "L", "R", "I", "IC", "LA"]
    private static let typeNames = [
      "Customer", "Order", "Line", "Repository", "Issue", "IssueComment", "Label",
    ]

    /// The first letters of ids.
    var prefix: String { Self.prefixes[rawValue] }
    var typeName: String { Self.typeNames[rawValue] }
    /// Whether `node` finds its objects.
    var isNode: Bool { self != .order && self != .line }
  }

  let kind: Kind
  let number: Int

  init(_ kind: Kind, _ number: Int) {
    self.kind = kind
    self.number = number
  }

  /// The object with an id; `nil` unless the id has this server's canonical form.
  init?(id: String) {
    let sides = id.split(separator: "_", omittingEmptySubsequences: false)
    guard sides.count == 2, let kind = Kind.allCases.first(where: { $0.prefix == sides[0] }),
      let number = Int(sides[1]), number >= 0
    else { return nil }
    self.init(kind, number)
    guard self.id == id else { return nil }
  }

  /// The object at a cursor; `nil` for any other text.
  init?(cursor: String) {
    guard cursor.utf8.count <= 40, let bytes = Data(base64Encoded: cursor) else { return nil }
    self.init(id: String(decoding: bytes, as: UTF8.self))
    guard self.cursor == cursor else { return nil }
  }

  var id: String { "\(kind.prefix)_\(number)" }
  /// Its position in lists: the id in base64.
  var cursor: String { Data(id.utf8).base64EncodedString() }

  /// Random numbers for one of its fields, other than those of the feed.
  func draw(_ field: Int) -> SplitMix64 {
    SplitMix64(UInt64(16 + kind.rawValue) << 56 | UInt64(field) << 48 | UInt64(number))
  }
}

/// The numbers of the objects of a list, in ascending order: single ones, then all of a range.
struct NumberList: Sendable {
  /// Below ``rest``.
  var single: [Int] = []
  var rest: Range<Int>

  var count: Int { single.count + rest.count }

  /// The number at a position.
  subscript(position: Int) -> Int {
    position < single.count ? single[position] : rest.lowerBound + position - single.count
  }

  /// The positions of at most `first` numbers above another one.
  func page(after number: Int?, first: Int) -> Range<Int> {
    let start =
      number.map { number in
        single.count { $0 <= number }
          + (number < rest.lowerBound ? 0 : min(number - rest.lowerBound, rest.count - 1) + 1)
      } ?? 0
    return start..<(start + min(max(first, 0), count - start))
  }
}

/// How many objects belong to each object above them: by chance, with a sum that is known for a number of those above.
struct Shares: Sendable {
  /// The first number of each of ``period`` objects above, and the number of all.
  private let starts: [Int]

  private var period: Int { starts.count - 1 }
  private var total: Int { starts[period] }

  /// - Parameters:
  ///   - total: The number of objects.
  ///   - owners: The number of objects that they belong to.
  ///   - kind: The kind of the objects that they belong to.
  init(_ total: Int, of owners: Int, kind: ListedObject.Kind) {
    // A few have many, and every eleventh has none.
    let weights = (0..<owners).map { number in
      number % 11 == 10 ? 0 : pow(ListedObject(kind, number).draw(63).fraction, 4) + 0.03
    }
    let sum = weights.reduce(0, +)
    var reached = 0.0
    starts =
      [0]
      + weights.map { weight in
        reached += weight
        return Int((Double(total) * reached / sum).rounded())
      }
  }

  /// The numbers of the objects that belong to one.
  func numbers(of owner: Int) -> Range<Int> {
    let (round, position) = owner.quotientAndRemainder(dividingBy: period)
    return (round * total + starts[position])..<(round * total + starts[position + 1])
  }

  /// The number of the object that one belongs to.
  func owner(of number: Int) -> Int {
    let (round, rest) = number.quotientAndRemainder(dividingBy: total)
    var (low, high) = (0, period - 1)
    while low < high {
      let middle = (low + high) / 2
      if starts[middle + 1] > rest { high = middle } else { low = middle + 1 }
    }
    return round * period + low
  }

  /// The number of all objects that belong to some of the first ones.
  func count(ofFirst owners: Int) -> Int { owners == 0 ? 0 : numbers(of: owners - 1).upperBound }
}

/// Times in seconds since the start of 2026.
enum DemoTime {
  private static let start = 1_767_225_600

  /// The time in ISO 8601.
  static func text(_ seconds: Int) -> String {
    var time = start + seconds
    var parts = tm()
    gmtime_r(&time, &parts)
    let date = [parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday]
    return
      "\(joined(date, "-"))T\(joined([parts.tm_hour, parts.tm_min, parts.tm_sec], ":"))Z"
  }

  private static func joined(_ numbers: [Int32], _ separator: String) -> String {
    numbers.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: separator)
  }

  /// The seconds of a time in ISO 8601, with or without fractions; `nil` for any other text.
  static func seconds(_ text: String) -> Double? {
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains("."))
    return (try? style.parse(text)).map { $0.timeIntervalSince1970 - Double(start) }
  }
}

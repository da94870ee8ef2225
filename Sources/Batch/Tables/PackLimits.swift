import GQLRunJSON

/// How large a request for pages of one connection may be: the number of pages, and their size.
///
/// A refusal as too costly halves the number, and from one page on the size. Good responses let both grow again slowly.
struct PackLimits: Sendable {
  /// A number that adapts.
  private struct Level: Sendable {
    let most: Int
    private(set) var current: Int
    /// The number in the last good response that had the current one.
    private var good: Int?
    /// The number of good responses since the last change.
    private var count = 0
    /// The number of good responses before a larger number is tried.
    private var patience = 16

    private static let maxPatience = 1_024

    init(_ most: Int, current: Int? = nil) {
      self.most = most
      self.current = min(max(current ?? most, 1), most)
    }

    /// Becomes smaller after a refusal of a request with a number; returns whether it can.
    mutating func shrink(after used: Int) -> Bool {
      // It became smaller after the request was sent.
      if used > current { return true }
      guard used > 1 else { return false }
      count = 0
      if let good, good < used {
        // The larger number was a try.
        current = good
        patience = min(patience * 2, Self.maxPatience)
      } else {
        current = used / 2
      }
      return true
    }

    /// Becomes larger, if it is time, after a good response to a request with a number.
    mutating func grow(after used: Int) {
      guard used == current else { return }
      good = used
      count += 1
      guard current < most, count >= patience else { return }
      current = min(current + max(most / 8, 1), most)
      count = 0
    }

    /// Becomes as large as in the last good response, because the refusals had another reason.
    mutating func restore() {
      if let good, good > current { (current, count) = (good, 0) }
      good = nil
    }
  }

  private var pages: Level
  /// `nil` if the connection has no argument for the size.
  private var size: Level?
  /// The size that the server is assumed to choose, which is halved.
  private static let assumedSize = 50

  /// - Parameter pageSize: That of the document; `nil` if it is not known.
  init(pack: Int, pageSize: Int?, hasSize: Bool) {
    pages = Level(pack)
    size = hasSize ? Level(max(pageSize ?? Self.assumedSize, 1)) : nil
  }

  /// The maximum number of pages in a request.
  var pack: Int { pages.current }

  /// The size of a page; `nil` for that of the document.
  var pageSize: Int? { size.flatMap { $0.current < $0.most ? $0.current : nil } }

  /// Learns that a pack costs too much; returns `false` if no smaller one is possible.
  mutating func shrink(after pack: ContinuationPack) -> Bool {
    if pack.continuations.count > 1 { return pages.shrink(after: pack.continuations.count) }
    guard let most = size?.most else { return false }
    return size?.shrink(after: pack.pageSize ?? most) ?? false
  }

  /// Learns that the first response costs too much; returns `false` if its page cannot be smaller.
  mutating func shrinkPage() -> Bool {
    guard let current = size?.current else { return false }
    return size?.shrink(after: current) ?? false
  }

  /// Learns that a pack was answered.
  mutating func grow(after pack: ContinuationPack) {
    if let most = size?.most { size?.grow(after: pack.pageSize ?? most) }
    // First the size, which became smaller last.
    if pageSize == nil { pages.grow(after: pack.continuations.count) }
  }

  /// Learns that a page cannot be had in any size.
  mutating func restore() {
    pages.restore()
    size?.restore()
  }

  // MARK: In a journal

  /// Whether nothing was refused.
  var isInitial: Bool { pages.current == pages.most && pageSize == nil }

  /// What ``read(_:)`` reads.
  var value: JSONValue { .numbers([pages.current] + [pageSize].compactMap { $0 }) }

  /// Continues with what a journal has.
  mutating func read(_ value: JSONValue) {
    if let pack = value[0]?.intValue { pages = Level(pages.most, current: pack) }
    if let pageSize = value[1]?.intValue, let size {
      self.size = Level(size.most, current: pageSize)
    }
  }
}

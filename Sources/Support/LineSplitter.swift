/// Splits bytes that arrive in blocks at their line feeds.
package struct LineSplitter {
  private var held: [UInt8] = []
  /// The index of the first byte of the next line.
  private var start = 0
  /// The index after the bytes without a line feed.
  private var searched = 0

  /// Creates a splitter without bytes.
  package init() {}

  /// The number of bytes after the last line.
  package var length: Int { held.count - start }

  /// Adds the next bytes.
  package mutating func add(_ bytes: some Collection<UInt8>) {
    held.removeFirst(start)
    searched -= start
    start = 0
    held += bytes
  }

  /// The next line without its end; `nil` if it has not arrived.
  package mutating func next() -> ArraySlice<UInt8>? {
    guard let end = held[searched...].firstIndex(of: 0x0A) else {
      searched = held.count
      return nil
    }
    defer { (start, searched) = (end + 1, end + 1) }
    return held[start..<end]
  }

  /// The next line at the end of the bytes, which no line feed follows; `nil` after the last one.
  package mutating func rest() -> ArraySlice<UInt8>? {
    if let line = next() { return line }
    defer { start = held.count }
    return start < held.count ? held[start...] : nil
  }
}

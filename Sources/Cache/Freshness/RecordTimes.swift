/// When the fields of a record were received, in seconds since 1970.
///
/// One time applies to the record; fields that were received earlier are exceptions. The content of
/// a field (an object without identity, a list) has the time of its oldest part
/// (`docs/decisions/0010-received-times.md`).
package struct RecordTimes: Equatable, Sendable {
  /// The latest time at which a field was received.
  package var received: UInt32
  /// The older fields, as a JSON object from stored key to time: `{"name":1700000000}`. Empty if
  /// there are none.
  package var ages: [UInt8] = []

  package init(received: UInt32, ages: [UInt8] = []) {
    self.received = received
    self.ages = ages
  }

  /// The time of the field with the quoted stored key `key`; 0 if it is unreadable.
  func time(of key: Bytes) -> UInt32 {
    if ages.isEmpty { return received }
    return ages.withBytes { ages in
      var cursor = FieldCursor(ages)
      while let field = cursor.next() {
        guard cursor.text[field.key].equals(key) else { continue }
        return UInt32(cursor.text[field.value].string) ?? 0
      }
      return cursor.isMalformed ? 0 : received
    }
  }

  /// Calls `body` with a function that is ``time(of:)``, for many fields: the ages are read once.
  func withFields<Result>(_ body: ((Bytes) -> UInt32) -> Result) -> Result {
    if ages.isEmpty { return body { _ in received } }
    return ages.withBytes { ages in
      var index = FieldIndex(ages)
      return body { key in
        guard let time = index.take(key) else { return index.isMalformed ? 0 : received }
        return UInt32(ages[time].string) ?? 0
      }
    }
  }

  /// The times with those of some fields of the record `text` replaced.
  func replacing(_ other: [(key: [UInt8], time: UInt32)], in text: [UInt8]) -> RecordTimes {
    let replaced = Dictionary(other.map { ($0.key, $0.time) }) { first, _ in first }
    return text.withBytes { text in
      withFields { time in
        var fields: [(key: Bytes, time: UInt32)] = []
        var cursor = FieldCursor(text)
        while let field = cursor.next() {
          let key = text[field.key]
          let other = replaced.isEmpty ? nil : replaced[key.array]
          fields.append((key, other ?? time(key)))
        }
        return RecordTimes(fields, default: received)
      }
    }
  }

  /// The times of a record after the pages among `before` were joined with their lists: a list that
  /// consists of its page only has the page's time, every other list keeps its time. `nil` if
  /// nothing was joined.
  func joined(_ before: [UInt8], after: [UInt8], lists: [[UInt8]]) -> RecordTimes? {
    guard !lists.isEmpty else { return nil }
    let pages = ObjectText(before).entries.filter(\.isPage)
    guard !pages.isEmpty else { return nil }
    let object = ObjectText(after)
    // The pages still exist: nothing was joined yet.
    if object.entries.contains(where: \.isPage) { return nil }
    let values = object.values
    let replaced = lists.compactMap { list -> (key: [UInt8], time: UInt32)? in
      let page = pages.first { page in
        page.key.suffix(list.count).elementsEqual([UInt8(ascii: ":")] + list.dropFirst())
          && values[list] == page.value
      }
      guard let page else { return nil }
      return (list, page.key.withBytes { time(of: $0) })
    }
    return replacing(replaced, in: after)
  }

  /// Creates times from those of the fields.
  init(_ fields: [(key: Bytes, time: UInt32)], default received: UInt32) {
    self.received = fields.reduce(nil) { max($0 ?? 0, $1.time) } ?? received
    var text = ByteStack(capacity: 64)
    for field in fields where field.time < self.received {
      text.append(UInt8(ascii: text.count == 0 ? "{" : ","))
      text.append(field.key)
      text.append(utf8: ":\(field.time)")
    }
    if text.count > 0 { text.append(UInt8(ascii: "}")) }
    ages = text.all.array
  }
}

/// The times of a response that is merged into records.
struct TimeMerge {
  /// When the response was received.
  let received: UInt32
  /// An unchanged field keeps its time if that differs by less than this number of seconds, so that
  /// nothing is written. 0 is exact.
  let granularity: UInt32

  /// Whether a time is recent enough for unchanged data.
  @inline(__always)
  func isNear(_ time: UInt32) -> Bool {
    time > received ? time - received < granularity : received - time < granularity
  }

  /// The times after `new` was merged into `old`; `nil` if those of `old` are still valid.
  ///
  /// A received field has the time of the response, unless a part of its stored value was not
  /// received with it. A field that was not received keeps its time.
  func times(
    old: Bytes, _ times: RecordTimes, new: Bytes, merged: Bytes, differs: Bool
  ) -> RecordTimes? {
    if merged.equals(new) {
      if !differs && times.ages.isEmpty && isNear(times.received) { return nil }
      return settled(RecordTimes(received: received), times)
    }
    var arrived = FieldIndex(new)
    var known = FieldIndex(old)
    var fields: [(key: Bytes, time: UInt32)] = []
    var isRenewed = differs
    times.withFields { time in
      var cursor = FieldCursor(merged)
      while let field = cursor.next() {
        let key = merged[field.key]
        let value = arrived.take(key)
        let before = known.take(key) == nil ? nil : time(key)
        if let value, before == nil || Self.covers(new[value], merged[field.value]) {
          if let before, !isNear(before) { isRenewed = true }
          fields.append((key, received))
        } else {
          fields.append((key, before ?? received))
        }
      }
    }
    guard isRenewed else { return nil }
    return settled(RecordTimes(fields, default: times.received), times)
  }

  private func settled(_ new: RecordTimes, _ old: RecordTimes) -> RecordTimes? {
    new == old ? nil : new
  }

  /// Whether `arrived` contains everything in `stored`.
  private static func covers(_ arrived: Bytes, _ stored: Bytes) -> Bool {
    if arrived.equals(stored) { return true }
    switch (RecordText.kind(arrived), RecordText.kind(stored)) {
    case (.object, .object):
      var index = FieldIndex(arrived)
      var cursor = FieldCursor(stored)
      while let field = cursor.next() {
        guard let value = index.take(stored[field.key]),
          covers(arrived[value], stored[field.value])
        else { return false }
      }
      return !cursor.isMalformed
    case (.list, .list):
      var left = ElementCursor(arrived)
      var right = ElementCursor(stored)
      while let element = right.next() {
        guard let other = left.next(), covers(arrived[other], stored[element]) else { return false }
      }
      return left.next() == nil && !right.isMalformed
    default: return false
    }
  }
}

/// When the fields of a record were received, in seconds since 1970.
///
/// One time holds for the record; fields that were received earlier are exceptions. What stands inside
/// a field (an object without identity, a list) has the time of its oldest part
/// (`docs/decisions/0010-received-times.md`).
package struct RecordTimes: Equatable, Sendable {
  /// The latest time at which any of the fields was received.
  package var received: UInt32
  /// The fields that are older, as a JSON object from stored key to time: `{"name":1700000000}`.
  /// Empty when there are none.
  package var ages: [UInt8] = []

  package init(received: UInt32, ages: [UInt8] = []) {
    self.received = received
    self.ages = ages
  }

  /// The time of the field with the quoted stored key `key`. One that cannot be read counts as the
  /// oldest there is.
  func time(of key: Bytes) -> UInt32 {
    if ages.isEmpty { return received }
    return ages.withUnsafeBufferPointer { ages in
      var cursor = FieldCursor(Bytes(ages))
      while let field = cursor.next() {
        guard cursor.text[field.key].equals(key) else { continue }
        return UInt32(cursor.text[field.value].string) ?? 0
      }
      return cursor.isMalformed ? 0 : received
    }
  }

  /// The same times, with others for some fields of the record `text`.
  func replacing(_ other: [(key: [UInt8], time: UInt32)], in text: Bytes) -> RecordTimes {
    var fields: [(key: Bytes, time: UInt32)] = []
    var cursor = FieldCursor(text)
    while let field = cursor.next() {
      let key = text[field.key]
      fields.append((key, other.first { key.equals($0.key) }?.time ?? time(of: key)))
    }
    return RecordTimes(fields, default: received)
  }

  /// The times of a record after pages among `before` were joined with the lists they belong to: a list
  /// that is now nothing but its page is as old as that, any other as old as it was. `nil` when nothing
  /// was joined.
  func joined(_ before: [UInt8], _ after: Bytes, _ lists: [[UInt8]]) -> RecordTimes? {
    guard !lists.isEmpty else { return nil }
    let pages = ObjectText(before).entries.filter(\.isPage)
    guard !pages.isEmpty else { return nil }
    var values: [[UInt8]: [UInt8]] = [:]
    var cursor = FieldCursor(after)
    while let field = cursor.next() {
      // Pages are still there: nothing was joined yet.
      if after[field.key].hasPrefix(PageRule.mark) { return nil }
      values[after[field.key].array] = after[field.value].array
    }
    let replaced = lists.compactMap { list -> (key: [UInt8], time: UInt32)? in
      let page = pages.first { page in
        page.key.suffix(list.count).elementsEqual([UInt8(ascii: ":")] + list.dropFirst())
          && values[list] == page.value
      }
      guard let page else { return nil }
      return (list, page.key.withUnsafeBufferPointer { time(of: Bytes($0)) })
    }
    return replacing(replaced, in: after)
  }

  /// Times from those of the single fields.
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

/// What a response says about the times of the records it joins.
struct TimeMerge {
  /// When the response was received.
  let received: UInt32
  /// A field that comes again unchanged keeps its time while that is less than so many seconds away:
  /// then nothing needs to be written. 0 is exact.
  let granularity: UInt32

  /// Whether a time is so near that unchanged data need no other.
  @inline(__always)
  func isNear(_ time: UInt32) -> Bool {
    time > received ? time - received < granularity : received - time < granularity
  }

  /// The times after `new` was merged into `old`, or `nil` when those of `old` may stay.
  ///
  /// A field that arrived has the time of the response, unless a part of what is stored now did not
  /// arrive with it. One that did not arrive keeps its own.
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
    var cursor = FieldCursor(merged)
    while let field = cursor.next() {
      let key = merged[field.key]
      let value = arrived.take(key)
      let before = known.take(key) == nil ? nil : times.time(of: key)
      if let value, before == nil || Self.covers(new[value], merged[field.value]) {
        if let before, !isNear(before) { isRenewed = true }
        fields.append((key, received))
      } else {
        fields.append((key, before ?? received))
      }
    }
    guard isRenewed else { return nil }
    return settled(RecordTimes(fields, default: times.received), times)
  }

  private func settled(_ new: RecordTimes, _ old: RecordTimes) -> RecordTimes? {
    new == old ? nil : new
  }

  /// Whether everything in `stored` stands in `arrived`, too.
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

/// A moment as records know it.
enum Seconds {
  /// Seconds since 1970 as they are stored: never negative, and no later than 2106.
  static func stored(_ seconds: Int) -> UInt32 { UInt32(clamping: seconds) }
}

/// Values: leaves, lists and references.
extension RecordReader {
  /// Writes the value that starts at `start`; returns its end, or -1.
  @inline(__always)
  mutating func value(
    _ text: Bytes, _ start: Int, _ field: UnsafeMutablePointer<FieldPlan>, depth: Int,
    recordKey: Bytes
  ) -> Int {
    if field.pointee.child < 0 {
      guard let end = RecordText.endOfValue(text, from: start) else {
        _ = malformed(recordKey)
        return -1
      }
      let first = text.start[start]
      if first != UInt8(ascii: " ") && first != UInt8(ascii: "{") && first != UInt8(ascii: "[") {
        out.append(text.start + start, end &- start)
        return end
      }
      return nestedLeaf(text[start..<end], field, depth: depth, recordKey: recordKey) ? end : -1
    }
    path.append(.field(field.pointee.key))
    let end = composite(
      text, start, node: field.pointee.child, depth: depth, recordKey: recordKey)
    if end >= 0 { path.removeLast() }
    return end
  }

  mutating func nestedLeaf(
    _ value: Bytes, _ field: UnsafeMutablePointer<FieldPlan>, depth: Int, recordKey: Bytes
  ) -> Bool {
    switch RecordText.kind(value) {
    case .opaque:
      out.append(value[1..<value.count])
      return out.count > 128 << 10 ? flush() : true
    case .values:
      out.append(UInt8(ascii: "["))
      guard let segments = Segments.keys(of: value) else { return malformed(recordKey) }
      var isFirst = true
      for key in segments.keys {
        let found = key.withUnsafeBufferPointer { source.text(key: Bytes($0), depth: depth) }
        guard let text = found, text.count >= 2 else {
          return missing(field, recordKey: recordKey.string)
        }
        if !isFirst { out.append(UInt8(ascii: ",")) }
        isFirst = false
        out.append(text[1..<(text.count - 1)])
        if out.count > 128 << 10, !flush() { return false }
      }
      out.append(UInt8(ascii: "]"))
      return true
    // The stored value is an object, but this operation selects the field as a leaf.
    default: return missing(field, recordKey: recordKey.string)
    }
  }

  mutating func composite(
    _ text: Bytes, _ start: Int, node: Int32, depth: Int, recordKey: Bytes
  ) -> Int {
    switch RecordText.kind(text, at: start) {
    case .object:
      return object(text, start, node: node, depth: depth, recordKey: recordKey, isRecord: false)
    case .list:
      out.append(UInt8(ascii: "["))
      path.append(.index(0))
      var count = 0
      let end = elements(
        text, start, &count, node: node, depth: depth, recordKey: recordKey)
      guard end >= 0 else { return -1 }
      path.removeLast()
      out.append(UInt8(ascii: "]"))
      return end
    case .null:
      out.append(utf8: "null")
      return start &+ 4
    case .reference:
      // {"$ref":"…"}
      guard let quoteEnd = RecordText.endOfString(text, from: start &+ 8),
        quoteEnd < text.count
      else {
        _ = malformed(recordKey)
        return -1
      }
      let key = text[(start &+ 8)..<quoteEnd]
      return reference(key, node: node, depth: depth) ? quoteEnd &+ 1 : -1
    case .segments:
      guard let end = RecordText.endOfValue(text, from: start) else {
        _ = malformed(recordKey)
        return -1
      }
      return segments(text[start..<end], node: node, depth: depth, recordKey: recordKey) ? end : -1
    case .scalar, .opaque, .values:
      _ = miss(recordKey: recordKey.string, field: nil)
      return -1
    }
  }

  /// Writes the elements of the list at `start`, separated by commas; returns the list's end, or
  /// -1.
  mutating func elements(
    _ text: Bytes, _ start: Int, _ count: inout Int, node: Int32, depth: Int, recordKey: Bytes
  ) -> Int {
    var position = start &+ 1
    while position < text.count {
      let byte = text.start[position]
      if byte == UInt8(ascii: "]") { return position &+ 1 }
      if byte == UInt8(ascii: ",") { position &+= 1 }
      if count > 0 { out.append(UInt8(ascii: ",")) }
      path.replaceLast(.index(count))
      count &+= 1
      position = composite(text, position, node: node, depth: depth, recordKey: recordKey)
      guard position >= 0 else { return -1 }
    }
    _ = malformed(recordKey)
    return -1
  }

  mutating func segments(
    _ value: Bytes, node: Int32, depth: Int, recordKey: Bytes
  ) -> Bool {
    guard let segments = Segments.keys(of: value) else { return malformed(recordKey) }
    out.append(UInt8(ascii: "["))
    path.append(.index(0))
    var count = 0
    for key in segments.keys {
      let found = key.withUnsafeBufferPointer { source.text(key: Bytes($0), depth: depth) }
      guard let text = found, text.count >= 2 else {
        return miss(recordKey: recordKey.string, field: nil)
      }
      let end = elements(text, 0, &count, node: node, depth: depth &+ 1, recordKey: recordKey)
      guard end >= 0 else { return false }
    }
    path.removeLast()
    out.append(UInt8(ascii: "]"))
    return true
  }

  @inline(__always)
  mutating func reference(_ quoted: Bytes, node: Int32, depth: Int) -> Bool {
    guard quoted.count >= 2 else { return malformed(quoted) }
    let inner = quoted[1..<(quoted.count &- 1)]
    if RecordText.memchrBackslash(inner) == nil {
      return record(inner, node: node, depth: depth)
    }
    let key = RecordText.withUnescaped(quoted, &keyScratch) { $0.array }
    return key.withUnsafeBufferPointer { record(Bytes($0), node: node, depth: depth) }
  }

  @inline(__always)
  mutating func record(_ key: Bytes, node: Int32, depth: Int) -> Bool {
    let hash = RenderedRecords.hash(key, node: node)
    if let text = rendered.find(key, node: node, hash: hash) {
      out.append(text.start, text.count)
      return true
    }
    guard let text = source.text(key: key, depth: depth) else {
      if isTracking { dependencies.add(missing: key) }
      return miss(recordKey: key.string, field: nil)
    }
    let isSeenAgain = rendered.isSeenAgain(hash)
    let mark = (out.count, flushes)
    // The list that contains the reference continues with its own times.
    let outer = Source.hasTimes ? times : RecordTimes(received: 0)
    if Source.hasTimes { times = source.times(depth: depth) }
    let end = object(text, 0, node: node, depth: depth &+ 1, recordKey: key, isRecord: true)
    if Source.hasTimes { times = outer }
    guard end >= 0 else { return false }
    if isSeenAgain, flushes == mark.1 {
      rendered.keep(out.bytes(mark.0..<out.count), key: key, node: node, hash: hash)
    }
    return true
  }
}

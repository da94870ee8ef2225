/// Writes records in the dump format (`docs/guide-cache.md`), which depends on the stored data
/// only, not on the store, the field order or chunking.
struct DumpWriter<Source: RecordSource>: ~Copyable {
  private(set) var source: Source
  private(set) var out = ByteStack(capacity: 64 << 10)
  private(set) var scratch = ByteStack(capacity: 256)
  let write: (UnsafeRawBufferPointer) throws -> Void
  /// Whether the last record was a root field, so that the root's line is still open.
  private(set) var isInRoot = false

  /// Adds a record; records must be sorted by the bytes of their keys.
  mutating func add(key: Bytes, text: Bytes) throws {
    if Segments.isSegment(key: key) || ErrorRecord.isErrors(key: key) { return }
    if key.hasPrefix("QUERY_ROOT.") {
      var cursor = FieldCursor(text)
      guard let field = cursor.next() else { throw damaged(key) }
      if text[field.key].equals("\"__typename\"") { return }
      out.append(utf8: isInRoot ? "," : "{\"key\":\"QUERY_ROOT\",\"fields\":{")
      isInRoot = true
      out.append(text[field.key])
      out.append(UInt8(ascii: ":"))
      try value(text[field.value], key: key)
      return
    }
    try endRoot()
    out.append(utf8: "{\"key\":\"")
    out.append(escaping: key)
    out.append(utf8: "\",\"fields\":")
    try object(text, key: key)
    out.append(utf8: "}\n")
    if out.count > 64 << 10 { try flush() }
  }

  mutating func finish() throws {
    try endRoot()
    try flush()
  }

  private mutating func endRoot() throws {
    guard isInRoot else { return }
    out.append(utf8: "}}\n")
    isInRoot = false
  }

  private mutating func flush() throws {
    try write(UnsafeRawBufferPointer(out.all.buffer))
    out.truncate(to: 0)
  }

  private mutating func object(_ text: Bytes, key: Bytes) throws {
    var fields: [(name: [UInt8], key: Range<Int>, value: Range<Int>)] = []
    var cursor = FieldCursor(text)
    while let field = cursor.next() {
      let name = RecordText.withUnescaped(text[field.key], scratch: &scratch) { $0.array }
      fields.append((name, field.key, field.value))
    }
    if cursor.isMalformed { throw damaged(key) }
    fields.sort { $0.name.lexicographicallyPrecedes($1.name) }
    out.append(UInt8(ascii: "{"))
    for (index, field) in fields.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(text[field.key])
      out.append(UInt8(ascii: ":"))
      try value(text[field.value], key: key)
    }
    out.append(UInt8(ascii: "}"))
  }

  private mutating func value(_ value: Bytes, key: Bytes) throws {
    switch RecordText.kind(value) {
    case .null, .scalar, .reference, .errored: out.append(value)
    case .opaque: out.append(value[1..<value.count])
    case .object: try object(value, key: key)
    case .list:
      out.append(UInt8(ascii: "["))
      var isFirst = true
      try elements(value, &isFirst, key: key)
      out.append(UInt8(ascii: "]"))
    case .segments: try segments(value, areOpaque: false, key: key)
    case .values: try segments(value, areOpaque: true, key: key)
    }
  }

  private mutating func segments(_ value: Bytes, areOpaque: Bool, key: Bytes) throws {
    guard let segments = Segments.keys(of: value) else { throw damaged(key) }
    out.append(UInt8(ascii: "["))
    var isFirst = true
    for segment in segments.keys {
      guard let text = source.text(key: segment, depth: 0)?.array, text.count >= 2 else {
        throw damaged(key)
      }
      if areOpaque {
        // Leaf values are written unchanged.
        out.separate(&isFirst)
        text.withBytes { out.append($0[1..<(text.count - 1)]) }
        if out.count > 64 << 10 { try flush() }
      } else {
        try text.withBytes { try elements($0, &isFirst, key: key) }
      }
    }
    out.append(UInt8(ascii: "]"))
  }

  private mutating func elements(_ list: Bytes, _ isFirst: inout Bool, key: Bytes) throws {
    var cursor = ElementCursor(list)
    while let element = cursor.next() {
      out.separate(&isFirst)
      try value(list[element], key: key)
      if out.count > 64 << 10 { try flush() }
    }
    if cursor.isMalformed { throw damaged(key) }
  }

  private func damaged(_ key: Bytes) -> CacheError { source.failure ?? .damagedRecord(key) }
}

extension RecordScan {
  /// Writes all records as JSON lines, sorted by key.
  func dump(to write: @escaping (UnsafeRawBufferPointer) throws -> Void) throws {
    var writer = DumpWriter(source: source, write: write)
    try forEachRecord { try writer.add(key: $0, text: $1) }
    try writer.finish()
  }

  /// The fields of the record `key` in the dump format; `nil` if there is none. Combines the
  /// records of `QUERY_ROOT`.
  func text(of key: String) throws -> String? {
    var bytes: [UInt8] = []
    try withoutActuallyEscaping({ (chunk: UnsafeRawBufferPointer) in
      bytes.append(contentsOf: chunk)
    }) { write in
      var source = self.source
      var writer = DumpWriter(source: self.source, write: write)
      if key == RootRecord.queryKey {
        try forEachRecord { key, text in
          if key.hasPrefix("QUERY_ROOT.") { try writer.add(key: key, text: text) }
        }
      } else {
        try Array(key.utf8).withBytes { key in
          // The writer looks up the segments of lists at the first depth.
          let text = source.text(key: key, depth: 1)
          if let failure = source.failure { throw failure }
          if let text { try writer.add(key: key, text: text) }
        }
      }
      try writer.finish()
    }
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
}

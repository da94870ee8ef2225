/// Reads one record for display.
enum RecordLookup {
  /// The fields of the record `key` in the dump format; `nil` if there is none. Combines the
  /// records of `QUERY_ROOT`.
  static func text<Source: RecordSource>(
    of key: String, in all: ((Bytes, Bytes) throws -> Void) throws -> Void, source: Source,
    find: (Bytes) throws -> Bytes?
  ) throws -> String? {
    var bytes: [UInt8] = []
    try withoutActuallyEscaping({ (chunk: UnsafeRawBufferPointer) in
      bytes.append(contentsOf: chunk)
    }) { write in
      var writer = DumpWriter(source: source, write: write)
      if key == RootRecord.queryKey {
        try all { key, text in
          if key.hasPrefix("QUERY_ROOT.") { try writer.add(key: key, text: text) }
        }
      } else {
        try Array(key.utf8).withUnsafeBufferPointer { key in
          if let text = try find(Bytes(key)) { try writer.add(key: Bytes(key), text: text) }
        }
      }
      try writer.finish()
    }
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
}

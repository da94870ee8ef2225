extension JSONValue: CustomStringConvertible {
  /// Appends this value to the output of a writer.
  public func write(to writer: inout JSONWriter) {
    write(to: &writer, sorted: false)
  }

  /// Serializes the value, with members in their order.
  ///
  /// - Parameter pretty: Whether to indent with two spaces per level; false writes no white space.
  public func jsonText(pretty: Bool = false) -> String {
    var writer = JSONWriter(layout: pretty ? .pretty : .compact)
    write(to: &writer)
    return writer.text
  }

  /// Serializes the value as UTF-8, with members in their order.
  ///
  /// - Parameter pretty: Whether to indent with two spaces per level; false writes no white space.
  public func jsonBytes(pretty: Bool = false) -> [UInt8] {
    var writer = JSONWriter(layout: pretty ? .pretty : .compact)
    write(to: &writer)
    return writer.bytes
  }

  /// The canonical JSON text: members sorted by the bytes of their keys, no white space.
  ///
  /// Two values are equal if and only if their canonical texts are.
  public var canonicalText: String {
    var writer = JSONWriter()
    write(to: &writer, sorted: true)
    return writer.text
  }

  /// The value as compact JSON text.
  public var description: String { jsonText() }

  private func write(to writer: inout JSONWriter, sorted: Bool) {
    switch self {
    case .null: writer.writeNull()
    case .boolean(let value): writer.writeBool(value)
    case .number(let number): writer.writeNumber(number)
    case .string(let text): writer.writeString(text)
    case .array(let elements):
      writer.beginArray()
      for element in elements { element.write(to: &writer, sorted: sorted) }
      writer.endArray()
    case .object(let object):
      writer.beginObject()
      let members =
        sorted
        ? object.members.sorted { UTF8Text($0.key) < UTF8Text($1.key) } : object.members
      for member in members {
        writer.key(member.key)
        member.value.write(to: &writer, sorted: sorted)
      }
      writer.endObject()
    }
  }
}

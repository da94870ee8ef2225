/// Writes the caller's result: the selected fields under their response keys.
struct ResultWriter: ~Copyable {
  /// Whether there is a caller who reads the result; otherwise nothing is written.
  let isWanted: Bool
  // Allocated for every response, most of which are small, so its initial size is small.
  var buffer = ByteStack(capacity: 512)
  private var needsComma = false

  init(isWanted: Bool) { self.isWanted = isWanted }

  /// Starts the object or list of a field.
  @inline(__always)
  mutating func open(_ opening: UInt8, as field: UnsafeMutablePointer<FieldPlan>) {
    guard isWanted else { return }
    beginMember(field)
    buffer.append(opening)
    needsComma = false
  }

  /// Starts the object or list that is a list element, or `data` itself.
  @inline(__always)
  mutating func open(_ opening: UInt8) {
    guard isWanted else { return }
    if needsComma { buffer.append(UInt8(ascii: ",")) }
    buffer.append(opening)
    needsComma = false
  }

  /// Ends an object or list.
  @inline(__always)
  mutating func close(_ closing: UInt8) {
    guard isWanted else { return }
    buffer.append(closing)
    needsComma = true
  }

  /// Writes the value of a field, unless only the cache selects it. The value is in `text` from
  /// `start` on.
  @inline(__always)
  mutating func append(
    _ field: UnsafeMutablePointer<FieldPlan>, in text: borrowing StoredText, from start: Int
  ) {
    guard isWanted && field.pointee.isAsked else { return }
    beginMember(field)
    buffer.append(text.value(from: start))
    needsComma = true
  }

  /// Writes a list element, which is in `text` from `start` on.
  @inline(__always)
  mutating func appendElement(in text: borrowing StoredText, from start: Int) {
    guard isWanted else { return }
    if needsComma { buffer.append(UInt8(ascii: ",")) }
    buffer.append(text.value(from: start))
    needsComma = true
  }

  @inline(__always)
  private mutating func beginMember(_ field: UnsafeMutablePointer<FieldPlan>) {
    if needsComma { buffer.append(UInt8(ascii: ",")) }
    buffer.append(field.pointee.resultPrefix.start, field.pointee.resultPrefix.count)
  }
}

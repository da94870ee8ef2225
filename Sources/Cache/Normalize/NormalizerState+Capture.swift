/// Values that are stored unchanged (custom scalars, objects whose type comes late, `errors` and
/// `extensions`), and values that are skipped.
extension NormalizerState {
  mutating func beginCapture(_ target: Capture.Target, _ opening: UInt8) -> Bool {
    capture.begin(target, start: text.count, opening: opening)
    if target == .leaf { text.buffer.append(UInt8(ascii: " ")) }
    text.open(opening)
    mode = .capture
    return true
  }

  /// Captures the innermost object, of which `key` is the first key, until its type is known.
  mutating func deferObject(_ key: Bytes) -> Bool {
    capture.begin(
      .deferred, start: containers.top.pointee.textStart, opening: UInt8(ascii: "{"))
    mode = .capture
    return capturedKey(key)
  }

  mutating func capturedKey(_ key: Bytes) -> Bool {
    guard capture.add(key) else { return duplicateKey(key) }
    text.separate()
    text.append(string: key)
    text.buffer.append(UInt8(ascii: ":"))
    text.needsComma = false
    return checkCapture()
  }

  @inline(__always)
  mutating func capturedScalarEnded() -> Bool {
    text.needsComma = true
    return checkCapture()
  }

  mutating func capturedContainer(_ opening: UInt8) -> Bool {
    text.separate()
    text.open(opening)
    capture.begin(opening)
    return true
  }

  mutating func capturedContainerEnded(_ closing: UInt8) -> Bool {
    text.buffer.append(closing)
    text.needsComma = true
    guard capture.end(closing) else { return checkCapture() }
    switch capture.target {
    case .leaf:
      mode = .object
      guard let field = current else { return true }
      return scalarEnded(field, capture.start)
    case .element:
      mode = .list
      return leafElementEnded(capture.start)
    case .errors:
      envelope.errors = takeCapture()
      return true
    case .extensions:
      envelope.extensions = takeCapture()
      return true
    case .deferred: return replayDeferredObject()
    }
  }

  /// Removes the captured member of the response from the text.
  private mutating func takeCapture() -> [UInt8] {
    mode = .envelope
    let bytes = text.buffer.bytes(capture.start..<text.count).array
    text.buffer.truncate(to: capture.start)
    return bytes
  }

  @inline(__always)
  private mutating func checkCapture() -> Bool {
    text.count &- capture.start <= maxOpaqueBytes || captureTooLarge()
  }

  @inline(never)
  private mutating func captureTooLarge() -> Bool {
    malformed(
      "the value at \(location) is larger than \(maxOpaqueBytes) bytes, the limit for custom "
        + "scalars, errors, extensions and objects whose __typename comes late")
  }

  // MARK: Skipped values

  mutating func beginSkip(_ opening: UInt8) -> Bool {
    capture.begin(opening)
    mode = .skip
    return true
  }

  mutating func skippedContainerEnded(_ closing: UInt8) -> Bool {
    guard capture.end(closing) else { return true }
    switch containers.top.pointee.kind {
    case .envelope: mode = .envelope
    case .list: mode = .list
    case .root, .object: mode = .object
    }
    return true
  }
}

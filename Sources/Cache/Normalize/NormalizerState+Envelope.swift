/// The members of the response around `data`.
extension NormalizerState {
  mutating func envelopeKey(_ key: Bytes) -> Bool {
    envelope.begin(key)
    return containers.addUnknownKey(key) || duplicateKey(key)
  }

  mutating func envelopeObject() -> Bool {
    if containers.depth == 0 {
      containers.push(OpenContainer(.envelope))
      return true
    }
    switch envelope.member {
    case .data:
      envelope.hasData = true
      guard let part else { return beginRoot() }
      return part.count == nil ? beginPart(part) : wrongMember("items", "an object", "a list")
    case .extensions: return beginCapture(.extensions, UInt8(ascii: "{"))
    case .errors: return wrongMember("errors", "an object", "a list")
    case .other: return beginSkip(UInt8(ascii: "{"))
    }
  }

  mutating func envelopeArray() -> Bool {
    if containers.depth == 0 { return notAnObject("a list") }
    switch envelope.member {
    case .data:
      if let part, part.count != nil { return beginPartList(part) }
      return wrongMember("data", "a list", "an object or null")
    case .extensions: return wrongMember("extensions", "a list", "an object")
    case .errors: return beginCapture(.errors, UInt8(ascii: "["))
    case .other: return beginSkip(UInt8(ascii: "["))
    }
  }

  mutating func envelopeScalar(_ found: StaticString) -> Bool {
    if containers.depth == 0 { return notAnObject(found) }
    switch envelope.member {
    case .data:
      return part?.count == nil
        ? wrongMember("data", found, "an object or null") : wrongMember("items", found, "a list")
    case .errors: return wrongMember("errors", found, "a list")
    case .extensions: return wrongMember("extensions", found, "an object")
    case .other: return true
    }
  }

  mutating func envelopeNull() -> Bool {
    if containers.depth == 0 { return notAnObject("null") }
    if envelope.member == .data { envelope.dataIsNull = true }
    return true
  }

  private mutating func notAnObject(_ found: StaticString) -> Bool {
    fail(
      CacheError(
        .malformedResponse,
        "the response is \(found); a GraphQL response is an object with \"data\" or \"errors\""))
  }

  private mutating func wrongMember(
    _ name: StaticString, _ found: StaticString, _ expected: StaticString
  ) -> Bool {
    fail(
      CacheError(
        .malformedResponse,
        "\"\(name)\" of the response is \(found); GraphQL requires \(expected)"))
  }
}

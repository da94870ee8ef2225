/// The events of the parser, forwarded by the mode.
extension NormalizerState {
  @inline(__always)
  mutating func onKey(_ key: Bytes) -> Bool {
    switch mode {
    case .object: return objectKey(key)
    case .capture: return capturedKey(key)
    case .skip: return capture.add(key) || duplicateKey(key)
    case .envelope: return envelopeKey(key)
    case .list: return true
    }
  }

  @inline(__always)
  mutating func onString(_ string: Bytes) -> Bool {
    switch mode {
    case .object:
      if awaitsTypename { return typename(string) }
      guard let field = current else { return true }
      guard field.pointee.child < 0 else { return wrongShape("a string") }
      let start = text.count
      text.append(string: string)
      return scalarEnded(field, start)
    case .list:
      guard containers.top.pointee.node < 0 else { return wrongShape("a string") }
      text.separate()
      let start = text.count
      text.append(string: string)
      return leafElementEnded(start)
    case .capture:
      text.separate()
      text.append(string: string)
      return capturedScalarEnded()
    case .skip: return true
    case .envelope: return envelopeScalar("a string")
    }
  }

  @inline(__always)
  mutating func onLiteral(_ literal: Bytes, _ shape: StaticString) -> Bool {
    switch mode {
    case .object:
      if awaitsTypename { return wrongTypename() }
      guard let field = current else { return true }
      guard field.pointee.child < 0 else { return wrongShape(shape) }
      let start = text.count
      text.buffer.append(literal)
      return scalarEnded(field, start)
    case .list:
      guard containers.top.pointee.node < 0 else { return wrongShape(shape) }
      text.separate()
      let start = text.count
      text.buffer.append(literal)
      return leafElementEnded(start)
    case .capture:
      text.separate()
      text.buffer.append(literal)
      return capturedScalarEnded()
    case .skip: return true
    case .envelope: return envelopeScalar(shape)
    }
  }

  @inline(__always)
  mutating func onNull() -> Bool {
    switch mode {
    case .object:
      if awaitsTypename { return wrongTypename() }
      guard let field = current else { return true }
      let start = text.count
      text.buffer.append(utf8: "null")
      return scalarEnded(field, start)
    case .list:
      text.separate()
      let start = text.count
      text.buffer.append(utf8: "null")
      return leafElementEnded(start)
    case .capture:
      text.separate()
      text.buffer.append(utf8: "null")
      return capturedScalarEnded()
    case .skip: return true
    case .envelope: return envelopeNull()
    }
  }

  @inline(__always)
  mutating func onStartObject() -> Bool {
    let opening = UInt8(ascii: "{")
    switch mode {
    case .object:
      if awaitsTypename { return wrongTypename() }
      guard let field = current else { return beginSkip(opening) }
      guard field.pointee.child >= 0 else { return beginCapture(.leaf, opening) }
      result.open(opening, as: field)
      containers.top.pointee.field = field
      return beginObject(node: field.pointee.child)
    case .list:
      let node = containers.top.pointee.node
      text.separate()
      guard node >= 0 else { return beginCapture(.element, opening) }
      result.open(opening)
      return beginObject(node: node)
    case .capture: return capturedContainer(opening)
    case .skip:
      capture.begin(opening)
      return true
    case .envelope: return envelopeObject()
    }
  }

  @inline(__always)
  mutating func onEndObject() -> Bool {
    switch mode {
    case .object: return containers.top.pointee.kind == .root ? endRoot() : endObject()
    case .capture: return capturedContainerEnded(UInt8(ascii: "}"))
    case .skip: return skippedContainerEnded(UInt8(ascii: "}"))
    case .envelope, .list: return true
    }
  }

  @inline(__always)
  mutating func onStartArray() -> Bool {
    let opening = UInt8(ascii: "[")
    switch mode {
    case .object:
      if awaitsTypename { return wrongTypename() }
      guard let field = current else { return beginSkip(opening) }
      if field.pointee.isTypename { return wrongTypename() }
      // Only the cache selects the field, as a key: a list is no key, and not in the result.
      guard field.pointee.isAsked else { return beginCapture(.leaf, opening) }
      result.open(opening, as: field)
      containers.top.pointee.field = field
      return beginList(node: field.pointee.child)
    case .list:
      let node = containers.top.pointee.node
      text.separate()
      guard node >= 0 else { return beginCapture(.element, opening) }
      result.open(opening)
      return beginList(node: node)
    case .capture: return capturedContainer(opening)
    case .skip:
      capture.begin(opening)
      return true
    case .envelope: return envelopeArray()
    }
  }

  @inline(__always)
  mutating func onEndArray() -> Bool {
    switch mode {
    case .list: return endList()
    case .capture: return capturedContainerEnded(UInt8(ascii: "]"))
    case .skip: return skippedContainerEnded(UInt8(ascii: "]"))
    case .object, .envelope: return true
    }
  }
}

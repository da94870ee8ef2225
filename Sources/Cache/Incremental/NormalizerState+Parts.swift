/// Later parts of a response: the fields of one object, or the elements of one list.
extension NormalizerState {
  /// Starts the object that a later part extends.
  mutating func beginPart(_ part: Anchor) -> Bool {
    objects &+= 1
    var object = OpenContainer(.object)
    object.isPart = true
    object.node = table.node(of: part.parts)
    object.textStart = text.count
    text.open(UInt8(ascii: "{"))
    current = nil
    containers.push(object)
    if !part.typename.isEmpty {
      let plan = part.typename.withUnsafeBufferPointer {
        table.variant(of: object.node, typename: Bytes($0))
      }
      setPlan(plan)
    } else if !table.nodes[Int(object.node)].isConditional {
      setPlan(table.nodes[Int(object.node)].union)
    }
    mode = .object
    result.open(UInt8(ascii: "{"))
    return true
  }

  /// Starts the elements that a later part adds to a list.
  mutating func beginPartList(_ part: Anchor) -> Bool {
    result.open(UInt8(ascii: "["))
    let isBegun = beginList(node: part.parts.isEmpty ? -1 : table.node(of: part.parts))
    containers.top.pointee.isPart = true
    // The stored list is cut, not the elements that are added to it.
    containers.top.pointee.segmentStart = Int.max / 2
    containers.top.pointee.elementCount = part.count ?? 0
    return isBegun
  }

  /// Ends the object that a later part extends: a change of a record, or of a value in one.
  @inline(never)
  mutating func endPart() -> Bool {
    if awaitsTypename { return wrongTypename() }
    guard let part else { return false }
    let object = containers.top
    let start = object.pointee.textStart
    guard hasSameIdentity(object, as: part) else { return false }
    if object.pointee.typenameStart < 0, !part.typename.isEmpty {
      text.separate()
      text.buffer.append(utf8: "\"__typename\":")
      let name = part.typename.withUnsafeBufferPointer { Bytes($0).string }
      text.append(string: name)
    }
    text.buffer.append(UInt8(ascii: "}"))
    if object.pointee.plan >= 0, table.plans[Int(object.pointee.plan)].hasStoredDuplicates {
      foldDuplicates(object)
      guard hasSameIdentity(object, as: part) else { return false }
    }
    if let owner = part.owner, part.steps.isEmpty {
      owner.withUnsafeBufferPointer {
        staging.stage(key: Bytes($0), text: text.buffer.bytes(start..<text.count))
      }
    } else {
      partText = text.buffer.bytes(start..<text.count).array
    }
    return endPart(part, start)
  }

  /// Whether the type and the key fields of an object that a later part extends are those of the earlier parts, as far
  /// as the later one has them; fails otherwise.
  private mutating func hasSameIdentity(
    _ object: UnsafeMutablePointer<OpenContainer>, as part: Anchor
  ) -> Bool {
    guard object.pointee.plan >= 0, !part.typename.isEmpty else { return true }
    if object.pointee.typenameStart >= 0 {
      let found = text.buffer.bytes(
        (object.pointee.typenameStart + 1)..<(object.pointee.typenameEnd - 1))
      guard found.equals(part.typename) else {
        return contradicts(part.path, "__typename", found.string, part.typename)
      }
    }
    guard let owner = part.owner, part.steps.isEmpty else { return true }
    let difference = part.typename.withUnsafeBufferPointer { typename in
      keys.difference(
        of: object, in: containers, &table, from: owner, typename: Bytes(typename), &text.buffer)
    }
    guard let difference, !(partHasErrors && difference.found == "null") else { return true }
    return contradicts(part.path, difference.field, difference.found, difference.expected)
  }

  /// Fails because a part has another type or key field of an object than an earlier one.
  @inline(never)
  mutating func contradicts(
    _ path: [PathStep], _ field: String, _ found: String, _ expected: [UInt8]
  ) -> Bool {
    let place = PathStep.text(path)
    let expected = String(decoding: expected.prefix(80), as: UTF8.self)
    return fail(
      CacheError(
        .malformedResponse,
        "a later part of the response says that the \(field) of the object at \(place) is "
          + "\(found.prefix(80)); expected \(expected), as in an earlier part: a part must not change the type or "
          + "the key fields of an object", path: place))
  }

  /// Ends the elements that a later part adds to a list.
  @inline(never)
  mutating func endPartList() -> Bool {
    guard let part else { return false }
    let list = containers.top
    text.buffer.append(UInt8(ascii: "]"))
    partText = text.buffer.bytes(list.pointee.textStart..<text.count).array
    partCount = list.pointee.elementCount
    return endPart(part, list.pointee.textStart)
  }

  private mutating func endPart(_ part: Anchor, _ start: Int) -> Bool {
    anchors.adopt(under: part.path[...], steps: 0, owner: part.owner, extra: part.steps)
    text.buffer.truncate(to: start)
    result.close(containers.top.pointee.kind == .list ? UInt8(ascii: "]") : UInt8(ascii: "}"))
    containers.pop()
    return valueEnded()
  }
}

extension StoredText {
  fileprivate mutating func append(string: String) {
    Array(string.utf8).withUnsafeBufferPointer { append(string: Bytes($0)) }
  }
}

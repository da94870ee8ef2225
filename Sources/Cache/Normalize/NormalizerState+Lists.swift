/// Lists, and the segments of long ones.
extension NormalizerState {
  @inline(__always)
  mutating func beginList(node: Int32) -> Bool {
    var list = OpenContainer(.list)
    list.node = node
    list.textStart = text.count
    // The space marks a list of leaf values as opaque: it is replaced, never merged.
    if node < 0 { text.buffer.append(UInt8(ascii: " ")) }
    text.open(UInt8(ascii: "["))
    list.segmentStart = text.count
    list.firstSegment = containers.segmentNames.count
    containers.push(list)
    mode = .list
    return true
  }

  /// Ends a scalar or null element that starts at `start`.
  @inline(__always)
  mutating func leafElementEnded(_ start: Int) -> Bool {
    text.needsComma = true
    result.appendElement(in: text, from: start)
    return elementEnded(containers.top)
  }

  @inline(__always)
  mutating func elementEnded(_ list: UnsafeMutablePointer<OpenContainer>) -> Bool {
    list.pointee.elementCount &+= 1
    if text.count &- list.pointee.segmentStart > Segments.size { cutSegment(list) }
    return true
  }

  /// Moves the elements since the last split to a segment record.
  @inline(never)
  private mutating func cutSegment(_ list: UnsafeMutablePointer<OpenContainer>) {
    let start = list.pointee.segmentStart
    let name = staging.stageSegment(elements: text.buffer.bytes(start..<text.count))
    containers.segmentNames.append(name)
    text.buffer.truncate(to: start)
    text.needsComma = false
  }

  @inline(__always)
  mutating func endList() -> Bool {
    let list = containers.top
    if list.pointee.isPart { return endPartList() }
    if collectsAnchors { noteListAnchor(list) }
    if containers.segmentNames.count > list.pointee.firstSegment {
      endSegmentedList(list)
    } else {
      text.buffer.append(UInt8(ascii: "]"))
    }
    result.close(UInt8(ascii: "]"))
    containers.pop()
    return valueEnded()
  }

  @inline(never)
  private mutating func endSegmentedList(_ list: UnsafeMutablePointer<OpenContainer>) {
    if text.count > list.pointee.segmentStart { cutSegment(list) }
    let first = list.pointee.firstSegment
    text.buffer.truncate(to: list.pointee.textStart)
    Segments.append(
      names: containers.segmentNames[first...], count: list.pointee.elementCount,
      isLeaf: list.pointee.node < 0, to: &text.buffer)
    containers.segmentNames.removeSubrange(first...)
  }
}

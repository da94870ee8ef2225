import GQLRunJSON

/// Lists, and the segments of long ones.
extension NormalizerState {
  @inline(__always)
  mutating func beginList(node: Int32) -> Bool {
    var frame = Frame(kind: .list)
    frame.node = node
    frame.textStart = text.count
    // The space marks a list of leaf values as opaque: it is replaced, never merged.
    if node < 0 { text.append(UInt8(ascii: " ")) }
    text.append(UInt8(ascii: "["))
    frame.segmentStart = text.count
    frame.firstSegment = segmentNames.count
    needsComma = false
    push(frame)
    mode = .list
    return true
  }

  /// Ends a scalar or null element that starts at `start`.
  @inline(__always)
  mutating func leafElementEnded(_ start: Int) -> Bool {
    needsComma = true
    if wantsResult { appendResultElement(start) }
    return elementEnded(top)
  }

  mutating func appendResultElement(_ start: Int) {
    if resultNeedsComma { result.append(UInt8(ascii: ",")) }
    result.append(text.bytes(withoutMark(start)..<text.count))
    resultNeedsComma = true
  }

  @inline(__always)
  mutating func elementEnded(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    frame.pointee.elementCount &+= 1
    if text.count &- frame.pointee.segmentStart > Segments.size { cutSegment(frame) }
    return true
  }

  /// Moves the elements since the last split to a segment record.
  @inline(never)
  private mutating func cutSegment(_ frame: UnsafeMutablePointer<Frame>) {
    let start = frame.pointee.segmentStart
    let name = staging.stageSegment(elements: text.bytes(start..<text.count))
    segmentNames.append(name)
    text.truncate(to: start)
    needsComma = false
  }

  @inline(__always)
  mutating func endList() -> Bool {
    let frame = top
    if segmentNames.count > frame.pointee.firstSegment {
      endSegmentedList(frame)
    } else {
      text.append(UInt8(ascii: "]"))
    }
    if wantsResult {
      result.append(UInt8(ascii: "]"))
      resultNeedsComma = true
    }
    depth &-= 1
    return valueEnded()
  }

  @inline(never)
  private mutating func endSegmentedList(_ frame: UnsafeMutablePointer<Frame>) {
    if text.count > frame.pointee.segmentStart { cutSegment(frame) }
    text.truncate(to: frame.pointee.textStart)
    Segments.append(
      names: segmentNames[frame.pointee.firstSegment...], count: frame.pointee.elementCount,
      isLeaf: frame.pointee.node < 0, to: &text)
    segmentNames.removeSubrange(frame.pointee.firstSegment...)
  }
}

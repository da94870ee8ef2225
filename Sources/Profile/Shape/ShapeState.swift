package import GQLRunCache
import GQLRunJSON

/// The counts so far, and the open containers.
final class ShapeState: JSONEventReceiver {
  var paths = PathTree()
  var types: TypeTable
  var entities = EntityCount()
  var records = LargestRecords()
  private var frames: [Frame] = []
  private var depth = 0
  /// The counts of the whole response; its bytes are those of compact JSON so far.
  private var totals = ShapeReport()

  init(_ keys: KeyRules) {
    types = TypeTable(keys)
    totals.strings = (0...32).map { .init(below: 1 << $0, count: 0, bytes: 0) }
  }

  /// An open object or array. Frames are reused, so that their lists keep their memory.
  private struct Frame {
    var isObject = false
    var pathIndex = 0
    var start = 0
    var elements = 0
    /// The path of the next value in an object.
    var next = 0
    var typename: Int?
    var fields: [FieldCount] = []
    var keyValues: [(pathIndex: Int, hash: UInt64, text: [UInt8])] = []
    /// Bytes of the nested entities.
    var entityBytes = 0
    /// Bytes of the nested objects that have a type, with or without identity.
    var typedBytes = 0
  }

  struct FieldCount {
    var pathIndex: Int
    var bytes: Int
    var isNull: Bool
  }

  // MARK: Events

  func receive(_ event: JSONEvent) -> Bool {
    switch event {
    case .null: scalar(count: 4, isNull: true)
    case .boolean(let value): scalar(count: value ? 4 : 5, isNull: false)
    case .number(let text): self.text(text, isString: false)
    case .string(let text): self.text(text, isString: true)
    case .key(let name): key(name)
    case .start(let isObject): open(isObject: isObject)
    case .end: close()
    }
    return true
  }

  private func key(_ name: UnsafeRawBufferPointer) {
    guard depth > 0 else { return }
    totals.bytes += name.count + 3 + (frames[depth - 1].elements > 0 ? 1 : 0)
    frames[depth - 1].next = paths.child(of: frames[depth - 1].pathIndex, named: name)
  }

  private func scalar(count: Int, isNull: Bool) {
    let pathIndex = begin()
    totals.bytes += count
    totals.values += 1
    if isNull { totals.nulls += 1 }
    end(pathIndex, bytes: count, isNull: isNull)
  }

  private func text(_ text: UnsafeRawBufferPointer, isString: Bool) {
    let pathIndex = begin()
    let count = text.count + (isString ? 2 : 0)
    totals.bytes += count
    totals.values += 1
    if isString {
      let power = text.count == 0 ? 0 : Int.bitWidth - text.count.leadingZeroBitCount
      totals.strings[min(power, 32)].count += 1
      totals.strings[min(power, 32)].bytes += text.count
    }
    if depth > 0, frames[depth - 1].isObject { note(text, at: pathIndex) }
    end(pathIndex, bytes: count, isNull: false)
  }

  private func open(isObject: Bool) {
    let pathIndex = begin()
    totals.bytes += 2
    if depth == frames.count { frames.append(Frame()) }
    frames[depth].isObject = isObject
    frames[depth].pathIndex = pathIndex
    frames[depth].start = totals.bytes - 2
    frames[depth].elements = 0
    frames[depth].next = pathIndex
    frames[depth].typename = nil
    frames[depth].fields.removeAll(keepingCapacity: true)
    frames[depth].keyValues.removeAll(keepingCapacity: true)
    frames[depth].entityBytes = 0
    frames[depth].typedBytes = 0
    depth += 1
    totals.depth = max(totals.depth, depth)
  }

  private func close() {
    depth -= 1
    let count = totals.bytes - frames[depth].start
    let pathIndex = frames[depth].pathIndex
    var entityBytes = frames[depth].entityBytes
    var typedBytes = frames[depth].typedBytes
    if frames[depth].isObject {
      totals.objects += 1
      if frames[depth].typename != nil { typedBytes = count }
      if closeObject(frames[depth], count) { entityBytes = count }
    } else {
      paths.noteList(at: pathIndex, count: frames[depth].elements)
    }
    if depth > 0 {
      frames[depth - 1].entityBytes += entityBytes
      frames[depth - 1].typedBytes += typedBytes
    }
    end(pathIndex, bytes: count, isNull: false)
  }

  // MARK: Values

  /// The path of the value that begins.
  private func begin() -> Int {
    guard depth > 0 else { return 0 }
    if !frames[depth - 1].isObject, frames[depth - 1].elements > 0 { totals.bytes += 1 }
    frames[depth - 1].elements += 1
    return frames[depth - 1].next
  }

  private func end(_ pathIndex: Int, bytes count: Int, isNull: Bool) {
    if isNull { paths.noteNull(at: pathIndex) }
    // The elements of a list are counted with the list.
    guard depth == 0 || frames[depth - 1].isObject else { return }
    paths.note(at: pathIndex, bytes: count)
    guard depth > 0 else { return }
    frames[depth - 1].fields.append(FieldCount(pathIndex: pathIndex, bytes: count, isNull: isNull))
  }

  private func note(_ text: UnsafeRawBufferPointer, at pathIndex: Int) {
    if paths.isTypename(pathIndex) {
      frames[depth - 1].typename = types.index(of: text)
    } else if types.allKeyFields.contains(paths.name(of: pathIndex)) {
      frames[depth - 1].keyValues.append((pathIndex, hash(text), Array(text.prefix(64))))
    }
  }

  /// Counts an object for its type; returns whether it has an identity.
  private func closeObject(_ frame: Frame, _ count: Int) -> Bool {
    guard let type = frame.typename else { return false }
    let own = count - frame.entityBytes
    types.note(type, bytes: count - frame.typedBytes, fields: frame.fields, names: paths)
    guard let identity = identity(frame, type) else { return false }
    totals.identified += 1
    totals.identifiedBytes += own
    entities.note(identity, type: type, bytes: own)
    if records.wants(own) {
      let values = frame.keyValues.map { String(decoding: $0.text, as: UTF8.self) }
      let key = "\(types.name(type)):\(values.joined(separator: "+"))"
      records.add(.init(key: key, path: paths.path(of: frame.pathIndex), bytes: own))
    }
    return true
  }

  private func identity(_ frame: Frame, _ type: Int) -> UInt64? {
    let fields = types.keyFields(type)
    guard !fields.isEmpty else { return nil }
    var result = UInt64(truncatingIfNeeded: type) &* 0x9E37_79B9_7F4A_7C15
    for field in fields {
      guard let value = frame.keyValues.first(where: { paths.name(of: $0.pathIndex) == field })
      else {
        return nil
      }
      result = (result ^ value.hash) &* 0xFF51_AFD7_ED55_8CCD
      result ^= result >> 33
    }
    return result
  }

  private func hash(_ text: UnsafeRawBufferPointer) -> UInt64 {
    var result: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text { result = (result ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    return result ^ result >> 29
  }

  // MARK: Result

  var report: ShapeReport {
    var report = totals
    report.distinct = entities.distinct
    report.isEstimated = entities.isEstimated
    report.repeatedBytes = entities.repeatedBytes
    report.types = types.shapes(distinct: entities.distinctByType)
    report.paths = paths.shapes
    report.largestRecords = records.records
    report.strings.removeAll { $0.count == 0 }
    return report
  }
}

extension ShapeReport {
  /// Analyzes a response as it streams, in bounded memory.
  ///
  /// - Parameters:
  ///   - path: The file of the response.
  ///   - keys: The key fields of each type.
  package init(ofFile path: String, keys: KeyRules) throws {
    let state = ShapeState(keys)
    var reader = try JSONEventReader(state)
    let file = try ResponseFile(path)
    while let chunk = try file.next() { try reader.feed(chunk) }
    try reader.finish()
    self = state.report
  }
}

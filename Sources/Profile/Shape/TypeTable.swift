import GQLRunCache

/// The counts of each type.
struct TypeTable {
  private struct Entry {
    var bytesOfName: [UInt8]
    var keyFields: [[UInt8]]
    /// The names of the fields in the shape.
    var names = FieldPositions()
    var shape: ShapeReport.TypeShape
  }

  private let keys: KeyRules
  private var entries: [Entry] = []
  private var indices: [[UInt8]: Int] = [:]
  private var last = 0
  /// The names of all key fields; they may precede the name of their type.
  private(set) var allKeyFields: Set<[UInt8]>
  /// The maximum number of types and fields; further ones are counted together, because their names
  /// are data.
  private static let limit = 5_000

  init(_ keys: KeyRules) {
    self.keys = keys
    let names = keys.types.values.reduce(into: Set(keys.defaultFields)) { $0.formUnion($1) }
    allKeyFields = Set(names.map { Array($0.utf8) })
  }

  mutating func index(of name: UnsafeRawBufferPointer) -> Int? {
    if last < entries.count, entries[last].bytesOfName.elementsEqual(name) { return last }
    let bytes = Array(name)
    if let index = indices[bytes] {
      last = index
      return index
    }
    guard entries.count < Self.limit, name.count < 1024 else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    let fields = (keys.types[text] ?? keys.defaultFields).map { Array($0.utf8) }
    entries.append(Entry(bytesOfName: bytes, keyFields: fields, shape: .init(name: text)))
    last = entries.count - 1
    indices[bytes] = last
    return last
  }

  func name(_ type: Int) -> String { entries[type].shape.name }
  func keyFields(_ type: Int) -> [[UInt8]] { entries[type].keyFields }

  mutating func note(
    _ type: Int, bytes: Int, fields: [ShapeState.FieldCount], names: PathTree
  ) {
    entries[type].shape.objects += 1
    entries[type].shape.bytes += bytes
    for field in fields {
      guard let index = self.field(type, names.name(of: field.pathIndex)) else { continue }
      entries[type].shape.fields[index].count += 1
      entries[type].shape.fields[index].bytes += field.bytes
      if field.isNull { entries[type].shape.fields[index].nulls += 1 }
    }
  }

  private mutating func field(_ type: Int, _ name: [UInt8]) -> Int? {
    if let position = entries[type].names.position(of: name) { return position }
    let count = entries[type].shape.fields.count
    guard count < Self.limit else { return nil }
    entries[type].names.append(name)
    entries[type].shape.fields.append(.init(name: String(decoding: name, as: UTF8.self)))
    return count
  }

  func shapes(distinct: [Int: Int]) -> [ShapeReport.TypeShape] {
    entries.indices.map { index in
      var shape = entries[index].shape
      shape.distinct = distinct[index]
      shape.fields.sort { ($0.bytes, $1.name) > ($1.bytes, $0.name) }
      return shape
    }
    .sorted { ($0.bytes, $1.name) > ($1.bytes, $0.name) }
  }
}

/// The number of different entities: exact up to a million, then estimated from a uniform sample.
struct EntityCount {
  private static let limit = 1 << 20
  private var seen: Set<UInt64> = []
  private(set) var distinctByType: [Int: Int] = [:]
  /// Only entities whose hash ends in this number of zero bits are kept.
  private var shift: UInt64 = 0
  private(set) var repeatedBytes = 0

  mutating func note(_ identity: UInt64, type: Int, bytes: Int) {
    guard identity & ((1 << shift) - 1) == 0 else { return }
    guard seen.insert(identity).inserted else {
      repeatedBytes += bytes << Int(shift)
      return
    }
    distinctByType[type, default: 0] += 1 << Int(shift)
    guard seen.count > Self.limit else { return }
    shift += 1
    let mask: UInt64 = (1 << shift) - 1
    seen = seen.filter { $0 & mask == 0 }
  }

  var isEstimated: Bool { shift > 0 }
  var distinct: Int { seen.count << Int(shift) }
}

/// The ten largest records.
struct LargestRecords {
  /// The records, the largest first.
  private(set) var records: [ShapeReport.LargeRecord] = []

  func wants(_ bytes: Int) -> Bool { records.count < 10 || bytes > (records.last?.bytes ?? 0) }

  mutating func add(_ record: ShapeReport.LargeRecord) {
    // A repeated record keeps its largest size.
    if let index = records.firstIndex(where: { $0.key == record.key }) {
      guard records[index].bytes < record.bytes else { return }
      records.remove(at: index)
    }
    let position = records.firstIndex { $0.bytes < record.bytes } ?? records.count
    records.insert(record, at: position)
    if records.count > 10 { records.removeLast() }
  }
}

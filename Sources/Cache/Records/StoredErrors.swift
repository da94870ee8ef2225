import GQLRunJSON
import GQLRunSupport

/// The keys of the records with the errors of fields.
///
/// The errors of `User:1` are the record `$errors:User:1`, beside the record itself: a record has facts only, and costs
/// the same with and without errors (`docs/decisions/0005-errored-nulls.md`).
enum ErrorRecord {
  static let keyPrefix: StaticString = "$errors:"
  /// The bytes of ``keyPrefix``.
  static let prefix = Array("$errors:".utf8)

  @inline(__always)
  static func isErrors(key: Bytes) -> Bool { key.hasPrefix(keyPrefix) }

  /// The key of the record with the errors of the record `owner`.
  static func key(of owner: Bytes) -> [UInt8] { prefix + owner.array }

  /// The key of the record whose errors are under `key`; `nil` for other keys.
  static func owner(of key: Bytes) -> Bytes? {
    isErrors(key: key) ? key[prefix.count..<key.count] : nil
  }

  /// The changed field that a position of errors is in, or is.
  static func change(of owner: Bytes, position: Bytes) -> FieldChange? {
    guard case .field(let field)? = StoredErrors.steps(ofQuoted: position)?.first else {
      return nil
    }
    return field.withBytes { FieldChange(key: owner, quotedField: $0) }
  }
}

/// The errors of the fields of one record, by position.
///
/// As text it is a record whose fields are positions: `"[\"profile\",\"name\"]"` has the steps from the record to the
/// value that failed. A position has the value that the response had there, with its errors in place of nulls:
///
/// - `{"$errors":[…]}` is a null with its errors. The `path` of an error is that below the null, in stored names.
/// - `{"$errors":[]}` is a null whose errors were not stored, so that it is a cache miss.
/// - A list with such elements is a list in which an element failed.
/// - `{"$errors":[…],"data": […]}` is a list of leaf values with nulls, and the errors of its elements.
///
/// The space before a position's value makes it opaque: it is replaced as a whole, never merged.
struct StoredErrors {
  /// The value of one position.
  struct Position {
    var steps: [RecordStep]
    var value: [UInt8]
  }

  /// The positions, each once.
  var positions: [Position] = []

  /// The maximum size of the errors of one null, in bytes. Of errors that are larger, only is stored that there are some,
  /// so that the position is a cache miss: a shortened error would not be that of the server.
  static let maxBytes = 16 << 10
  /// The maximum number of errors of a response that are stored, none of a response with more; and of the positions of a
  /// record, whose older errors are removed. The errors of a record are read and merged as a whole.
  static let maxErrors = 10_000

  init() {}

  /// - Parameter text: The text of a record with errors; positions that cannot be read are ignored.
  init(_ text: Bytes) {
    var cursor = FieldCursor(text)
    while let field = cursor.next() {
      guard let steps = Self.steps(ofQuoted: text[field.key]), !steps.isEmpty,
        RecordText.kind(text[field.value]) == .opaque
      else { continue }
      let value = text[(field.value.lowerBound + 1)..<field.value.upperBound]
      positions.append(Position(steps: steps, value: value.array))
    }
  }

  /// The text of the record.
  var text: [UInt8] {
    var object = ObjectText()
    for position in positions {
      object.entries.append(
        ObjectText.Entry(
          key: Self.quotedName(of: position.steps), value: [UInt8(ascii: " ")] + position.value))
    }
    return object.text
  }

  /// The steps as the name of a field, quoted.
  static func quotedName(of steps: [RecordStep]) -> [UInt8] {
    let parts = steps.map { step in
      switch step {
      case .field(let key): String(decoding: key, as: UTF8.self)
      case .element(let index): String(index)
      }
    }
    return Array(RecordText.quoted("[" + parts.joined(separator: ",") + "]").utf8)
  }

  /// The steps of the quoted name of a field; `nil` if it is not one of a position.
  static func steps(ofQuoted name: Bytes) -> [RecordStep]? {
    var scratch = ByteStack(capacity: 64)
    return RecordText.withUnescaped(name, scratch: &scratch) { list in
      var steps: [RecordStep] = []
      var cursor = ElementCursor(list)
      while let range = cursor.next() {
        let step = list[range]
        if step[0] == RecordText.quote {
          steps.append(.field(step.array))
        } else if let index = Int(step.string), index >= 0 {
          steps.append(.element(index))
        } else {
          return nil
        }
      }
      return cursor.isMalformed ? nil : steps
    }
  }

  /// The positions by their step at `depth`, in the order in which the steps occur first.
  private static func groups(
    _ positions: [Position], at depth: Int
  ) -> [(key: RecordStep, elements: [Position])] {
    OrderedGroups(positions.lazy.filter { $0.steps.count > depth }, by: { $0.steps[depth] }).all
  }

  private static func elements(
    _ positions: [Position], at depth: Int
  ) -> [Int: [Position]] {
    groups(positions, at: depth).reduce(into: [:]) { elements, group in
      if case .element(let index) = group.key { elements[index] = group.elements }
    }
  }
}

/// What the responses had.
extension StoredErrors {
  /// The record with the values of the positions in place of its own.
  ///
  /// - Parameter access: Finds the segments of long lists; the lists of the result have none.
  func replayed(in record: [UInt8], access: any SegmentAccess) -> [UInt8] {
    Self.replayed(positions, in: record, depth: 0, reading: access, writing: nil) ?? record
  }

  /// A list, with steps `depth` long, in which the values of the positions are in place of its own.
  static func replayed(
    _ positions: [Position], inList list: [UInt8], depth: Int, access: any SegmentAccess
  ) -> [UInt8] {
    let text =
      replayed(positions, in: list, depth: depth, reading: access, writing: access) ?? list
    guard text.withBytes({ TentativeNull.mayBeIn($0) }) else { return text }
    // The list is not settled with the record that would have it.
    var settled = ByteStack(capacity: text.count)
    let settling = NullSettling(access: access)
    text.withBytes { settling.settle($0, into: &settled) }
    return settled.all.array
  }

  private static func replayed(
    _ positions: [Position], in value: [UInt8]?, depth: Int, reading access: any SegmentAccess,
    writing target: (any SegmentAccess)?
  ) -> [UInt8]? {
    // What is below a value that failed belongs to an earlier response.
    if let whole = positions.last(where: { $0.steps.count == depth }) { return whole.value }
    guard let value else { return nil }
    switch RecordText.kind(value) {
    case .object:
      var object = ObjectText(value)
      // A record may have as many fields as errors.
      let numbers = object.positions
      for (step, positions) in groups(positions, at: depth) {
        guard case .field(let key) = step else { continue }
        let number = numbers[key]
        let new = replayed(
          positions, in: number.map { object.entries[$0].value }, depth: depth + 1,
          reading: access, writing: target)
        guard let new else { continue }
        if let number {
          object.entries[number].value = new
        } else {
          object.entries.append(ObjectText.Entry(key: key, value: new))
        }
      }
      return object.text
    case .list, .segments:
      guard var elements = ListReader(value, access: access) else { return value }
      let replaced = Self.elements(positions, at: depth)
      var result = ListWriter(access: target)
      var index = 0
      while let element = elements.next() {
        let new = replaced[index].flatMap {
          replayed($0, in: element, depth: depth + 1, reading: access, writing: target)
        }
        result.append(new ?? element)
        index += 1
      }
      return elements.isBroken ? value : result.finish()
    case .null, .scalar, .opaque, .reference, .values, .errored: return value
    }
  }
}

/// What a later response changes.
extension StoredErrors {
  /// The positions at which `new`, which is merged into `old`, has no value.
  ///
  /// - Parameters:
  ///   - new: The text of the record, or of an object in it.
  ///   - old: The stored text; `nil` if there is none, or if it is not known.
  ///   - steps: The steps from the record to the object; none for the record itself.
  func remaining(
    after new: [UInt8], over old: [UInt8]?, at steps: [RecordStep] = [], access: any SegmentAccess
  ) -> [Position] {
    let (inside, others) = positions.reduce(into: ([Position](), [Position]())) { parts, position in
      if position.steps.count > steps.count, position.steps.starts(with: steps) {
        parts.0.append(position)
      } else {
        parts.1.append(position)
      }
    }
    if inside.isEmpty { return positions }
    return others
      + Self.remaining(inside, after: new, over: old, depth: steps.count, isSame: true, access)
  }

  /// - Parameter isSame: Whether an object with other fields is known to be the same object. It is taken for it if there is no `old`.
  private static func remaining(
    _ positions: [Position], after new: [UInt8], over old: [UInt8]?, depth: Int, isSame: Bool,
    _ access: any SegmentAccess
  ) -> [Position] {
    guard positions.contains(where: { $0.steps.count > depth }),
      !new.withBytes({ $0.hasPrefix(TentativeNull.prefix) })
    else { return [] }
    switch RecordText.kind(new) {
    case .object:
      guard isSame || old.map({ Merge.isSameObject($0, new) }) != false else { return [] }
      let (fields, before) = (ObjectText(new).values, old.map { ObjectText($0).values } ?? [:])
      return groups(positions, at: depth).flatMap { step, positions -> [Position] in
        guard case .field(let key) = step, let value = fields[key] else { return positions }
        return remaining(
          positions, after: value, over: before[key], depth: depth + 1, isSame: false, access)
      }
    case .list, .segments:
      guard let old, var elements = ListReader(new, access: access),
        var before = Merge.elements(of: old, alignedWith: elements, access: access)
      else { return [] }
      let inner = Self.elements(positions, at: depth)
      var result: [Position] = []
      var index = 0
      while let element = elements.next() {
        let oldElement = before.next()
        if let positions = inner[index] {
          result += remaining(
            positions, after: element, over: oldElement, depth: depth + 1, isSame: false, access)
        }
        index += 1
      }
      return result
    case .null, .scalar, .opaque, .reference, .values, .errored: return []
    }
  }

  /// The positions outside a field of the record; none without the record, if there is no field.
  func remaining(without field: [UInt8]?) -> [Position] {
    guard let field else { return [] }
    return positions.filter { $0.steps.first != .field(field) }
  }
}

extension RecordAccess {
  /// Removes the errors of a record at the positions for which `new` has values.
  func removeErrors(of owner: [UInt8], after new: [UInt8], over old: [UInt8]?) {
    editErrors(of: owner) { $0.remaining(after: new, over: old, access: self) }
  }

  /// Removes the errors of a record if it would have more than ``StoredErrors/maxErrors`` with those of `added`, the text
  /// of a record with errors.
  func makeRoom(forErrors added: Bytes, key: Bytes) {
    guard let owner = ErrorRecord.owner(of: key), let known = text(of: key.array) else { return }
    let (old, new) = (known.withBytes { RecordText.keys(of: $0) }, RecordText.keys(of: added))
    guard old.count + new.count > StoredErrors.maxErrors,
      Set(old).union(new).count > StoredErrors.maxErrors
    else { return }
    editErrors(of: owner.array) { _ in [] }
  }

  /// Keeps the errors of a record that `body` returns.
  func editErrors(
    of owner: [UInt8], _ body: (StoredErrors) -> [StoredErrors.Position]
  ) {
    let key = owner.withBytes { ErrorRecord.key(of: $0) }
    guard let text = self.text(of: key) else { return }
    var errors = text.withBytes { StoredErrors($0) }
    let before = errors.positions
    errors.positions = body(errors)
    guard errors.positions.count < before.count else { return }
    let kept = Set(errors.positions.map(\.steps))
    let removed = before.map(\.steps).filter { !kept.contains($0) }
    setRecord(
      key: key, text: errors.positions.isEmpty ? nil : errors.text,
      fields: removed.map { StoredErrors.quotedName(of: $0) })
  }
}

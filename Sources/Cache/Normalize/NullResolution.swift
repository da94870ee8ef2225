import GraphQL
import JSONStream

/// Where records are read and rewritten while the nulls of a response are settled.
protocol RecordAccess: SegmentAccess {
  func record(key: [UInt8]) -> [UInt8]?
  func setRecord(key: [UInt8], text: [UInt8])
  /// The record as it was before this response, where it may already have been overwritten.
  func recordBefore(key: [UInt8]) -> [UInt8]?
}

/// Takes back the nulls that stand for errors.
///
/// A null whose path has an error is not a fact: it is not stored, and it does not overwrite what is
/// stored. Errors may come before or after the data, so this runs when the response has ended: each
/// error's path is followed from the root through the records; where it meets a null, the field goes
/// (or gets back the value it had). A null element makes its whole list an error's.
package struct NullResolution: Sendable {
  let plan: OperationPlan
  let paths: [[JSONValue]]

  init(plan: OperationPlan, errors: [JSONValue]) {
    self.plan = plan
    paths = errors.compactMap { error in
      guard let path = error["path"]?.arrayValue, !path.isEmpty else { return nil }
      return path
    }
  }

  var isEmpty: Bool { paths.isEmpty }

  func run(_ access: any RecordAccess) {
    guard plan.operationType == .query || !paths.isEmpty else { return }
    var walk = Walk(table: PlanTable(plan), access: access)
    for path in paths { walk.follow(path) }
  }

  /// What became of a value on an error's path.
  private enum Outcome {
    case unchanged
    case replaced([UInt8])
    /// The value is an error's null; what it replaced, if that is known.
    case errored([UInt8]?)
  }

  private struct Walk: ~Copyable {
    var table: PlanTable
    let access: any RecordAccess

    mutating func follow(_ path: [JSONValue]) {
      guard let key = path.first?.stringValue, let field = self.field(table.root, key) else {
        return
      }
      let recordKey = field.rootKey.array
      guard let record = access.record(key: recordKey) else { return }
      edit(record: recordKey, record, at: field, path.dropFirst())
    }

    private func field(_ plan: Int32, _ key: String) -> FieldPlan? {
      let object = table.plans[Int(plan)]
      let bytes = Array(key.utf8)
      for index in 0..<object.fieldCount where object.fields[index].key.equals(bytes) {
        return object.fields[index]
      }
      return nil
    }

    private mutating func edit(
      record key: [UInt8], _ text: [UInt8], at field: FieldPlan, _ rest: ArraySlice<JSONValue>
    ) {
      if let edited = edit(object: text, of: key, at: field, rest) {
        access.setRecord(key: key, text: edited)
      }
    }

    /// The object's new text, or `nil` when it stays as it is.
    private mutating func edit(
      object text: [UInt8], of key: [UInt8]?, at field: FieldPlan, _ rest: ArraySlice<JSONValue>
    ) -> [UInt8]? {
      let storedKey = field.storedPrefix.array.dropLast()
      guard let place = find(Array(storedKey), in: text) else { return nil }
      switch edit(value: Array(text[place.value]), under: field.child, rest) {
      case .unchanged: return nil
      case .replaced(let value): return splice(text, place, value)
      case .errored(let replaced):
        var old = replaced
        if old == nil, let key, let before = access.recordBefore(key: key),
          let place = find(Array(storedKey), in: before)
        {
          old = Array(before[place.value])
        }
        return splice(text, place, old)
      }
    }

    private mutating func edit(
      value: [UInt8], under node: Int32, _ path: ArraySlice<JSONValue>
    ) -> Outcome {
      let kind = value.withUnsafeBufferPointer { RecordText.kind(Bytes($0)) }
      if value.withUnsafeBufferPointer({ Bytes($0).hasPrefix(TentativeNull.prefix) }) {
        return .errored(value.withUnsafeBufferPointer { TentativeNull.value(Bytes($0)).array })
      }
      if kind == .null { return .errored(nil) }
      guard let step = path.first else { return .unchanged }
      switch kind {
      case .reference:
        var scratch = ByteStack(capacity: 64)
        let key = value.withUnsafeBufferPointer { value in
          RecordText.referenceText(Bytes(value)).map {
            RecordText.withUnescaped($0, &scratch) { $0.array }
          }
        }
        guard let key, let record = access.record(key: key),
          let field = self.field(in: record, under: node, step)
        else { return .unchanged }
        edit(record: key, record, at: field, path.dropFirst())
        return .unchanged
      case .object:
        guard let field = self.field(in: value, under: node, step),
          let edited = edit(object: value, of: nil, at: field, path.dropFirst())
        else { return .unchanged }
        return .replaced(edited)
      case .list, .segments:
        guard let index = step.intValue else { return .unchanged }
        return edit(list: value, at: index, under: node, path.dropFirst())
      case .scalar, .opaque, .null, .values: return .unchanged
      }
    }

    private mutating func edit(
      list: [UInt8], at index: Int, under node: Int32, _ path: ArraySlice<JSONValue>
    ) -> Outcome {
      let reader = list.withUnsafeBufferPointer { ListReader(Bytes($0), access: access) }
      guard var elements = reader else { return .unchanged }
      var position = 0
      var replacement: [UInt8]?
      while let element = elements.next() {
        if position == index {
          switch edit(value: element, under: node, path) {
          case .unchanged: return .unchanged
          case .errored: return .errored(nil)
          case .replaced(let value): replacement = value
          }
          break
        }
        position += 1
      }
      guard let replacement, var again = reader else { return .unchanged }
      var writer = ListWriter(access: access)
      position = 0
      while let element = again.next() {
        (position == index ? replacement : element).withUnsafeBufferPointer {
          writer.append(Bytes($0))
        }
        position += 1
      }
      var text = ByteStack(capacity: list.count)
      writer.finish(into: &text)
      return .replaced(text.all.array)
    }

    private mutating func field(
      in object: [UInt8], under node: Int32, _ step: JSONValue
    ) -> FieldPlan? {
      guard node >= 0, let key = step.stringValue else { return nil }
      let plan = object.withUnsafeBufferPointer { object in
        table.variant(of: node, typename: RecordText.typename(of: Bytes(object)))
      }
      return field(plan, key)
    }

    private func find(
      _ key: [UInt8], in object: [UInt8]
    ) -> (key: Range<Int>, value: Range<Int>)? {
      object.withUnsafeBufferPointer { object in
        var cursor = FieldCursor(Bytes(object))
        while let field = cursor.next() {
          if cursor.text[field.key].equals(key) { return field }
        }
        return nil
      }
    }

    /// The object with another value for a field, or without the field.
    private func splice(
      _ object: [UInt8], _ place: (key: Range<Int>, value: Range<Int>), _ value: [UInt8]?
    ) -> [UInt8] {
      if let value {
        return Array(object[..<place.value.lowerBound]) + value
          + Array(object[place.value.upperBound...])
      }
      var start = place.key.lowerBound
      var end = place.value.upperBound
      if object[end] == UInt8(ascii: ",") {
        end += 1
      } else if object[start - 1] == UInt8(ascii: ",") {
        start -= 1
      }
      return Array(object[..<start]) + Array(object[end...])
    }
  }
}

/// Staged records, for settling nulls before anything reached the store.
final class StagedRecords: RecordAccess {
  private let table: RecordTable
  private let segments: StagedSegments

  init(table: RecordTable, seed: UInt64) {
    self.table = table
    segments = StagedSegments(table: table, seed: seed)
  }

  func record(key: [UInt8]) -> [UInt8]? { segments.segment(key: key) }

  func recordBefore(key: [UInt8]) -> [UInt8]? { nil }

  func setRecord(key: [UInt8], text: [UInt8]) {
    key.withUnsafeBufferPointer { key in
      text.withUnsafeBufferPointer { text in
        guard let index = table.find(Bytes(key)) else { return }
        table.replace(at: index, text: Bytes(text))
      }
    }
  }

  func segment(key: [UInt8]) -> [UInt8]? { segments.segment(key: key) }
  func addSegment(elements: Bytes) -> UInt64 { segments.addSegment(elements: elements) }
}

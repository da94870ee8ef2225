import GQLRunJSON
import GQLRunLanguage

/// Access to records while the nulls of a response are resolved, and its pages joined.
protocol RecordAccess: SegmentAccess {
  /// Replaces the text of a record, or removes it; `fields` are the quoted stored keys of changed
  /// fields.
  func setRecord(key: [UInt8], text: [UInt8]?, fields: [[UInt8]])
  /// The record before this response, where it may already be overwritten.
  func recordBefore(key: [UInt8]) -> [UInt8]?
  /// Whether the values that nulls in lists replaced are from this response, not from an earlier
  /// one.
  var holdsOnlyThisResponse: Bool { get }
}

/// Reverts the nulls that are caused by errors.
///
/// A null with an error at its path is not stored and does not overwrite a stored value. Errors may
/// precede or follow the data, so this runs at the end of the response: it follows the paths of the
/// errors from the root through the records; if a path ends at a null, the field is removed or its
/// value restored. A null element invalidates its whole list, unless the response itself contains
/// the element elsewhere.
package struct NullResolution: Sendable {
  let plan: OperationPlan
  let paths: ErrorPaths
  /// The root fields, if they are not among the records.
  let roots: RecordTable?
  /// The type conditions that are concrete types, as the response was read.
  let concreteConditions: Set<String>

  init(
    plan: OperationPlan, errors: [JSONValue], roots: RecordTable?, concreteConditions: Set<String>
  ) {
    self.plan = plan
    self.concreteConditions = concreteConditions
    self.roots = roots
    paths = ErrorPaths(errors)
  }

  /// The nulls in a later part of a response, whose errors have the given paths.
  init(plan: OperationPlan, paths: ErrorPaths, concreteConditions: Set<String>) {
    self.plan = plan
    self.paths = paths
    self.concreteConditions = concreteConditions
    roots = nil
  }

  var isEmpty: Bool { paths.isEmpty }

  /// Reverts the nulls in the records.
  ///
  /// - Returns: The number of fields and list elements that were examined; for tests of the cost.
  @discardableResult
  func run(_ access: any RecordAccess) -> Int {
    var walk = walk(access)
    walk.run(roots: roots)
    return walk.examined
  }

  /// Reverts the nulls in the record of an object that a later part extends.
  func run(_ access: any RecordAccess, record: [UInt8], selection: [SelectionPart]) {
    var walk = walk(access)
    walk.references = [(record, walk.table.node(of: selection), 0)]
    walk.followReferences()
  }

  /// The text of fields or elements that a later part adds, without the nulls; `nil` if nothing of it is known.
  func resolved(
    _ value: [UInt8], selection: [SelectionPart], _ access: any RecordAccess
  ) -> [UInt8]? {
    var walk = walk(access)
    let node = selection.isEmpty ? -1 : walk.table.node(of: selection)
    let outcome = walk.edit(value: value, before: nil, under: node, at: 0)
    walk.followReferences()
    switch outcome {
    case .unchanged: return value
    case .replaced(let value): return value
    case .errored: return nil
    }
  }

  private func walk(_ access: any RecordAccess) -> Walk {
    var table = PlanTable(plan, separatesPages: true)
    for name in concreteConditions { table.noteConcrete(name) }
    return Walk(table: table, paths: paths, access: access)
  }

  /// The effect of an error's path on a value.
  private enum Outcome {
    case unchanged
    case replaced([UInt8])
    /// The value is an error's null; with the replaced value, if it is known.
    case errored([UInt8]?)
  }

  private struct Walk: ~Copyable {
    var table: PlanTable
    let paths: ErrorPaths
    let access: any RecordAccess
    /// The records to edit, with the selection and the node in the paths. They wait until the
    /// record that refers to them is written, because it may be the same one.
    var references: [(key: [UInt8], node: Int32, position: Int)] = []
    private(set) var examined = 0

    init(table: consuming PlanTable, paths: ErrorPaths, access: any RecordAccess) {
      self.table = table
      self.paths = paths
      self.access = access
    }

    mutating func run(roots: RecordTable?) {
      for (key, position) in paths.fields(after: 0) {
        guard let field = field(table.root, key) else { continue }
        let key = field.rootKey.array
        if let roots {
          if let text = roots.text(of: key) {
            var record = ObjectText(text)
            _ = edit(field, of: &record, before: nil, at: position)
          }
        } else if let text = access.text(of: key) {
          var record = ObjectText(text)
          let before = access.recordBefore(key: key).map { ObjectText($0) }
          if edit(field, of: &record, before: before, at: position) {
            store(key, old: text, text: record.text, fields: [field.storedKey])
          }
        }
        followReferences()
      }
    }

    mutating func followReferences() {
      while let (key, node, position) = references.popLast() {
        guard let text = access.text(of: key) else { continue }
        var fields: [[UInt8]] = []
        let edited = edit(
          object: text, before: access.recordBefore(key: key), under: node, at: position, &fields)
        if let edited { store(key, old: text, text: edited, fields: fields) }
      }
    }

    private func store(_ key: [UInt8], old: [UInt8], text: [UInt8], fields: [[UInt8]]) {
      if text == old { return }
      access.setRecord(key: key, text: text.count > 2 ? text : nil, fields: fields)
    }

    private func field(_ plan: Int32, _ key: String) -> FieldPlan? {
      let object = table.plans[Int(plan)]
      let bytes = Array(key.utf8)
      for index in 0..<object.fieldCount where object.fields[index].key.equals(bytes) {
        return object.fields[index]
      }
      return nil
    }

    // MARK: Objects

    /// The object's new text; `nil` if it is unchanged. Collects the changed fields.
    private mutating func edit(
      object: [UInt8], before: [UInt8]?, under node: Int32, at position: Int,
      _ fields: inout [[UInt8]]
    ) -> [UInt8]? {
      guard node >= 0 else { return nil }
      let plan = object.withBytes {
        table.variant(of: node, typename: RecordText.typename(of: $0))
      }
      var record = ObjectText(object)
      let before = before.map { ObjectText($0) }
      for (key, next) in paths.fields(after: position) {
        guard let field = field(plan, key), edit(field, of: &record, before: before, at: next)
        else { continue }
        fields.append(field.storedKey)
      }
      return fields.isEmpty ? nil : record.text
    }

    /// Changes or removes one field of an object; returns whether it was necessary.
    private mutating func edit(
      _ field: FieldPlan, of object: inout ObjectText, before: ObjectText?, at position: Int
    ) -> Bool {
      let key = field.storedKey
      examined += object.entries.count + (before?.entries.count ?? 0)
      guard let value = object[key] else { return false }
      let old = before?[key]
      switch edit(value: value, before: old, under: field.child, at: position) {
      case .unchanged: return false
      case .replaced(let value): object[key] = value
      case .errored(let replaced): object[key] = replaced ?? old
      }
      return true
    }

    // MARK: Values

    mutating func edit(
      value: [UInt8], before: [UInt8]?, under node: Int32, at position: Int
    ) -> Outcome {
      if value.withBytes({ $0.hasPrefix(TentativeNull.prefix) }) {
        let replaced = value.withBytes { TentativeNull.value($0).array }
        // The restored value may itself contain nulls of errors.
        switch edit(value: replaced, before: before, under: node, at: position) {
        case .unchanged: return .errored(replaced)
        case .replaced(let value): return .errored(value)
        case .errored(let value): return .errored(value)
        }
      }
      let kind = RecordText.kind(value)
      if kind == .null { return .errored(nil) }
      if paths.isEnd(position) { return .unchanged }
      switch kind {
      case .reference:
        var scratch = ByteStack(capacity: 64)
        let key = value.withBytes { value in
          RecordText.referenceText(value).map {
            RecordText.withUnescaped($0, scratch: &scratch) { $0.array }
          }
        }
        if let key { references.append((key, node, position)) }
        return .unchanged
      case .object:
        var fields: [[UInt8]] = []
        let before = before.flatMap { Merge.isSameObject($0, value) ? $0 : nil }
        return edit(object: value, before: before, under: node, at: position, &fields)
          .map { .replaced($0) } ?? .unchanged
      case .list, .segments: return edit(list: value, before: before, under: node, at: position)
      case .opaque, .values: return isSpoilt(value, at: position) ? .errored(nil) : .unchanged
      case .scalar, .null: return .unchanged
      }
    }

    private mutating func edit(
      list: [UInt8], before: [UInt8]?, under node: Int32, at position: Int
    ) -> Outcome {
      let wanted = paths.elements(after: position)
      guard !wanted.isEmpty, let reader = ListReader(list, access: access) else {
        return .unchanged
      }
      var old = before.flatMap { Merge.elements(of: $0, alignedWith: reader, access: access) }
      var replacements: [Int: [UInt8]] = [:]
      var isErrored = false
      var elements = reader
      var next = 0
      var index = 0
      while next < wanted.count, let element = elements.next() {
        let oldElement = old?.next()
        examined += 1
        if index == wanted[next].index {
          switch edit(value: element, before: oldElement, under: node, at: wanted[next].position) {
          case .unchanged: break
          case .errored(let value?) where access.holdsOnlyThisResponse: replacements[index] = value
          case .errored: isErrored = true
          case .replaced(let value): replacements[index] = value
          }
          next += 1
        }
        index += 1
      }
      if isErrored { return .errored(nil) }
      if replacements.isEmpty { return .unchanged }
      elements = reader
      var writer = ListWriter(access: access)
      index = 0
      while let element = elements.next() {
        writer.append(replacements[index] ?? element)
        index += 1
        examined += 1
      }
      return .replaced(writer.finish())
    }

    /// Whether a path leads to a null in a list of leaf values.
    private mutating func isSpoilt(_ value: [UInt8], at position: Int) -> Bool {
      if value.starts(with: "null".utf8) { return true }
      guard RecordText.kind(value) != .segments, var elements = ListReader(value, access: access)
      else { return false }
      var index = 0
      for wanted in paths.elements(after: position) {
        while index < wanted.index {
          guard elements.next() != nil else { return false }
          index += 1
          examined += 1
        }
        guard let element = elements.next() else { return false }
        index += 1
        if isSpoilt(element, at: wanted.position) { return true }
      }
      return false
    }
  }
}

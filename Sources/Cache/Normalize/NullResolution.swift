import GQLRunJSON
import GQLRunLanguage

/// Access to records while the nulls of a response are resolved, and its pages joined.
protocol RecordAccess: SegmentAccess {
  /// Replaces the text of a record, or removes it; `fields` are the quoted stored keys of changed
  /// fields.
  func setRecord(key: [UInt8], text: [UInt8]?, fields: [[UInt8]])
  /// The record before this response, where it may already be overwritten.
  func recordBefore(key: [UInt8]) -> [UInt8]?
  /// Adds errors of the fields of a record; those of the same positions are replaced.
  func addErrors(_ errors: StoredErrors, of owner: [UInt8])
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
/// the element elsewhere. The errors are stored beside the record, see ``StoredErrors``.
package struct NullResolution: Sendable {
  let plan: OperationPlan
  let paths: ErrorPaths
  /// The root fields, if they are not among the records.
  var roots: RecordTable?
  /// The type conditions that are concrete types, as the response was read.
  let concreteConditions: Set<String>
  /// Replaces the secrets of an error that is stored.
  var hidesSecrets: (@Sendable (JSONValue) -> JSONValue)?

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
  func resolved(_ value: [UInt8], at anchor: Anchor, _ access: any RecordAccess) -> [UInt8]? {
    var walk = walk(access)
    let node = anchor.parts.isEmpty ? -1 : walk.table.node(of: anchor.parts)
    walk.steps = anchor.steps
    if let count = anchor.count { walk.part = (depth: anchor.steps.count, firstIndex: count) }
    let outcome = walk.edit(value: value, before: nil, under: node, at: 0)
    if case .errored = outcome { walk.errors = [] }
    walk.store(errorsOf: anchor.owner)
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
    return Walk(table: table, paths: paths, access: access, hidesSecrets: hidesSecrets)
  }

  /// The effect of an error's path on a value.
  private enum Outcome {
    case unchanged
    case replaced([UInt8])
    /// The value is an error's null; with the replaced value, if it is known, and with what is stored of the errors
    /// (the value of a position of ``StoredErrors``); `nil` if nothing of the response is.
    case errored([UInt8]?, errors: [UInt8]?)
  }

  private struct Walk: ~Copyable {
    var table: PlanTable
    let paths: ErrorPaths
    let access: any RecordAccess
    /// The records to edit, with the selection and the node in the paths. They wait until the
    /// record that refers to them is written, because it may be the same one.
    var references: [(key: [UInt8], node: Int32, position: Int)] = []
    /// The steps from the record to the value that is edited.
    var steps: [RecordStep] = []
    /// The list to which a later part adds elements: the number of steps to it, and of its earlier elements.
    var part: (depth: Int, firstIndex: Int)?
    /// The number of steps that are fields whose pages are joined. Their elements may move, so that no error is stored in
    /// them.
    private(set) var joinedSteps = 0
    /// The errors of the record; `nil` if none of the response is stored.
    var errors: [(steps: [RecordStep], value: [UInt8]?)] = []
    /// The positions of all records whose errors were stored.
    private(set) var noted: [[UInt8]: Set<[RecordStep]>] = [:]
    let hidesSecrets: (@Sendable (JSONValue) -> JSONValue)?
    private(set) var examined = 0
    /// The positions of the fields of each plan, by response key.
    private(set) var fieldNumbers: [Int32: [String: Int]] = [:]
    /// The most fields of an object that are found without an index.
    private static let maxSearched = 16

    mutating func run(roots: RecordTable?) {
      for wanted in paths.fields(after: 0) {
        guard let field = field(table.root, wanted.key) else { continue }
        let key = field.rootKey.array
        if let roots {
          if let text = roots.text(of: key) {
            _ = edit([wanted], of: text, before: nil, under: table.root)
            errors = []
          }
        } else if let text = access.text(of: key) {
          let before = access.recordBefore(key: key)
          if let edited = edit([wanted], of: text, before: before, under: table.root) {
            store(key, old: text, text: edited.text, fields: edited.fields)
          }
          store(errorsOf: key)
        }
        followReferences()
      }
    }

    mutating func followReferences() {
      while let (key, node, position) = references.popLast() {
        guard let text = access.text(of: key) else { continue }
        (steps, part) = ([], nil)
        let edited = edit(
          object: text, before: access.recordBefore(key: key), under: node, at: position)
        if let edited { store(key, old: text, text: edited.text, fields: edited.fields) }
        store(errorsOf: key)
      }
    }

    /// Stores the errors that were found in a record. Pages are not stored where they are, so neither are their errors.
    mutating func store(errorsOf owner: [UInt8]?) {
      defer { errors = [] }
      guard let owner else { return }
      var stored = StoredErrors()
      for case (let steps, let value?) in errors where !steps.contains(where: \.isPage) {
        // Another path to the same record finds the value that was restored.
        guard noted[owner, default: []].insert(steps).inserted else { continue }
        stored.positions.append(StoredErrors.Position(steps: steps, value: value))
      }
      if !stored.positions.isEmpty { access.addErrors(stored, of: owner) }
    }

    private func store(_ key: [UInt8], old: [UInt8], text: [UInt8], fields: [[UInt8]]) {
      if text == old { return }
      access.setRecord(key: key, text: text.count > 2 ? text : nil, fields: fields)
    }

    private mutating func field(_ plan: Int32, _ key: String) -> FieldPlan? {
      let object = table.plans[Int(plan)]
      if fieldNumbers[plan] == nil {
        fieldNumbers[plan] = Dictionary(
          (0..<object.fieldCount).map { (object.fields[$0].key.string, $0) }
        ) { first, _ in first }
      }
      return fieldNumbers[plan]?[key].map { object.fields[$0] }
    }

    // MARK: Objects

    /// The object's new text, and the stored keys of the changed fields; `nil` if it is unchanged.
    private mutating func edit(
      object: [UInt8], before: [UInt8]?, under node: Int32, at position: Int
    ) -> (text: [UInt8], fields: [[UInt8]])? {
      guard node >= 0 else { return nil }
      let plan = object.withBytes {
        table.variant(of: node, typename: RecordText.typename(of: $0))
      }
      return edit(paths.fields(after: position), of: object, before: before, under: plan)
    }

    /// Changes or removes fields of an object.
    private mutating func edit(
      _ wanted: [(key: String, position: Int)], of object: [UInt8], before: [UInt8]?,
      under plan: Int32
    ) -> (text: [UInt8], fields: [[UInt8]])? {
      var object = ObjectText(object)
      let before = before.map { ObjectText($0) }
      // Few fields are found one after another, many with an index.
      let hasIndex = wanted.count > Self.maxSearched
      let (numbers, olds) = hasIndex ? (object.positions, before?.values) : ([:], nil)
      examined +=
        (object.entries.count + (before?.entries.count ?? 0))
        * min(wanted.count, Self.maxSearched)
      var fields: [[UInt8]] = []
      var removed: Set<Int> = []
      for (key, next) in wanted {
        guard let field = field(plan, key) else { continue }
        let key = field.storedKey
        let number = hasIndex ? numbers[key] : object.entries.firstIndex { $0.key == key }
        guard let number, !removed.contains(number) else { continue }
        let old = hasIndex ? olds?[key] : before?[key]
        steps.append(.field(key))
        if field.isJoined { joinedSteps += 1 }
        let value = object.entries[number].value
        switch edit(value: value, before: old, under: field.child, at: next) {
        case .unchanged: break
        case .replaced(let edited):
          if losesList(.field(key), from: value, to: edited) {
            removed.insert(number)
          } else {
            object.entries[number].value = edited
          }
          fields.append(key)
        case .errored(let replaced, let found):
          if joinedSteps == 0 { errors.append((steps, found)) }
          if let value = replaced ?? old {
            object.entries[number].value = value
          } else {
            removed.insert(number)
          }
          fields.append(key)
        }
        steps.removeLast()
        if field.isJoined { joinedSteps -= 1 }
      }
      if fields.isEmpty { return nil }
      if !removed.isEmpty {
        object.entries = object.entries.indices.filter { !removed.contains($0) }
          .map { object.entries[$0] }
      }
      return (object.text, fields)
    }

    /// Whether a page of a connection has lost its list, with which it cannot be joined with the stored one.
    private func losesList(_ step: RecordStep, from old: [UInt8], to new: [UInt8]) -> Bool {
      guard step.isPage, RecordText.kind(old) == .object else { return false }
      let (old, new) = (ObjectText(old), ObjectText(new))
      return PageRule.lists.contains { old[$0] != nil && new[$0] == nil }
    }

    // MARK: Values

    mutating func edit(
      value: [UInt8], before: [UInt8]?, under node: Int32, at position: Int
    ) -> Outcome {
      if value.withBytes({ $0.hasPrefix(TentativeNull.prefix) }) {
        let replaced = value.withBytes { TentativeNull.value($0).array }
        // The restored value may itself contain nulls of errors.
        let found = stored(at: position, under: node)
        switch edit(value: replaced, before: before, under: node, at: position) {
        case .unchanged: return .errored(replaced, errors: found)
        case .replaced(let value): return .errored(value, errors: found)
        case .errored(let value, _): return .errored(value, errors: found)
        }
      }
      let kind = RecordText.kind(value)
      if kind == .null { return .errored(nil, errors: stored(at: position, under: node)) }
      if paths.isEnd(position) { return .unchanged }
      switch kind {
      case .reference:
        let key = value.withBytes { RecordText.referencedKey($0) }
        if let key { references.append((key, node, position)) }
        return .unchanged
      case .object:
        let before = before.flatMap { Merge.isSameObject($0, value) ? $0 : nil }
        return edit(object: value, before: before, under: node, at: position)
          .map { .replaced($0.text) } ?? .unchanged
      case .list, .segments: return edit(list: value, before: before, under: node, at: position)
      case .opaque, .values:
        guard isSpoilt(value, at: position) else { return .unchanged }
        return .errored(nil, errors: stored(at: position, under: node, data: value))
      case .scalar, .null, .errored: return .unchanged
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
      let firstIndex = part.flatMap { $0.depth == steps.count ? $0.firstIndex : nil } ?? 0
      let firstError = errors.count
      while next < wanted.count, let element = elements.next() {
        let oldElement = old?.next()
        examined += 1
        if index == wanted[next].index {
          steps.append(.element(firstIndex + index))
          switch edit(value: element, before: oldElement, under: node, at: wanted[next].position) {
          case .unchanged: break
          case .errored(let value, let found):
            if joinedSteps == 0 { errors.append((steps, found)) }
            if let value, access.holdsOnlyThisResponse {
              replacements[index] = value
            } else {
              isErrored = true
            }
          case .replaced(let value): replacements[index] = value
          }
          steps.removeLast()
          next += 1
        }
        index += 1
      }
      if isErrored { return .errored(nil, errors: takeErrors(after: firstError, inList: list)) }
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

    // MARK: Errors

    /// What is stored of the errors at a null and below it, or in a list of leaf values: `{"$errors":[…]}`, which is
    /// empty if they cannot be stored; `nil` if none of the response is stored.
    private func stored(at position: Int, under node: Int32, data: [UInt8]? = nil) -> [UInt8]? {
      guard paths.errors.count <= StoredErrors.maxErrors else { return nil }
      var text = Array("{\"$errors\":".utf8) + (list(at: position, under: node) ?? Array("[]".utf8))
      if let data { text += Array(",\"data\":".utf8) + data }
      return text + [UInt8(ascii: "}")]
    }

    /// The errors at a null and below it; `nil` if they cannot be stored.
    private func list(at position: Int, under node: Int32) -> [UInt8]? {
      guard let found = paths.errors(below: position) else { return nil }
      var text = [UInt8(ascii: "[")]
      for (steps, number) in found {
        let error = paths.errors[number]
        guard var entry = (hidesSecrets?(error) ?? error).objectValue,
          let path = table.storedPath(steps, under: node)
        else { return nil }
        // They are positions in a document that another one may differ from.
        entry["locations"] = nil
        entry["path"] = .array(path)
        if text.last != UInt8(ascii: "[") { text.append(UInt8(ascii: ",")) }
        text += JSONValue.object(entry).jsonText().utf8
        if text.count > StoredErrors.maxBytes { return nil }
      }
      text.append(UInt8(ascii: "]"))
      // Their members may be nested deeper than a reader can parse, although the response could be.
      return (try? JSONValue(parsing: text)) == nil ? nil : text
    }

    /// Takes the errors inside a list of which an element failed: the list with them, in one position.
    private mutating func takeErrors(after first: Int, inList list: [UInt8]) -> [UInt8]? {
      let found = errors[first...]
      errors.removeSubrange(first...)
      let positions = found.compactMap { found in
        found.value.map { StoredErrors.Position(steps: found.steps, value: $0) }
      }
      guard positions.count == found.count else { return nil }
      return StoredErrors.replayed(positions, inList: list, depth: steps.count, access: access)
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

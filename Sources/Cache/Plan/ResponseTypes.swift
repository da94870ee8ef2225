import GQLRunLanguage

/// The types of a response: those of its records with their fields, for the SQL views, and all of which it had objects.
struct ResponseTypes: Sendable {
  struct Field: Sendable, Hashable {
    /// The stored field key, without quotes.
    var key: String
    /// Whether its value consists of objects, references or lists of them.
    var holdsObjects: Bool
  }

  struct RecordType: Sendable {
    var typename: String
    /// The prefix of the keys, before the colon.
    var prefix: String
    var fields: [Field]
  }

  /// Two instances with the same number have the same types, within this process.
  let number: UInt64
  let records: [RecordType]
  /// The names of all types of which the response had objects, with or without identity.
  let concreteTypes: [String]

  /// The types of earlier responses by number.
  fileprivate static let known = Memo<UInt64, ResponseTypes>(
    maxCount: 1024, startsAgain: true)
}

extension PlanTable {
  /// The types of which the response had objects, and those of records with their fields; `nil`
  /// without any.
  ///
  /// Does not allocate if a response of the same types occurred before.
  func responseTypes() -> ResponseTypes? {
    var number: UInt64 = 0
    for index in 0..<planCount {
      for entry in plans[index].keyEntries where entry.usedIn == use {
        number = hashBytes(
          entry.typename.start, entry.typename.count, seed: number ^ processSeed)
        if entry.parts.isEmpty { continue }
        number = hashBytes(entry.prefix.start, entry.prefix.count, seed: number)
        for field in 0..<plans[index].fieldCount {
          let plan = plans[index].fields + field
          number = hashBytes(
            plan.pointee.storedPrefix.start, plan.pointee.storedPrefix.count,
            seed: plan.pointee.child < 0 ? number : ~number)
        }
      }
    }
    if number == 0 { return nil }
    return ResponseTypes.known.value(of: number) {
      ResponseTypes(number: number, records: collected(), concreteTypes: concreteTypes())
    }
  }

  private func concreteTypes() -> [String] {
    var names: Set<String> = []
    for index in 0..<planCount {
      for entry in plans[index].keyEntries where entry.usedIn == use && entry.typename.count <= 200
      {
        let name = entry.typename.string
        if Name.isValid(name) { names.insert(name) }
      }
    }
    return names.sorted()
  }

  private func collected() -> [ResponseTypes.RecordType] {
    var types: [ResponseTypes.RecordType] = []
    for index in 0..<planCount {
      for entry in plans[index].keyEntries where !entry.parts.isEmpty && entry.usedIn == use {
        let typename = entry.typename.string
        var type = ResponseTypes.RecordType(
          typename: typename, prefix: entry.prefix[0..<(entry.prefix.count - 1)].string, fields: [])
        for number in 0..<plans[index].fieldCount {
          let field = plans[index].fields[number]
          guard belongs(field, of: Int32(index), to: typename) else { continue }
          var key = field.storedName
          // A page becomes a part of the list.
          if key.hasPrefix("$page"), let colon = key.firstIndex(of: ":") {
            key = String(key[key.index(after: colon)...])
          }
          type.fields.append(.init(key: key, holdsObjects: field.child >= 0))
        }
        types.append(type)
      }
    }
    return types
  }

  /// Whether objects of `type` may have a field; the plan for every type has the fields of all.
  private func belongs(_ field: FieldPlan, of plan: Int32, to type: String) -> Bool {
    guard let node = nodes.first(where: { $0.union == plan }), node.isConditional else {
      return true
    }
    let key = field.key.string
    return node.parts.contains { part in
      self.plan.sets[part.set].contains {
        $0.responseKey == key && applies($0, to: type, isRoot: false) != nil
      }
    }
  }
}

import GQLRunJSON

/// Joins the pages of a response with the stored lists.
///
/// ```
/// response ──▶ record text: "$page0:feed":{…}        (an ordinary field until the commit)
/// commit   ──▶ store merges records, settles nulls ──▶ PageJoin: "$page0:feed" + "feed" ──▶ "feed"
/// ```
/// A page has a separate name until the store has all of the response. Therefore pages need no
/// support in the parser, in merging or in resolving nulls, several pages of one list in a response
/// do not conflict, and they are joined with what is stored at that moment, inside the transaction.
struct PageJoin {
  let rules: [PageRule]
  let access: any RecordAccess
  private(set) var warnings: [String] = []
  /// The quoted stored keys of the fields of the record, and of objects in it, that were joined.
  private(set) var joinedFields: Set<[UInt8]> = []

  /// Joins the pages in the records of `keys`.
  mutating func run(_ keys: [[UInt8]]) {
    for key in keys {
      guard let text = access.text(of: key) else { continue }
      var fields: [[UInt8]] = []
      guard let joined = join(object: text, String(decoding: key, as: UTF8.self), &fields) else {
        continue
      }
      access.setRecord(key: key, text: joined.count > 2 ? joined : nil, fields: fields)
      removeErrors(of: key)
    }
  }

  /// Removes the errors in joined lists, because they may now be those of other elements.
  private mutating func removeErrors(of key: [UInt8]) {
    defer { joinedFields = [] }
    if joinedFields.isEmpty { return }
    access.editErrors(of: key) { [joinedFields] errors in
      errors.positions.filter { position in
        !position.steps.contains { step in
          if case .field(let field) = step { joinedFields.contains(field) } else { false }
        }
      }
    }
  }

  // MARK: - Finding pages

  /// The object with its pages joined; `nil` if it has none. Collects the stored keys of the lists.
  private mutating func join(
    object: [UInt8], _ path: String, _ changed: inout [[UInt8]]
  ) -> [UInt8]? {
    var fields = ObjectText(object)
    var isEdited = false
    for index in fields.entries.indices where !fields.entries[index].isPage {
      guard let value = join(value: fields.entries[index].value, path) else { continue }
      fields.entries[index].value = value
      isEdited = true
    }
    let pages = fields.takePages()
    for page in pages.sorted(by: { $0.number < $1.number }) {
      isEdited = true
      guard rules.indices.contains(page.number) else { continue }
      let own = join(value: page.value, path) ?? page.value
      let old = fields[page.key]
      var name = path
      if name.hasPrefix("QUERY_ROOT.") { name = "QUERY_ROOT" }
      let title = "\(name).\(rules[page.number].storedKey)"
      guard let value = joined(old, new: own, rule: rules[page.number], title: title) else {
        continue
      }
      fields[page.key] = value
      changed.append(page.key)
      joinedFields.insert(page.key)
    }
    return isEdited ? fields.text : nil
  }

  /// A value with the pages inside it joined; `nil` if there are none.
  private mutating func join(value: [UInt8], _ path: String) -> [UInt8]? {
    let kind = RecordText.kind(value)
    guard kind == .object || kind == .list || kind == .segments,
      value.withBytes({ RecordBatch.mayHoldPages($0) })
    else { return nil }
    if kind == .object {
      var fields: [[UInt8]] = []
      return join(object: value, path, &fields)
    }
    guard var elements = ListReader(value, access: access) else { return nil }
    var writer = ListWriter(access: access)
    var isEdited = false
    while let element = elements.next() {
      let edited = join(value: element, path)
      if edited != nil { isEdited = true }
      writer.append(edited ?? element)
    }
    return isEdited && !elements.isBroken ? writer.finish() : nil
  }

  // MARK: - Joining

  private mutating func joined(
    _ old: [UInt8]?, new: [UInt8], rule: PageRule, title: String
  ) -> [UInt8]? {
    let kind = RecordText.kind(new)
    if kind == .null { return nil }
    guard let offset = rule.offset else {
      warn(title, "has an offset that is no index")
      return nil
    }
    guard let old, RecordText.kind(old) != .null else {
      guard rule.policy == .offset, offset != 0 else { return new }
      warn(title, "starts at \(offset), but nothing is stored before it")
      return nil
    }
    guard
      kind == .object && RecordText.kind(old) == .object
        || RecordText.isList(new) && RecordText.isList(old)
    else {
      if kind == .reference {
        warn(title, "has its own record, so it cannot be joined; it replaces the stored list")
      }
      return new
    }
    if let kept = keptList(old, new: new) { return kept }
    switch rule.policy {
    case .connection: return connection(old, new: new, rule: rule, title: title)
    case .offset, .append:
      do throws(PageGap) {
        return try lists(old, new: new) { old, new throws(PageGap) in
          rule.policy == .offset
            ? try overlaid(old, new, at: offset) : try appended(old, new)
        }
      } catch {
        warn(title, error.problem)
        return nil
      }
    }
  }

  private mutating func warn(_ title: String, _ problem: String) {
    if warnings.count < 100 { warnings.append("the page of \(title) \(problem)") }
  }

  /// The stored object with the other fields of a page that has no list, such as one whose list failed; `nil` if the page
  /// has one, or the object none.
  private func keptList(_ old: [UInt8], new: [UInt8]) -> [UInt8]? {
    guard RecordText.kind(new) == .object else { return nil }
    var stored = ObjectText(old)
    let page = ObjectText(new)
    let lists = stored.entries.filter { RecordText.isList($0.value) }.map(\.key)
    guard !lists.isEmpty, !page.entries.contains(where: { RecordText.isList($0.value) }) else {
      return nil
    }
    // `pageInfo` is where the list ends.
    for entry in page.entries where !lists.contains(entry.key) && entry.key != Connection.pageInfo {
      stored[entry.key] = entry.value
    }
    return stored.text
  }

  /// Joins a list, or all lists of an object, with `body`.
  private func lists(
    _ old: [UInt8], new: [UInt8],
    body: (ListReader, ListReader) throws(PageGap) -> [UInt8]
  ) throws(PageGap) -> [UInt8] {
    if let oldList = ListReader(old, access: access), let newList = ListReader(new, access: access)
    {
      return try body(oldList, newList)
    }
    // A list that cannot be read is damaged.
    guard RecordText.kind(old) == .object, RecordText.kind(new) == .object else { throw .broken }
    let stored = ObjectText(old)
    var result = ObjectText(new)
    for index in result.entries.indices {
      let entry = result.entries[index]
      guard let value = stored[entry.key], let oldList = ListReader(value, access: access),
        let newList = ListReader(entry.value, access: access)
      else { continue }
      result.entries[index].value = try body(oldList, newList)
    }
    for entry in stored.entries
    where result[entry.key] == nil && ListReader(entry.value, access: access) == nil {
      result[entry.key] = entry.value
    }
    return result.text
  }

  private func appended(_ old: ListReader, _ new: ListReader) throws(PageGap) -> [UInt8] {
    var known: Set<[UInt8]> = []
    var elements = old
    while let element = elements.next() {
      if RecordText.kind(element) == .reference { known.insert(element) }
    }
    var writer = ListWriter(access: access, isLeaf: old.isLeaf)
    writer.append(contentsOf: old)
    var arriving = new
    while let element = arriving.next() {
      if RecordText.kind(element) == .reference, !known.insert(element).inserted { continue }
      writer.append(element)
    }
    if elements.isBroken || arriving.isBroken { throw .broken }
    return writer.finish()
  }

  private func overlaid(
    _ old: ListReader, _ new: ListReader, at offset: Int
  ) throws(PageGap) -> [UInt8] {
    let count = old.count
    guard offset <= count else {
      throw PageGap(problem: "starts at \(offset), but only \(count) elements are stored")
    }
    var writer = ListWriter(access: access, isLeaf: old.isLeaf)
    if offset == count {
      writer.append(contentsOf: old)
      writer.append(contentsOf: new)
      return writer.finish()
    }
    var before = old
    var arriving = new
    for index in 0..<count {
      guard let element = before.next() else { throw .broken }
      guard index >= offset, let own = arriving.next() else {
        writer.append(element)
        continue
      }
      writer.append(merged(element, own))
    }
    while let own = arriving.next() { writer.append(own) }
    if arriving.isBroken { throw .broken }
    return writer.finish()
  }

  /// Merges a received element with the stored one at its index: objects without identity are
  /// merged.
  private func merged(_ old: [UInt8], _ new: [UInt8]) -> [UInt8] {
    guard Merge.isSameObject(old, new) else { return new }
    return new.withBytes { Merge.merged(old, $0, access: access) } ?? old
  }
}

/// Why a page cannot be joined.
private struct PageGap: Error {
  let problem: String

  static let broken = PageGap(problem: "cannot be joined: a part of the stored list is missing")
}

// MARK: - Connections

extension PageJoin {
  private mutating func connection(
    _ old: [UInt8], new: [UInt8], rule: PageRule, title: String
  ) -> [UInt8]? {
    guard RecordText.kind(old) == .object else {
      warn(title, "is a plain list without `pageInfo`, so its end is unknown")
      return nil
    }
    let stored = Connection(ObjectText(old), access: access)
    let page = Connection(ObjectText(new), access: access)
    if let after = rule.after, let end = stored.end, end == after {
      return joined(first: stored, then: page, latest: page)
    }
    if let before = rule.before, let start = stored.start, start == before {
      return joined(first: page, then: stored, latest: page)
    }
    // A page that is already stored needs no warning.
    if rule.after != nil, let end = page.end, end == stored.end { return nil }
    if rule.before != nil, let start = page.start, start == stored.start { return nil }
    let asked =
      rule.after.map { "after \"\($0)\"" } ?? rule.before.map { "before \"\($0)\"" } ?? ""
    let edge = rule.after != nil ? stored.end : stored.start
    let word = rule.after != nil ? "ends" : "starts"
    warn(
      title,
      edge.map { "\(asked) is not adjacent to the stored list, which \(word) at \"\($0)\"" }
        ?? "\(asked) cannot be joined: the stored list has neither `pageInfo` nor edges with `cursor`"
    )
    return nil
  }

  private func joined(first: Connection, then second: Connection, latest: Connection) -> [UInt8] {
    let other = latest.fields.text == first.fields.text ? second : first
    var result = ObjectText()
    for entry in latest.fields.entries {
      if ListReader(entry.value, access: access) != nil {
        // A list that only one of them has would appear to be complete.
        guard let a = first.fields[entry.key].flatMap({ ListReader($0, access: access) }),
          let b = second.fields[entry.key].flatMap({ ListReader($0, access: access) })
        else { continue }
        var writer = ListWriter(access: access, isLeaf: a.isLeaf)
        writer.append(contentsOf: a)
        writer.append(contentsOf: b)
        result[entry.key] = writer.finish()
      } else if entry.key != Connection.pageInfo {
        result[entry.key] = entry.value
      }
    }
    for entry in other.fields.entries
    where latest.fields[entry.key] == nil && entry.key != Connection.pageInfo {
      if ListReader(entry.value, access: access) == nil { result[entry.key] = entry.value }
    }
    if let info = Connection.joinedInfo(first, second, access: access) {
      result[Connection.pageInfo] = info
    }
    return result.text
  }
}

/// A stored connection: the start and end of its pages.
private struct Connection {
  static let pageInfo = Array("\"pageInfo\"".utf8)
  private static let startFields = ["\"startCursor\"", "\"hasPreviousPage\""].map { Array($0.utf8) }
  private static let endFields = ["\"endCursor\"", "\"hasNextPage\""].map { Array($0.utf8) }

  let fields: ObjectText
  let info: ObjectText?
  private(set) var start: String?
  private(set) var end: String?

  init(_ fields: ObjectText, access: any SegmentAccess) {
    self.fields = fields
    info = fields[Self.pageInfo].flatMap { value in
      RecordText.kind(value) == .object ? ObjectText(value) : nil
    }
    start = info?[Self.startFields[0]].flatMap(Self.text(ofCursor:))
    end = info?[Self.endFields[0]].flatMap(Self.text(ofCursor:))
    guard start == nil || end == nil, let edges = fields[Array("\"edges\"".utf8)],
      var reader = ListReader(edges, access: access)
    else { return }
    var last = reader.next()
    start = start ?? last.flatMap(Self.cursor(ofEdge:))
    while let element = reader.next() { last = element }
    end = end ?? last.flatMap(Self.cursor(ofEdge:))
  }

  private static func cursor(ofEdge edge: [UInt8]) -> String? {
    guard RecordText.kind(edge) == .object else { return nil }
    return ObjectText(edge)[Array("\"cursor\"".utf8)].flatMap(text(ofCursor:))
  }

  private static func text(ofCursor value: [UInt8]) -> String? {
    (try? JSONValue(parsing: value))?.identifier
  }

  /// Whether the page has no elements: in `edges` and `nodes`, if it has one of them, else in any list.
  private func isEmpty(access: any SegmentAccess) -> Bool {
    let pages = PageRule.lists.compactMap { fields[$0] }
    guard pages.isEmpty else {
      return pages.allSatisfy { (ListReader($0, access: access)?.count ?? 0) == 0 }
    }
    let lists = fields.entries.compactMap { ListReader($0.value, access: access) }
    return !lists.isEmpty && lists.allSatisfy { $0.count == 0 }
  }

  /// The start of the first and the end of the second.
  ///
  /// A page without elements has no cursors; its nulls do not replace those of the other one.
  static func joinedInfo(
    _ first: Connection, _ second: Connection, access: any SegmentAccess
  ) -> [UInt8]? {
    let (firstInfo, secondInfo) = (first.info, second.info)
    guard firstInfo != nil || secondInfo != nil else { return nil }
    let hasStart = !first.isEmpty(access: access)
    let hasEnd = !second.isEmpty(access: access)
    var result = ObjectText()
    for entry in (firstInfo?.entries ?? []) + (secondInfo?.entries ?? []) {
      if startFields.contains(entry.key) {
        let other = hasStart ? nil : secondInfo?[entry.key]
        if let value = cursor(firstInfo?[entry.key], or: other) { result[entry.key] = value }
      } else if endFields.contains(entry.key) {
        let other = hasEnd ? nil : firstInfo?[entry.key]
        if let value = cursor(secondInfo?[entry.key], or: other) { result[entry.key] = value }
      } else {
        result[entry.key] = entry.value
      }
    }
    return result.text
  }

  /// The value, or the other one, if there is one, instead of null.
  private static func cursor(_ value: [UInt8]?, or other: [UInt8]?) -> [UInt8]? {
    guard let value, let other, RecordText.kind(value) == .null else { return value }
    return other
  }
}

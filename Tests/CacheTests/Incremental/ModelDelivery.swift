import GQLRunJSON
import GQLRunLanguage
import GQLRunTestSupport

@testable import GQLRunCache

/// Puts `@defer` and `@stream` into a document, at random.
struct RandomDirectives {
  /// Either fragments are deferred, or lists are streamed, with deferred fragments in their elements: a streamed list
  /// that a deferred fragment selects again has no defined order.
  let streams: Bool
  private var labels = 0
  private(set) var count = 0
  private var text = ""

  init(streams: Bool) { self.streams = streams }

  mutating func applied(
    to document: Document, _ schema: RandomSchema, _ random: inout SeededRandom
  ) -> Document {
    text = document.printed()
    var result = document
    for index in result.definitions.indices {
      switch result.definitions[index] {
      case .operation(var operation):
        operation.selectionSet = set(
          operation.selectionSet, schema, defers: !streams, streams: streams, &random)
        result.definitions[index] = .operation(operation)
      case .fragment(var fragment) where !streams:
        fragment.selectionSet = set(
          fragment.selectionSet, schema, defers: true, streams: false, &random)
        result.definitions[index] = .fragment(fragment)
      default: continue
      }
    }
    return result
  }

  private mutating func set(
    _ set: SelectionSet, _ schema: RandomSchema, defers: Bool, streams: Bool,
    _ random: inout SeededRandom
  ) -> SelectionSet {
    var result = set
    for index in result.selections.indices {
      switch result.selections[index] {
      case .field(var field):
        let isList = (schema.fields[field.name.value]?.listDepth ?? 0) > 0
        var inner = (defers, streams)
        // A field that is selected twice has one list in the store, which both would extend.
        if streams, isList, occurrences(of: field.name.value) == 1, random.chance(80) {
          field.directives.append(
            directive(
              "stream", ["initialCount": .int("\(random.upTo(3))", .added)], &random))
          inner = (true, false)
        }
        field.selectionSet = field.selectionSet.map {
          self.set($0, schema, defers: inner.0, streams: inner.1, &random)
        }
        result.selections[index] = .field(field)
      case .inlineFragment(var fragment):
        let isDeferred = defers && random.chance(60)
        if isDeferred { fragment.directives.append(directive("defer", [:], &random)) }
        fragment.selectionSet = self.set(
          fragment.selectionSet, schema, defers: defers, streams: streams, &random)
        result.selections[index] = .inlineFragment(fragment)
      case .fragmentSpread(var spread):
        if defers, random.chance(60) { spread.directives.append(directive("defer", [:], &random)) }
        result.selections[index] = .fragmentSpread(spread)
      }
    }
    return result
  }

  private func occurrences(of name: String) -> Int {
    text.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.count { $0 == name }
  }

  private mutating func directive(
    _ name: String, _ arguments: [String: Value], _ random: inout SeededRandom
  ) -> Directive {
    count += 1
    labels += 1
    var all = arguments.map { Argument(name: Name($0, at: .added), value: $1, location: .added) }
    if random.chance(50) {
      let label = StringValue("L\(labels)", at: .added)
      all.append(
        Argument(name: Name("label", at: .added), value: .string(label), location: .added))
    }
    return Directive(name: Name(name, at: .added), arguments: all, location: .added)
  }
}

/// A server that sends a known answer in parts, in one of the formats.
struct ModelDelivery {
  enum Format: CaseIterable, Sendable { case before2022, of2022, withIDs }

  private enum Work {
    case fragment(JSONObject, [SelectionSet], type: String)
    case items([JSONValue], from: Int, [SelectionSet])
  }

  private struct Pending {
    var id: Int
    var path: [JSONValue]
    var label: String?
    var work: Work
  }

  let collector: FieldCollector
  let format: Format
  private var random: SeededRandom
  private var pending: [Pending] = []
  private var found: [Pending] = []
  private var nextID = 0
  /// What was delivered: with ids, nothing is sent twice.
  private var delivered = JSONValue.null
  private(set) var messages: [String] = []

  init(
    _ answer: JSONValue, _ collector: FieldCollector, _ format: Format, _ random: SeededRandom
  ) {
    self.collector = collector
    self.format = format
    self.random = random
    deliver(answer)
  }

  private mutating func deliver(_ answer: JSONValue) {
    guard let root = answer.objectValue else { return }
    let first = object(root, [collector.root], type: "Query", path: [])
    delivered = first
    pending = takeFound()
    var members: [(String, JSONValue)] = [("data", first)]
    announce(pending, &members)
    send(members)
    while !pending.isEmpty {
      var deltas: [JSONValue] = []
      var completed: [JSONValue] = []
      var announced: [Pending] = []
      let count = format == .before2022 ? 1 : 1 + random.upTo(3)
      for _ in 0..<count where !pending.isEmpty {
        let next = pending.remove(at: random.upTo(pending.count))
        let (more, rest) = perform(next)
        deltas += more
        if let rest { pending.append(rest) } else { completed.append(["id": id(next.id)]) }
        let new = takeFound()
        pending += new
        announced += new
      }
      var members: [(String, JSONValue)] = []
      switch format {
      case .before2022:
        for delta in deltas.dropLast() {
          send((delta.objectValue ?? [:]).map { ($0.key, $0.value) })
        }
        members = (deltas.last?.objectValue ?? [:]).map { ($0.key, $0.value) }
      case .of2022: members = [("incremental", .array(deltas))]
      case .withIDs:
        announce(announced, &members)
        if !deltas.isEmpty { members.append(("incremental", .array(deltas))) }
        if !completed.isEmpty { members.append(("completed", .array(completed))) }
      }
      if members.isEmpty { continue }
      send(members)
    }
    if messages.count > 1 || random.chance(50) { messages.append(#"{"hasNext":false}"#) }
  }

  private mutating func send(_ members: [(String, JSONValue)]) {
    var texts = members.map { "\"\($0.0)\": \($0.1.jsonText())" }
    let isLast = messages.isEmpty && pending.isEmpty
    if !isLast { texts.append("\"hasNext\": true") }
    texts.shuffle(using: &random)
    messages.append("{ \(texts.joined(separator: " , ")) }")
  }

  private mutating func announce(_ new: [Pending], _ members: inout [(String, JSONValue)]) {
    guard format == .withIDs, !new.isEmpty else { return }
    let list: [JSONValue] = new.map { pending in
      var object: JSONObject = ["id": id(pending.id), "path": .array(pending.path)]
      if let label = pending.label { object["label"] = .string(label) }
      return .object(object)
    }
    members.append(("pending", .array(list)))
  }

  private func id(_ number: Int) -> JSONValue {
    number % 2 == 0 ? .string("\(number)") : .number(JSONNumber(number))
  }

  private mutating func takeFound() -> [Pending] {
    defer { found = [] }
    return found
  }

  // MARK: Work

  private mutating func perform(_ pending: Pending) -> ([JSONValue], rest: Pending?) {
    switch pending.work {
    case .fragment(let source, let sets, let type):
      let full = object(source, sets, type: type, path: pending.path)
      guard format == .withIDs else {
        return ([labelled(["path": .array(pending.path), "data": full], pending)], nil)
      }
      var deltas: [JSONValue] = []
      delivered = adding(full, to: delivered, at: pending.path[...]) { old, new in
        diff(old, new, subPath: [], id(pending.id), &deltas)
      }
      return (deltas.shuffled(using: &random), nil)
    case .items(let items, let start, let sets):
      let count = format == .before2022 ? 1 : 1 + random.upTo(items.count)
      let sent = items.prefix(count).enumerated().map { index, item in
        value(item, sets, path: pending.path + [.number(JSONNumber(start + index))])
      }
      delivered = adding(.array(sent), to: delivered, at: pending.path[...]) { old, new in
        .array((old.arrayValue ?? []) + (new.arrayValue ?? []))
      }
      var rest: Pending?
      if count < items.count {
        rest = pending
        rest?.work = .items(Array(items.dropFirst(count)), from: start + count, sets)
      }
      let path = JSONValue.array(pending.path + [.number(JSONNumber(start))])
      let delta: JSONObject =
        switch format {
        case .before2022: ["path": path, "data": sent[0]]
        case .of2022: ["path": path, "items": .array(sent)]
        case .withIDs: ["items": .array(sent), "id": id(pending.id)]
        }
      return ([format == .withIDs ? .object(delta) : labelled(delta, pending)], rest)
    }
  }

  private func labelled(_ delta: JSONObject, _ pending: Pending) -> JSONValue {
    var delta = delta
    if let label = pending.label { delta["label"] = .string(label) }
    return .object(delta)
  }

  private func adding(
    _ new: JSONValue, to data: JSONValue, at path: ArraySlice<JSONValue>,
    _ join: (JSONValue, JSONValue) -> JSONValue
  ) -> JSONValue {
    guard let step = path.first else { return join(data, new) }
    if case .object(var object) = data, let key = step.stringValue {
      object[key] = adding(new, to: object[key] ?? .null, at: path.dropFirst(), join)
      return .object(object)
    }
    guard case .array(var list) = data, let index = step.intValue else { return data }
    list[index] = adding(new, to: list[index], at: path.dropFirst(), join)
    return .array(list)
  }

  /// The union of both; what is new goes into deltas, at the deepest objects that were delivered before.
  private func diff(
    _ old: JSONValue, _ new: JSONValue, subPath: [JSONValue], _ id: JSONValue,
    _ deltas: inout [JSONValue]
  ) -> JSONValue {
    switch (old, new) {
    case (.object(var object), .object(let fields)):
      var added = JSONObject()
      for member in fields {
        if let known = object[member.key] {
          object[member.key] = diff(
            known, member.value, subPath: subPath + [.string(member.key)], id, &deltas)
        } else {
          added[member.key] = member.value
          object[member.key] = member.value
        }
      }
      if !added.isEmpty {
        var delta: JSONObject = ["data": .object(added), "id": id]
        if !subPath.isEmpty { delta["subPath"] = .array(subPath) }
        deltas.append(.object(delta))
      }
      return .object(object)
    case (.array(let list), .array(let elements)) where list.count == elements.count:
      return .array(
        zip(list, elements).enumerated().map { index, pair in
          diff(
            pair.0, pair.1, subPath: subPath + [.number(JSONNumber(index))], id, &deltas)
        })
    default: return old
    }
  }

  // MARK: Execution

  private mutating func object(
    _ source: JSONObject, _ sets: [SelectionSet], type: String, path: [JSONValue]
  ) -> JSONValue {
    var fields: [(key: String, selections: [SelectionSet], stream: Directive?)] = []
    for set in sets { collect(set, source, type: type, path: path, into: &fields) }
    var result = JSONObject()
    for field in fields {
      guard let member = source[field.key] else { continue }
      let path = path + [.string(field.key)]
      guard let stream = field.stream, let elements = member.arrayValue else {
        result[field.key] = value(member, field.selections, path: path)
        continue
      }
      var count = 0
      for argument in stream.arguments {
        if case .int(let text, _) = argument.value { count = Int(text) ?? 0 }
      }
      result[field.key] = .array(
        elements.prefix(count).enumerated().map {
          value($1, field.selections, path: path + [.number(JSONNumber($0))])
        })
      guard elements.count > count else { continue }
      let rest = Array(elements.dropFirst(count))
      found.append(
        pending(path, stream, .items(rest, from: count, field.selections)))
    }
    return .object(result)
  }

  private mutating func pending(
    _ path: [JSONValue], _ directive: Directive, _ work: Work
  ) -> Pending {
    nextID += 1
    var label: String?
    for argument in directive.arguments {
      if case .string(let text) = argument.value { label = text.value }
    }
    return Pending(id: nextID, path: path, label: label, work: work)
  }

  private mutating func value(
    _ value: JSONValue, _ sets: [SelectionSet], path: [JSONValue]
  ) -> JSONValue {
    if sets.isEmpty { return value }
    switch value {
    case .object(let object):
      return self.object(
        object, sets, type: object["__typename"]?.stringValue ?? "", path: path)
    case .array(let elements):
      return .array(
        elements.enumerated().map { index, element in
          self.value(element, sets, path: path + [.number(JSONNumber(index))])
        })
    default: return value
    }
  }

  private mutating func collect(
    _ set: SelectionSet, _ source: JSONObject, type: String, path: [JSONValue],
    into fields: inout [(key: String, selections: [SelectionSet], stream: Directive?)]
  ) {
    for selection in set.selections {
      let directives: [Directive]
      let inner: SelectionSet
      let condition: String?
      switch selection {
      case .field(let field):
        guard collector.isIncluded(field.directives) else { continue }
        let stream = field.directives.first { $0.name.value == "stream" }
        if let index = fields.firstIndex(where: { $0.key == field.responseKey }) {
          if let inner = field.selectionSet { fields[index].selections.append(inner) }
          fields[index].stream = fields[index].stream ?? stream
        } else {
          fields.append(
            (field.responseKey, field.selectionSet.map { [$0] } ?? [], stream))
        }
        continue
      case .inlineFragment(let fragment):
        directives = fragment.directives
        inner = fragment.selectionSet
        condition = fragment.typeCondition?.value
      case .fragmentSpread(let spread):
        let definition = collector.document.fragments.first {
          $0.name.value == spread.name.value
        }
        guard let definition else { continue }
        directives = spread.directives
        inner = definition.selectionSet
        condition = definition.typeCondition.value
      }
      guard collector.isIncluded(directives), collector.applies(condition, type) else { continue }
      if let deferral = directives.first(where: { $0.name.value == "defer" }) {
        found.append(pending(path, deferral, .fragment(source, [inner], type: type)))
      } else {
        collect(inner, source, type: type, path: path, into: &fields)
      }
    }
  }
}

import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

extension ManifestLoader {
  /// The parsed keys of an operation, before its document is read.
  struct Draft {
    var node: YAMLNode
    var members: [YAMLNode.Member]
    var options: PluginOptions
    var id: String
  }

  mutating func operations(
    _ node: YAMLNode?, _ root: YAMLNode, _ schema: Schema?, _ keys: KeyRules
  ) -> [BatchOperation] {
    guard let node, case .sequence(let nodes) = node.content, !nodes.isEmpty else {
      report(
        .wrongValue, "a manifest needs the key `operations`, a list",
        node?.location ?? root.location,
        "add `operations:` with `- id: name` below it")
      return []
    }
    let drafts = nodes.enumerated().compactMap { draft($1, number: $0 + 1) }
    var locations: [String: FileLocation] = [:]
    var index: [String: Int] = [:]
    for (number, draft) in drafts.enumerated() {
      if let first = locations[draft.id] {
        report(
          .duplicateKey, "the operation `\(draft.id)` is given twice", draft.node.location,
          "first given in line \(first.line); ids are unique")
      } else {
        locations[draft.id] = draft.node.location
        index[draft.id] = number
      }
    }
    let needs = drafts.map { self.needs(of: $0, drafts, index) }
    checkCycles(needs, drafts)
    let facts = schema.map { TypeFacts($0) }
    var result: [BatchOperation] = []
    for (number, draft) in drafts.enumerated() {
      if let operation = operation(
        draft, number, drafts, index, needs[number], schema, facts, keys)
      {
        result.append(operation)
      }
    }
    // Operations refer to each other by index; a missing one would shift the indices.
    return result.count == drafts.count && drafts.count == nodes.count ? result : []
  }

  private mutating func draft(_ node: YAMLNode, number: Int) -> Draft? {
    guard case .mapping(let members) = node.content else {
      report(.wrongValue, "an operation is a mapping, not \(node.kind)", node.location)
      return nil
    }
    let own = ["variables", "foreach"]
    let id = members.first { $0.key == "id" }?.value.quotedText
    let subject = id.map { "the operation `\($0)`" } ?? "operation \(number)"
    let options = decoder.options(
      YAMLNode(
        content: .mapping(members.filter { !own.contains($0.key) }), location: node.location),
      table: Self.operationTable, owner: .init(subject: subject, noun: "key", otherNames: own),
      location: node.location)
    let name = options.string(ifGiven: "id") ?? "op\(number)"
    if !name.allSatisfy({ $0.isLetter || $0.isNumber || "_-.".contains($0) }) || name.first == "." {
      report(
        .wrongValue, "`\(name)` cannot be the id of an operation", options.location(of: "id"),
        "letters, digits, `-`, `_` and `.`: it becomes part of file names")
    }
    return Draft(node: node, members: members, options: options, id: name)
  }

  private mutating func operation(
    _ draft: Draft, _ number: Int, _ drafts: [Draft], _ index: [String: Int], _ needs: [Int],
    _ schema: Schema?, _ facts: TypeFacts?, _ keys: KeyRules
  ) -> BatchOperation? {
    let options = draft.options
    guard let template = template(draft, schema, facts, keys) else {
      checkWithoutDocument(draft, number, drafts, index, needs)
      return nil
    }
    var operation = BatchOperation(
      index: number, id: draft.id, location: draft.node.location, template: template)
    operation.needs = needs
    operation.documentName = documentName(options)
    readForeach(draft, index, &operation)
    readPaths(draft, schema, facts, keys, &operation)
    readVariables(draft, drafts, schema, &operation)
    operation.timeout = options.duration(ifGiven: "timeout")
    operation.policy = options.string(ifGiven: "policy").flatMap { CachePolicy(rawValue: $0) }
    operation.expect = conditions("expect", options, roots: Self.expectRoots)
    checkExpectations(draft, schema, operation)
    if let name = options.string(ifGiven: "idempotency") {
      operation.idempotency = name
      let declared = template.definition.variables.map(\.name.value)
      if !declared.contains(name) {
        report(
          .variable, "`idempotency` names the variable `\(name)`, which is not declared",
          options.location(of: "idempotency"),
          hint(for: name, among: declared))
      }
    }
    if let text = options.string(ifGiven: "snapshot") {
      operation.snapshot = textTemplate(
        text, options.location(of: "snapshot"), known: names(draft, operation, drafts))
    }
    if template.type == .subscription {
      report(
        .document, "`\(draft.id)` is a subscription; batches run queries and mutations",
        options.location(of: "document"))
    }
    return operation
  }

  /// Validates the rows and template references of an operation whose document is unusable.
  private mutating func checkWithoutDocument(
    _ draft: Draft, _ number: Int, _ drafts: [Draft], _ index: [String: Int], _ needs: [Int]
  ) {
    guard let document = try? Document(parsingUTF8: Array("{ __typename }".utf8)),
      let template = try? OperationTemplate(document: document)
    else { return }
    var operation = BatchOperation(
      index: number, id: draft.id, location: draft.node.location, template: template)
    operation.needs = needs
    readForeach(draft, index, &operation)
    let known = names(draft, operation, drafts)
    func check(_ node: YAMLNode, _ loader: inout Self) {
      switch node.content {
      case .sequence(let nodes): for node in nodes { check(node, &loader) }
      case .mapping(let members): for member in members { check(member.value, &loader) }
      case .scalar(let text, _):
        if text.contains("{{") { _ = loader.textTemplate(text, node.location, known: known) }
      }
    }
    if let variables = draft.members.first(where: { $0.key == "variables" })?.value {
      check(variables, &self)
    }
    _ = conditions("expect", draft.options, roots: Self.expectRoots)
  }

  /// The first keys that conditions of `expect` may use.
  private static let expectRoots = [
    "errors", "data", "emit", "http", "ms", "bytes", "records", "page", "attempt",
  ]

  // MARK: The document

  private mutating func template(
    _ draft: Draft, _ schema: Schema?, _ facts: TypeFacts?, _ keys: KeyRules
  ) -> OperationTemplate? {
    let options = draft.options
    var name = options.string(ifGiven: "operation")
    let document: Document?
    let location: FileLocation
    if let text = options.string(ifGiven: "query") {
      location = options.location(of: "query")
      document = parsed(Array(text.utf8), "`query`", location, schema)
    } else if let given = options.string(ifGiven: "document") {
      location = options.location(of: "document")
      let parts = given.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { name = String(parts[1]) }
      let path = FilePath.resolve(String(parts[0]), in: folder)
      if let known = documents[path] {
        document = known
      } else {
        do {
          inputs.add(path, "the document")
          document = parsed(try Self.contents(of: path), path, location, schema)
        } catch {
          report(.document, "the document `\(parts[0])` cannot be read", location, error.reason)
          document = nil
        }
        documents[path] = document
      }
    } else {
      report(
        .wrongValue, "the operation `\(draft.id)` has no document", draft.node.location,
        "add `document: file.graphql#Name`, or `query: …`")
      return nil
    }
    guard let document else { return nil }
    do throws(CacheError) {
      return try OperationTemplate(
        document: document, operationName: name, keys: keys, facts: facts)
    } catch {
      report(.document, error.message, location)
      return nil
    }
  }

  /// The name of the document in messages.
  private func documentName(_ options: PluginOptions) -> String? {
    if options.string(ifGiven: "query") != nil { return "`query`" }
    return options.string(ifGiven: "document")?.split(separator: "#", maxSplits: 1).first
      .map { String($0) }
  }

  private mutating func parsed(
    _ bytes: [UInt8], _ name: String, _ location: FileLocation, _ schema: Schema?
  ) -> Document? {
    do {
      let document = try Document(parsingUTF8: bytes)
      let problems =
        schema.map { document.validate(against: $0) } ?? document.validateWithoutSchema()
      for problem in problems.prefix(50) {
        report(.document, "\(name):\(problem)", location)
      }
      return problems.isEmpty ? document : nil
    } catch {
      report(.document, "\(name):\(error)", location)
      return nil
    }
  }

  // MARK: Needs

  /// The indices of the operations that one needs.
  private mutating func needs(
    of draft: Draft, _ drafts: [Draft], _ index: [String: Int]
  ) -> [Int] {
    var needs: [Int] = []
    for element in draft.options.values.first(where: { $0.name == "needs" })?.value.elements ?? [] {
      guard case .string(let id) = element.content else { continue }
      if let need = index[id] {
        needs.append(need)
      } else {
        report(
          .needs, "`\(draft.id)` needs `\(id)`, and there is no such operation", element.location,
          hint(for: id, among: drafts.map(\.id)))
      }
    }
    return needs
  }

  private mutating func checkCycles(_ needs: [[Int]], _ drafts: [Draft]) {
    // Topological sort: what remains after removing all operations without open needs is cyclic.
    var open = needs.map { Set($0) }
    var dependents: [[Int]] = Array(repeating: [], count: open.count)
    for (operation, needs) in needs.enumerated() {
      for need in needs { dependents[need].append(operation) }
    }
    var ready = open.indices.filter { open[$0].isEmpty }
    var done = 0
    while let next = ready.popLast() {
      done += 1
      for dependent in dependents[next] {
        open[dependent].remove(next)
        if open[dependent].isEmpty { ready.append(dependent) }
      }
    }
    guard done < drafts.count, let start = open.firstIndex(where: { !$0.isEmpty }) else {
      return
    }
    var path = [start]
    var locations = [start: 0]
    while let next = open[path[path.count - 1]].min() {
      if let first = locations[next] {
        path = Array(path[first...]) + [next]
        break
      }
      locations[next] = path.count
      path.append(next)
    }
    let options = drafts[path[0]].options
    report(
      .needs,
      "these operations need each other: "
        + path.prefix(20).map { drafts[$0].id }.joined(separator: " → ")
        + (path.count > 20 ? " → … → \(drafts[path[0]].id)" : ""),
      options.location(of: "needs"), "remove one `needs` of the circle")
  }
}

extension OptionValue {
  /// The elements of a list.
  var elements: [OptionValue] {
    if case .list(let elements) = content { elements } else { [] }
  }
}

import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

extension ManifestLoader {
  /// The keys of an operation, before its document is read.
  struct Draft {
    var settings: OperationSettings
    var location: FileLocation
    var id: String
  }

  mutating func operations(
    _ file: ManifestFile, _ schema: Schema?, _ keys: KeyRules
  ) -> [BatchOperation] {
    if file.operations.isEmpty, file.$operations.isUsable {
      report(
        .wrongValue, "`operations` is empty", file.$operations.location,
        "add `- id: name` below it")
    }
    let drafts = file.operations.enumerated().map { draft($1, number: $0 + 1) }
    var locations: [String: FileLocation] = [:]
    var index: [String: Int] = [:]
    for (number, draft) in drafts.enumerated() {
      if let first = locations[draft.id] {
        report(
          .duplicateKey, "the operation `\(draft.id)` is given twice", draft.location,
          "first given in line \(first.line); ids are unique")
      } else {
        locations[draft.id] = draft.location
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
    return result.count == drafts.count ? result : []
  }

  private mutating func draft(_ given: Located<OperationSettings>, number: Int) -> Draft {
    let id = given.id ?? "op\(number)"
    if !id.allSatisfy({ $0.isLetter || $0.isNumber || "_-.".contains($0) }) || id.first == "." {
      report(
        .wrongValue, "`\(id)` cannot be the id of an operation", given.value.$id.location,
        "letters, digits, `-`, `_` and `.`: it becomes part of file names")
    }
    return Draft(settings: given.value, location: given.location, id: id)
  }

  private mutating func operation(
    _ draft: Draft, _ number: Int, _ drafts: [Draft], _ index: [String: Int], _ needs: [Int],
    _ schema: Schema?, _ facts: TypeFacts?, _ keys: KeyRules
  ) -> BatchOperation? {
    let settings = draft.settings
    guard let template = template(draft, schema, facts, keys) else {
      checkWithoutDocument(draft, number, drafts, index, needs)
      return nil
    }
    var operation = BatchOperation(
      index: number, id: draft.id, location: draft.location, template: template)
    operation.needs = needs
    operation.documentName =
      settings.query != nil
      ? "`query`" : settings.document?.split(separator: "#", maxSplits: 1).first.map { String($0) }
    let known = readForeach(draft, index, drafts, &operation)
    readPaths(draft, schema, facts, keys, &operation)
    readVariables(draft, known, schema, &operation)
    operation.timeout = settings.timeout
    operation.policy = settings.policy
    operation.expect = conditions(settings.expect, "expect", roots: Self.expectRoots)
    checkExpectations(settings, operation.shape(schema))
    if let name = settings.idempotency {
      operation.idempotency = name
      let declared = template.definition.variables.map(\.name.value)
      if !declared.contains(name) {
        report(
          .variable, "`idempotency` names the variable `\(name)`, which is not declared",
          settings.$idempotency.location, hint(for: name, among: declared))
      }
    }
    if let text = settings.snapshot {
      operation.snapshot = textTemplate(
        Located(text, at: settings.$snapshot.location), known: known)
    }
    readUntil(draft, &operation)
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
      index: number, id: draft.id, location: draft.location, template: template)
    operation.needs = needs
    let known = readForeach(draft, index, drafts, &operation)
    func check(_ node: YAMLNode, _ loader: inout Self) {
      switch node.content {
      case .sequence(let nodes): for node in nodes { check(node, &loader) }
      case .mapping(let members): for member in members { check(member.value, &loader) }
      case .scalar(let text, _):
        if text.contains("{{") {
          _ = loader.textTemplate(Located(text, at: node.location), known: known)
        }
      }
    }
    for variable in draft.settings.variables.entries { check(variable.value.node, &self) }
    _ = conditions(draft.settings.expect, "expect", roots: Self.expectRoots)
  }

  /// The first keys that conditions of `expect` may use.
  private static let expectRoots = [
    "errors", "data", "emit", "http", "ms", "bytes", "records", "page", "attempt",
  ]

  mutating func conditions(
    _ conditions: [Located<BatchCondition>], _ name: String, roots: [String]
  ) -> [BatchCondition] {
    for condition in conditions {
      for root in condition.roots where !roots.contains(root) {
        report(
          .path, "a condition of `\(name)` has no value `\(root)`", condition.location,
          suggestion(for: root, in: roots).map { "did you mean `\($0)`?" }
            ?? roots.joined(separator: ", "))
      }
    }
    return conditions.map(\.value)
  }

  // MARK: The document

  private mutating func template(
    _ draft: Draft, _ schema: Schema?, _ facts: TypeFacts?, _ keys: KeyRules
  ) -> OperationTemplate? {
    let settings = draft.settings
    var name = settings.operation
    let document: Document?
    let location: FileLocation
    if let text = settings.query {
      location = settings.$query.location
      document = parsed(Array(text.utf8), "`query`", location, schema)
    } else if let given = settings.document {
      location = settings.$document.location
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
        .wrongValue, "the operation `\(draft.id)` has no document", draft.location,
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
    for id in draft.settings.needs {
      if let need = index[id.value] {
        needs.append(need)
      } else {
        report(
          .needs, "`\(draft.id)` needs `\(id.value)`, and there is no such operation", id.location,
          hint(for: id.value, among: drafts.map(\.id)))
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
    report(
      .needs,
      "these operations need each other: "
        + path.prefix(20).map { drafts[$0].id }.joined(separator: " → ")
        + (path.count > 20 ? " → … → \(drafts[path[0]].id)" : ""),
      drafts[path[0]].settings.$needs.location, "remove one `needs` of the cycle")
  }
}

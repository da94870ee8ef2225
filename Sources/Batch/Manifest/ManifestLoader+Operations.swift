import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

extension ManifestLoader {
  /// The keys of an operation, before its document is read.
  struct Draft {
    /// The index of the operation.
    var index: Int
    var settings: OperationSettings
    var location: FileLocation
    var id: String
    /// The indices of the operations that it needs.
    var needs: [Int] = []
  }

  mutating func operations(
    _ file: ManifestFile, schema: Schema?, keys: KeyRules
  ) -> [BatchOperation] {
    if file.operations.isEmpty, file.$operations.isUsable {
      report(
        .wrongValue, message: "`operations` is empty", location: file.$operations.location,
        hint: "add `- id: name` below it")
    }
    var drafts = file.operations.enumerated().map { draft($1, index: $0) }
    var indices: [String: Int] = [:]
    for draft in drafts {
      if let first = indices[draft.id] {
        report(
          .duplicateKey, message: "the operation `\(draft.id)` is given twice",
          location: draft.location,
          hint: "first given in line \(drafts[first].location.line); ids are unique")
      } else {
        indices[draft.id] = draft.index
      }
    }
    for index in drafts.indices { drafts[index].needs = needs(of: drafts[index], drafts, indices) }
    checkCycles(drafts)
    let facts = schema.map { TypeFacts($0) }
    let result = drafts.compactMap {
      operation($0, drafts: drafts, schema: schema, facts: facts, keys: keys)
    }
    // Operations refer to each other by index; a missing one would shift the indices.
    return result.count == drafts.count ? result : []
  }

  private mutating func draft(_ given: Located<OperationSettings>, index: Int) -> Draft {
    let id = given.id ?? "op\(index + 1)"
    if !id.allSatisfy({ $0.isLetter || $0.isNumber || "_-.".contains($0) }) || id.first == "." {
      report(
        .wrongValue, message: "`\(id)` cannot be the id of an operation",
        location: given.value.$id.location,
        hint: "letters, digits, `-`, `_` and `.`: it becomes part of file names")
    }
    return Draft(index: index, settings: given.value, location: given.location, id: id)
  }

  private mutating func operation(
    _ draft: Draft, drafts: [Draft], schema: Schema?, facts: TypeFacts?, keys: KeyRules
  ) -> BatchOperation? {
    let settings = draft.settings
    guard let template = template(draft, schema: schema, facts: facts, keys: keys) else {
      checkWithoutDocument(draft, drafts: drafts)
      return nil
    }
    var operation = BatchOperation(
      index: draft.index, id: draft.id, location: draft.location, template: template,
      needs: draft.needs)
    operation.documentName =
      made?.documentName
      ?? (settings.query != nil
        ? "`query`" : settings.document?.split(separator: "#", maxSplits: 1).first.map(String.init))
    let known = readForeach(draft, drafts: drafts, operation: &operation)
    let hasTables = settings.$tables.isGiven
    if hasTables {
      readTables(draft, known: known, operation: &operation)
    } else {
      readPaths(draft, operation: &operation)
      readColumns(draft, known: known, operation: &operation)
    }
    readVariables(draft, known: known, operation: &operation)
    operation.timeout = settings.timeout
    operation.policy = settings.policy
    operation.expect = Expectations(
      conditions(
        settings.expect, "expect", roots: Expectations.roots.filter { $0 != "emit" || !hasTables }))
    checkExpectations(settings, operation.shape)
    if let name = settings.idempotency {
      operation.idempotency = name
      let declared = template.definition.variables.map(\.name.value)
      if !declared.contains(name) {
        report(
          .variable, message: "`idempotency` names the variable `\(name)`, which is not declared",
          location: settings.$idempotency.location, hint: hint(for: name, among: declared))
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
  private mutating func checkWithoutDocument(_ draft: Draft, drafts: [Draft]) {
    guard let document = try? Document(parsingUTF8: Array("{ __typename }".utf8)),
      let template = try? OperationTemplate(document: document)
    else { return }
    var operation = BatchOperation(
      index: draft.index, id: draft.id, location: draft.location, template: template,
      needs: draft.needs)
    let known = readForeach(draft, drafts: drafts, operation: &operation)
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
    _ = conditions(draft.settings.expect, "expect", roots: Expectations.roots)
  }

  mutating func conditions(
    _ conditions: [Located<BatchCondition>], _ name: String, roots: [String]
  ) -> [BatchCondition] {
    for condition in conditions {
      for root in condition.roots where !roots.contains(root) {
        report(
          .path, message: "a condition of `\(name)` has no value `\(root)`",
          location: condition.location,
          hint: suggestion(for: root, in: roots).map { "did you mean `\($0)`?" }
            ?? roots.joined(separator: ", "))
      }
    }
    return conditions.map(\.value)
  }

  // MARK: The document

  private mutating func template(
    _ draft: Draft, schema: Schema?, facts: TypeFacts?, keys: KeyRules
  ) -> OperationTemplate? {
    if let made { return made.operation.template }
    let settings = draft.settings
    var name = settings.operation
    let document: Document?
    let location: FileLocation
    if let text = settings.query {
      location = settings.$query.location
      document = parsed(Array(text.utf8), name: "`query`", location: location, schema: schema)
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
          document = parsed(
            try Self.contents(of: path), name: path, location: location, schema: schema)
        } catch {
          report(
            .document, message: "the document `\(parts[0])` cannot be read", location: location,
            hint: error.reason)
          document = nil
        }
        documents[path] = document
      }
    } else {
      report(
        .wrongValue, message: "the operation `\(draft.id)` has no document",
        location: draft.location,
        hint: "add `document: file.graphql#Name`, or `query: …`")
      return nil
    }
    guard let document else { return nil }
    do throws(CacheError) {
      return try OperationTemplate(
        document: document, operationName: name, keys: keys, facts: facts)
    } catch {
      report(.document, message: error.message, location: location)
      return nil
    }
  }

  private mutating func parsed(
    _ bytes: [UInt8], name: String, location: FileLocation, schema: Schema?
  ) -> Document? {
    do {
      let document = try Document(parsingUTF8: bytes)
      let problems =
        schema.map { document.validateForClient(against: $0) } ?? document.validateWithoutSchema()
      for problem in problems.prefix(50) {
        report(.document, message: "\(name):\(problem)", location: location)
      }
      return problems.isEmpty ? document : nil
    } catch {
      report(.document, message: "\(name):\(error)", location: location)
      return nil
    }
  }

  // MARK: Needs

  /// The indices of the operations that one needs.
  private mutating func needs(
    of draft: Draft, _ drafts: [Draft], _ indices: [String: Int]
  ) -> [Int] {
    var needs: [Int] = []
    for id in draft.settings.needs {
      if let need = indices[id.value] {
        needs.append(need)
      } else {
        report(
          .needs, message: "`\(draft.id)` needs `\(id.value)`, and there is no such operation",
          location: id.location,
          hint: hint(for: id.value, among: drafts.map(\.id)))
      }
    }
    return needs
  }

  private mutating func checkCycles(_ drafts: [Draft]) {
    var search = CycleSearch<Int>()
    var path: [Int] = []
    for index in drafts.indices where path.isEmpty {
      search.visit(
        "\(index)", edges: drafts[index].needs.sorted(), target: { "\($0)" },
        successors: { drafts[$0].needs.sorted() },
        onCycle: { via, last in
          path = [last] + via + [last]
          return false
        })
    }
    if path.isEmpty { return }
    report(
      .needs,
      message: "these operations need each other: "
        + path.prefix(20).map { drafts[$0].id }.joined(separator: " → ")
        + (path.count > 20 ? " → … → \(drafts[path[0]].id)" : ""),
      location: drafts[path[0]].settings.$needs.location, hint: "remove one `needs` of the cycle")
  }
}

/// The names that templates of an operation may use.
struct KnownNames {
  enum Members {
    /// The members are known only once rows are read.
    case any
    case only(Set<String>)

    init(_ names: [String]?) {
      if let names { self = .only(Set(names)) } else { self = .any }
    }
  }

  var roots: [String: Members]

  /// `{{op}}` only.
  static let operationID = KnownNames(roots: ["op": .init([])])
}

extension ManifestLoader {
  // MARK: Rows

  /// Reads `foreach`, and returns the names that templates of the operation may use.
  mutating func readForeach(
    _ draft: Draft, drafts: [Draft], operation: inout BatchOperation
  ) -> KnownNames {
    var known = KnownNames(roots: ["op": .init([]), "state": .any])
    if let source = draft.settings.foreach {
      known.roots[source.rowName] = .any
      let id = source.input.capturedOperation
      if let id, !operation.needs.contains(where: { drafts[$0].id == id }) {
        report(
          .needs, message: "the rows are captured by `\(id)`, which `\(draft.id)` does not need",
          location: source.location, hint: "add `needs: [\(id)]`")
      } else {
        operation.source = source
        do {
          let columns = try source.input.columns(hasNeeds: !operation.needs.isEmpty)
          known.roots[source.rowName] = .init(columns)
        } catch {
          // Only `batch enqueue` reads the rows of a queue: workers may run where the file is missing.
          let isElsewhere =
            hasQueue
            && source.input.path.map { !FileManager.default.fileExists(atPath: $0) } == true
          if !isElsewhere { report(.input, message: "\(error)", location: source.location) }
        }
        operation.key = source.shared.key.flatMap { textTemplate($0, known: known) }
      }
    }
    known.roots["key"] = .init([])
    for need in operation.needs {
      known.roots[drafts[need].id] = .init(drafts[need].settings.capture.entries.map(\.name))
    }
    return known
  }

  // MARK: Templates

  mutating func textTemplate(
    _ text: Located<String>, known: KnownNames
  ) -> TextTemplate? {
    let location = text.location
    do throws(MalformedText) {
      let template = try TextTemplate(text.value)
      for reference in template.references {
        check(reference, location: location, known: known)
        if reference.root == "state", let name = reference.path.first { stateNames.insert(name) }
      }
      return template
    } catch {
      report(.template, message: error.message, location: location, hint: error.hint)
      return nil
    }
  }

  private mutating func check(_ reference: Reference, location: FileLocation, known: KnownNames) {
    guard let members = known.roots[reference.root] else {
      report(
        .template,
        message: "`{{\(reference)}}` refers to `\(reference.root)`, which does not exist",
        location: location,
        hint: hint(for: reference.root, among: known.roots.keys.sorted()))
      return
    }
    guard case .only(let members) = members, let name = reference.path.first,
      !members.contains(name)
    else { return }
    report(
      .template, message: "`\(reference.root)` has no `\(name)` in `{{\(reference)}}`",
      location: location,
      hint: Self.delimiterHint(members) ?? hint(for: name, among: members.sorted()))
  }

  /// The hint for the header of a CSV file that is one name, because its separator is another one; else `nil`.
  private static func delimiterHint(_ columns: Set<String>) -> String? {
    guard columns.count == 1, let column = columns.first else { return nil }
    let delimiter = CSVDelimiter.allCases.first { $0 != .comma && column.utf8.contains($0.byte) }
    return delimiter.map {
      "there is one column, `\(column)`; if the separator is another, add `delimiter: \"\($0.rawValue)\"`"
    }
  }

  // MARK: Variables

  mutating func readVariables(
    _ draft: Draft, known: KnownNames, operation: inout BatchOperation
  ) {
    if let made {
      // Checked already, and no templates.
      operation.variables = made.operation.variables.map { ($0.key, .constant($0.value)) }
      return
    }
    let given = draft.settings.variables.entries
    let location = draft.settings.$variables.keyLocation
    let declared = operation.template.definition.variables
    let types = TypedText(reader: operation.template.reader, schema: operation.template.schema)
    for entry in given {
      guard let variable = declared.first(where: { $0.name.value == entry.name }) else {
        report(
          .variable, message: "`\(draft.id)` declares no variable `\(entry.name)`",
          location: entry.nameLocation ?? location,
          hint: declared.isEmpty
            ? "it declares none" : hint(for: entry.name, among: declared.map(\.name.value)))
        continue
      }
      let problems = decoder.findings.count
      let template = value(
        entry.value.node, type: variable.type, types: types, known: known, name: entry.name)
      // An incomplete value would only cause further errors.
      if let template, decoder.findings.count == problems {
        operation.variables.append((entry.name, template))
      }
    }
    guard draft.settings.$variables.isUsable else { return }
    // Unreadable values are already reported, and must not be reported as missing.
    checkRequired(operation, location, given: given.map(\.name))
    if !given.isEmpty { checkConstants(operation, location) }
  }

  private mutating func checkRequired(
    _ operation: BatchOperation, _ location: FileLocation, given: [String]
  ) {
    let given = Set(given + operation.firstPage.map(\.name))
    for variable in operation.template.definition.variables {
      guard case .nonNull(let inner) = variable.type, variable.defaultValue == nil,
        !given.contains(variable.name.value)
      else { continue }
      report(
        .variable,
        message: "`\(operation.id)` is given no value for its variable `\(variable.name.value)`",
        location: location,
        hint: "add `\(variable.name.value): …`, of type \(inner.namedType.value)")
    }
  }

  /// Coerces variables once if none of them has a template.
  private mutating func checkConstants(_ operation: BatchOperation, _ location: FileLocation) {
    var given = JSONObject()
    for variable in operation.variables {
      guard case .constant(let value) = variable.value else { return }
      given[variable.name] = value
    }
    for (name, _) in operation.firstPage where given[name] == nil {
      given[name] = .number(JSONNumber(1))
    }
    do throws(CacheError) {
      _ = try operation.template.coerce(given)
    } catch {
      guard !error.single.contains(where: { $0.missingType != nil }) else { return }
      report(.variable, message: error.message, location: location)
    }
  }

  private mutating func value(
    _ node: YAMLNode, type: TypeReference?, types: TypedText, known: KnownNames,
    name: String
  ) -> ValueTemplate? {
    switch node.content {
    case .sequence(let nodes):
      let elements = nodes.enumerated().compactMap {
        value($1, type: type?.element, types: types, known: known, name: "\(name)[\($0)]")
      }
      let constants = elements.compactMap {
        if case .constant(let value) = $0 { value } else { nil }
      }
      return constants.count == elements.count ? .constant(.array(constants)) : .list(elements)
    case .mapping(let members):
      if isUpload(members.map(\.key), type: type, types: types) {
        return upload(members, known: known, name: name).map(ValueTemplate.upload)
      }
      let fields = members.compactMap { member in
        value(
          member.value, type: types.field(member.key, of: type), types: types, known: known,
          name: "\(name).\(member.key)"
        ).map { (key: member.key, value: $0) }
      }
      var object = JSONObject()
      for field in fields {
        guard case .constant(let value) = field.value else { return .object(fields) }
        object[field.key] = value
      }
      return .constant(.object(object))
    case .scalar(let text, let isPlain):
      guard let text = text.contains("${") ? decoder.text(node, label: "`\(name)`") : text
      else { return nil }
      if text.contains("{{") {
        let template = textTemplate(Located(text, at: node.location), known: known)
        guard let template else { return nil }
        return template.whole.map { .reference($0, type) } ?? .text(template, type)
      }
      do {
        return .constant(try types.value(ofScalar: text, isPlain: isPlain, type, name))
      } catch {
        report(.variable, message: error.message, location: node.location)
        return nil
      }
    }
  }

  // MARK: Uploads

  /// Whether a mapping is a file: it has the member `upload`, and its type is no input object.
  private func isUpload(_ keys: [String], type: TypeReference?, types: TypedText) -> Bool {
    guard keys.contains("upload") else { return false }
    guard let leaf = type?.namedType.value, leaf != "Upload" else { return true }
    if case .scalar? = types.schema?.type(named: leaf) { return true }
    return false
  }

  private mutating func upload(
    _ members: [YAMLNode.Member], known: KnownNames, name: String
  ) -> UploadTemplate? {
    var texts: [String: TextTemplate] = [:]
    for member in members {
      guard UploadTemplate.members.contains(member.key) else {
        report(
          .variable, message: "the upload `\(name)` has no `\(member.key)`",
          location: member.value.location,
          hint: hint(for: member.key, among: UploadTemplate.members))
        return nil
      }
      guard let text = decoder.text(member.value, label: "`\(name).\(member.key)`"),
        let template = textTemplate(Located(text, at: member.value.location), known: known)
      else { return nil }
      texts[member.key] = template
    }
    return texts["upload"].map {
      UploadTemplate(path: $0, contentType: texts["type"], fileName: texts["filename"])
    }
  }
}

extension ManifestLoader {
  /// Checks `until`, which subscriptions require, and the keys that subscriptions do not have.
  mutating func readUntil(_ draft: Draft, _ operation: inout BatchOperation) {
    let settings = draft.settings
    guard operation.template.type == .subscription else {
      if settings.$until.isGiven {
        report(
          .wrongValue,
          message: "`until` is the end of a subscription, and `\(draft.id)` is a "
            + operation.template.type.rawValue, location: settings.$until.keyLocation,
          hint: "remove it")
      }
      return
    }
    operation.until = settings.until
    let hasEnd = settings.until.map { $0.$events.isGiven || $0.$for.isGiven } ?? false
    if !hasEnd, settings.$until.isUsable {
      report(
        .wrongValue, message: "the subscription `\(draft.id)` has no end",
        location: settings.$until.isGiven ? settings.$until.location : draft.location,
        hint: "add `until: { events: 100 }`, `until: { for: 10m }` or both")
    }
    for (name, isGiven, location) in [
      ("paginate", settings.$paginate.isGiven, settings.$paginate.keyLocation),
      ("snapshot", settings.$snapshot.isGiven, settings.$snapshot.keyLocation),
    ] where isGiven {
      report(
        .wrongValue, message: "`\(name)` is for queries, and `\(draft.id)` is a subscription",
        location: location,
        hint: "remove it")
    }
  }
}

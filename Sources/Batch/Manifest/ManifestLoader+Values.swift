import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

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
}

extension ManifestLoader {
  // MARK: foreach

  mutating func readForeach(
    _ draft: Draft, _ index: [String: Int], _ operation: inout BatchOperation
  ) {
    guard let member = draft.members.first(where: { $0.key == "foreach" }) else { return }
    guard case .mapping(let members) = member.value.content else {
      report(
        .wrongValue, "`foreach` of `\(draft.id)` is a mapping, not \(member.value.kind)",
        member.value.location, "write `foreach: { csv: rows.csv }`")
      return
    }
    let options = decoder.options(
      YAMLNode(
        content: .mapping(members.filter { $0.key != "inline" }.map { Self.named($0) }),
        location: member.value.location),
      table: Self.foreachTable,
      owner: .init(
        subject: "`foreach` of `\(draft.id)`", noun: "key", otherNames: ["inline"]),
      location: member.value.location)
    let kinds = ["csv", "jsonl", "sqlite", "inline", "stdin", "capture"]
    let given = members.filter { kinds.contains($0.key) }
    guard given.count == 1 else {
      report(
        .input,
        "`foreach` of `\(draft.id)` names \(given.isEmpty ? "no source" : "several sources")",
        given.dropFirst().first?.keyLocation ?? member.value.location,
        "name one of \(kinds.joined(separator: ", "))")
      return
    }
    let delimiters: [String: UInt8] = ["tab": 0x09, ";": 0x3B, "|": 0x7C]
    let delimiter = delimiters[options.string(ifGiven: "delimiter") ?? ","] ?? 0x2C
    var kind: InputSettings.Kind?
    let location = options.location(of: given[0].key)
    switch given[0].key {
    case "csv": kind = options.string(ifGiven: "csv").map { .csv(path: $0, delimiter: delimiter) }
    case "jsonl": kind = options.string(ifGiven: "jsonl").map { .jsonl(path: $0) }
    case "stdin":
      kind = options.string(ifGiven: "stdin").map {
        $0 == "csv" ? .csv(path: nil, delimiter: delimiter) : .jsonl(path: nil)
      }
    case "sqlite":
      guard let query = options.string(ifGiven: "query") else {
        report(.input, "`sqlite` needs a `query`", location, "add `query: \"select … from …\"`")
        return
      }
      kind = options.string(ifGiven: "sqlite").map { .sqlite(path: $0, query: query) }
    case "capture":
      guard let id = options.string(ifGiven: "capture") else { return }
      guard let other = index[id], operation.needs.contains(other) else {
        report(
          .needs, "`foreach` takes what `\(id)` captured, and `\(draft.id)` does not need it",
          location, "add `needs: [\(id)]`")
        return
      }
      kind = .captured(other)
    default: kind = inline(given[0].value)
    }
    guard let kind else { return }
    operation.source = InputSettings(
      kind: kind, rowName: options.string(ifGiven: "as") ?? "row",
      empty: options.choice(ifGiven: "empty") ?? .omit)
    if let text = options.string(ifGiven: "key") {
      operation.key = textTemplate(
        text, options.location(of: "key"), known: rowNames(operation, location))
    } else {
      _ = rowNames(operation, location)
    }
  }

  /// `empty: null` means the word "null", not a missing value.
  private static func named(_ member: YAMLNode.Member) -> YAMLNode.Member {
    guard member.key == "empty", member.value.quotedText == "null" else { return member }
    var member = member
    member.value.content = .scalar("null", isPlain: false)
    return member
  }

  private mutating func inline(_ node: YAMLNode) -> InputSettings.Kind? {
    guard case .sequence(let nodes) = node.content else {
      report(
        .input, "`inline` is a list of rows, not \(node.kind)", node.location,
        "write `inline: [{ code: DE }]`")
      return nil
    }
    return .inline(
      nodes.map { node in
        let value = json(node)
        return value.objectValue ?? ["value": value]
      })
  }

  /// Converts a node to JSON; plain scalars get their JSON types.
  private func json(_ node: YAMLNode) -> JSONValue {
    switch node.content {
    case .scalar(let text, let isPlain):
      return TypedText.value(ofScalar: text, isPlain: isPlain)
    case .sequence(let nodes): return .array(nodes.map { json($0) })
    case .mapping(let members):
      var object = JSONObject()
      for member in members { object[member.key] = json(member.value) }
      return .object(object)
    }
  }

  /// The template names of the operation's rows, with the columns if they are known before reading
  /// rows. Reports unusable inputs.
  private mutating func rowNames(
    _ operation: BatchOperation, _ location: FileLocation
  ) -> KnownNames {
    guard let source = operation.source else { return KnownNames(roots: [:]) }
    var columns: [String]?
    do {
      switch source.kind {
      case .csv(let path?, let delimiter):
        columns = try CSVSource(ByteReader(path: path), delimiter: delimiter).columns.names
      case .jsonl(let path?): _ = try ByteReader(path: path)
      case .sqlite(let path, let query):
        // An earlier operation may create the database.
        if FileManager.default.fileExists(atPath: path) {
          columns = try QuerySource.columns(path: path, query: query)
        } else if operation.needs.isEmpty {
          throw InputProblem(file: path, line: nil, message: "there is no such file")
        }
      case .inline(let rows): columns = rows.flatMap { Array($0.keys) }
      case .captured, .csv(nil, _), .jsonl(nil): break
      }
    } catch {
      if !(error is InputProblem && operation.needs.count > 0 && isMissing(source)) {
        report(.input, "\(error)", location)
      }
    }
    return KnownNames(
      roots: [source.rowName: .init(columns), "op": .init([]), "state": .any])
  }

  private func isMissing(_ source: InputSettings) -> Bool {
    if case .sqlite = source.kind { return true }
    return false
  }

  // MARK: Templates

  mutating func names(
    _ draft: Draft, _ operation: BatchOperation, _ drafts: [Draft]
  ) -> KnownNames {
    var known = KnownNames(roots: ["op": .init([]), "key": .init([]), "state": .any])
    if let source = operation.source {
      switch source.kind {
      case .csv(let path?, let delimiter):
        let columns = (try? CSVSource(ByteReader(path: path), delimiter: delimiter))?.columns.names
        known.roots[source.rowName] = .init(columns)
      case .inline(let rows): known.roots[source.rowName] = .init(rows.flatMap { Array($0.keys) })
      default: known.roots[source.rowName] = .any
      }
    }
    for need in operation.needs {
      let other = drafts[need]
      known.roots[other.id] = .init(other.options.stringMap("capture").map(\.name))
    }
    return known
  }

  mutating func textTemplate(
    _ text: String, _ location: FileLocation, known: KnownNames
  ) -> TextTemplate? {
    do throws(TextTemplate.Malformed) {
      let template = try TextTemplate(text)
      for reference in template.references {
        check(reference, location, known)
        if reference.root == "state", let name = reference.path.first { stateNames.insert(name) }
      }
      return template
    } catch {
      report(.template, error.message, location, error.hint)
      return nil
    }
  }

  private mutating func check(_ reference: Reference, _ location: FileLocation, _ known: KnownNames)
  {
    guard let members = known.roots[reference.root] else {
      report(
        .template, "nothing is called `\(reference.root)` in `{{\(reference)}}`", location,
        hint(for: reference.root, among: known.roots.keys.sorted()))
      return
    }
    guard case .only(let members) = members, let name = reference.path.first,
      !members.contains(name)
    else { return }
    report(
      .template, "`\(reference.root)` has no `\(name)` in `{{\(reference)}}`", location,
      hint(for: name, among: members.sorted()))
  }

  // MARK: Variables

  mutating func readVariables(
    _ draft: Draft, _ drafts: [Draft], _ schema: Schema?, _ operation: inout BatchOperation
  ) {
    guard let member = draft.members.first(where: { $0.key == "variables" }) else {
      checkRequired(operation, draft.node.location)
      return
    }
    guard case .mapping(let members) = member.value.content else {
      if !member.value.isNull {
        report(
          .wrongValue, "`variables` of `\(draft.id)` is a mapping, not \(member.value.kind)",
          member.value.location)
      }
      return
    }
    let declared = operation.template.definition.variables
    let known = names(draft, operation, drafts)
    let types = TypedText(reader: operation.template.reader, schema: schema)
    for member in members {
      guard let variable = declared.first(where: { $0.name.value == member.key }) else {
        report(
          .variable, "`\(draft.id)` declares no variable `\(member.key)`", member.keyLocation,
          declared.isEmpty
            ? "it declares none" : hint(for: member.key, among: declared.map(\.name.value)))
        continue
      }
      let problems = decoder.findings.count
      let template = value(member.value, variable.type, types, known, member.key)
      // An incomplete value would only cause further errors.
      if let template, decoder.findings.count == problems {
        operation.variables.append((member.key, template))
      }
    }
    // Unreadable values are already reported, and must not be reported as missing.
    checkRequired(operation, member.keyLocation, given: members.map(\.key))
    checkConstants(operation, member.keyLocation)
  }

  private mutating func checkRequired(
    _ operation: BatchOperation, _ location: FileLocation, given: [String] = []
  ) {
    let given = Set(given + paging(operation))
    for variable in operation.template.definition.variables {
      guard case .nonNull(let inner) = variable.type, variable.defaultValue == nil,
        !given.contains(variable.name.value)
      else { continue }
      report(
        .variable,
        "`\(operation.id)` is given no value for its variable `\(variable.name.value)`", location,
        "add `\(variable.name.value): …`, of type \(inner.namedType.value)")
    }
  }

  /// The variables that pagination sets.
  private func paging(_ operation: BatchOperation) -> [String] {
    guard let pagination = operation.pagination else { return [] }
    var names = [pagination.pageSize?.variable].compactMap { $0 }
    if case .offset(let variable, _) = pagination.style { names.append(variable) }
    return names
  }

  /// Coerces variables once if none of them has a template.
  private mutating func checkConstants(_ operation: BatchOperation, _ location: FileLocation) {
    var given = JSONObject()
    for variable in operation.variables {
      guard case .constant(let value) = variable.value else { return }
      given[variable.name] = value
    }
    for name in paging(operation) where given[name] == nil {
      given[name] = .number(JSONNumber(1))
    }
    do throws(CacheError) {
      _ = try operation.template.coerce(given)
    } catch {
      guard !error.message.contains("was not given") else { return }
      report(.variable, error.message, location)
    }
  }

  private mutating func value(
    _ node: YAMLNode, _ type: TypeReference?, _ types: TypedText, _ known: KnownNames,
    _ name: String
  ) -> ValueTemplate? {
    switch node.content {
    case .sequence(let nodes):
      let elements = nodes.enumerated().compactMap {
        value($1, type?.element, types, known, "\(name)[\($0)]")
      }
      let constants = elements.compactMap {
        if case .constant(let value) = $0 { value } else { nil }
      }
      return constants.count == elements.count ? .constant(.array(constants)) : .list(elements)
    case .mapping(let members):
      let fields = members.compactMap { member in
        value(
          member.value, types.field(member.key, of: type), types, known, "\(name).\(member.key)"
        ).map { (key: member.key, value: $0) }
      }
      var object = JSONObject()
      for field in fields {
        guard case .constant(let value) = field.value else { return .object(fields) }
        object[field.key] = value
      }
      return .constant(.object(object))
    case .scalar(let text, let isPlain):
      guard let text = expanded(text, node, name) else { return nil }
      if text.contains("{{") {
        guard let template = textTemplate(text, node.location, known: known) else { return nil }
        return template.whole.map { .reference($0, type) } ?? .text(template, type)
      }
      do {
        return .constant(try types.value(ofScalar: text, isPlain: isPlain, type, name))
      } catch {
        report(.variable, error.message, node.location)
        return nil
      }
    }
  }

  /// Expands `${env:NAME}` and the like, as in pipeline files.
  private mutating func expanded(_ text: String, _ node: YAMLNode, _ name: String) -> String? {
    guard text.contains("${") else { return text }
    let member = YAMLNode.Member(key: name, keyLocation: node.location, value: node)
    return decoder.options(
      YAMLNode(content: .mapping([member]), location: node.location),
      table: [OptionDescription(name, .string, "A variable")],
      owner: .init(subject: "the variables", noun: "variable"), location: node.location
    ).string(ifGiven: name)
  }
}

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

  /// `{{op}}` only.
  static let operationID = KnownNames(roots: ["op": .init([])])
}

extension ManifestLoader {
  // MARK: Rows

  /// Reads `foreach`, and returns the names that templates of the operation may use.
  mutating func readForeach(
    _ draft: Draft, _ index: [String: Int], _ drafts: [Draft], _ operation: inout BatchOperation
  ) -> KnownNames {
    var known = KnownNames(roots: ["op": .init([]), "state": .any])
    if let source = draft.settings.foreach {
      known.roots[source.rowName] = .any
      let id = source.input.capturedOperation
      let captured = id.flatMap { index[$0] }
      if let id, captured.map({ operation.needs.contains($0) }) != true {
        report(
          .needs, "the rows are captured by `\(id)`, which `\(draft.id)` does not need",
          source.location, "add `needs: [\(id)]`")
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
          if !isElsewhere { report(.input, "\(error)", source.location) }
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
    do throws(TextTemplate.Malformed) {
      let template = try TextTemplate(text.value)
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
        .template, "`{{\(reference)}}` refers to `\(reference.root)`, which does not exist",
        location,
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
    _ draft: Draft, _ known: KnownNames, _ schema: Schema?, _ operation: inout BatchOperation
  ) {
    let given = draft.settings.variables.entries
    let location = draft.settings.$variables.keyLocation
    let declared = operation.template.definition.variables
    let types = TypedText(reader: operation.template.reader, schema: schema)
    for entry in given {
      guard let variable = declared.first(where: { $0.name.value == entry.name }) else {
        report(
          .variable, "`\(draft.id)` declares no variable `\(entry.name)`",
          entry.nameLocation ?? location,
          declared.isEmpty
            ? "it declares none" : hint(for: entry.name, among: declared.map(\.name.value)))
        continue
      }
      let problems = decoder.findings.count
      let template = value(entry.value.node, variable.type, types, known, entry.name)
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
      if isUpload(members.map(\.key), type, types) {
        return upload(node, known, name).map(ValueTemplate.upload)
      }
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
        report(.variable, error.message, node.location)
        return nil
      }
    }
  }

  // MARK: Uploads

  /// Whether a mapping is a file: it has the member `upload`, and its type is no input object.
  private func isUpload(_ keys: [String], _ type: TypeReference?, _ types: TypedText) -> Bool {
    guard keys.contains("upload") else { return false }
    guard let leaf = type?.namedType.value, leaf != "Upload" else { return true }
    if case .scalar? = types.schema?.type(named: leaf) { return true }
    return false
  }

  private mutating func upload(
    _ node: YAMLNode, _ known: KnownNames, _ name: String
  ) -> UploadTemplate? {
    guard case .mapping(let members) = node.content else { return nil }
    var texts: [String: TextTemplate] = [:]
    for member in members {
      guard UploadTemplate.members.contains(member.key) else {
        report(
          .variable, "the upload `\(name)` has no `\(member.key)`", member.value.location,
          hint(for: member.key, among: UploadTemplate.members))
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

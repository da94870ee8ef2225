import GQLRunLanguage
import GQLRunSupport
import HTTPTypes

/// Parses the bytes of a project file into projects, and collects all diagnostics.
struct ProjectReader {
  let environment: PipelineFileEnvironment
  private(set) var findings: [PipelineDiagnostic] = []
  /// The absolute paths of what the projects write: the folders of their types, and their manifests.
  private var outputs: Set<String> = []

  init(_ environment: PipelineFileEnvironment) { self.environment = environment }

  mutating func read(_ root: YAMLNode?) -> [ProjectFile.Project] {
    guard let root else { return [] }
    guard let members = mapping(root, "a project file") else { return [] }
    guard let projects = members.first(where: { $0.key == "projects" }) else {
      return [project(members, name: nil, root.location)]
    }
    checkKeys(members, known: Self.keys + ["projects"])
    guard let entries = mapping(projects.value, "`projects`") else { return [] }
    return entries.compactMap { entry in
      // The short form: `name: schema`.
      if case .scalar = entry.value.content {
        return ProjectFile.Project(
          name: entry.key, schema: texts(entry.value, "the schema of `\(entry.key)`"),
          documents: [], endpoints: [])
      }
      return mapping(entry.value, "`\(entry.key)`").map {
        project($0, name: entry.key, entry.keyLocation)
      }
    }
  }

  private static let keys = [
    "schema", "documents", "include", "exclude", "extensions", "endpoints",
  ]

  private mutating func project(
    _ members: [YAMLNode.Member], name: String?, _ location: FileLocation
  ) -> ProjectFile.Project {
    checkKeys(members, known: Self.keys)
    var project = ProjectFile.Project(name: name, schema: [], documents: [], endpoints: [])
    for member in members {
      switch member.key {
      case "schema": project.schema = schema(member.value)
      case "documents": project.documents += texts(member.value, "`documents`")
      case "exclude":
        project.documents += texts(member.value, "`exclude`").map {
          ProjectFile.Text(value: "!" + $0.value, location: $0.location)
        }
      case "endpoints": project.endpoints += endpoints(member.value)
      case "extensions":
        guard case .mapping(let extensions) = member.value.content else { continue }
        // Other tools own the other keys of `extensions`.
        for own in extensions where own.key == "endpoints" {
          project.endpoints += endpoints(own.value)
        }
        for own in extensions where own.key == "gqlrun" {
          project.generation = generation(own.value)
        }
      default: continue
      }
    }
    return project
  }

  private mutating func checkKeys(_ members: [YAMLNode.Member], known: [String]) {
    for member in members where !known.contains(member.key) {
      findings.reportUnknown(
        member.key, among: known, "keys", message: "a project file has no key `\(member.key)`",
        location: member.keyLocation, severity: .warning)
    }
  }

  /// Files and URLs; an entry may also be `URL: {headers: …}`.
  private mutating func schema(_ node: YAMLNode) -> [ProjectFile.Text] {
    switch node.content {
    case .sequence(let nodes): return nodes.flatMap { schema($0) }
    case .mapping(let members):
      return members.map {
        ProjectFile.Text(value: expanded($0.key, $0.keyLocation), location: $0.keyLocation)
      }
    case .scalar: return texts(node, "`schema`")
    }
  }

  private mutating func generation(_ node: YAMLNode) -> ProjectFile.Generation? {
    guard let members = mapping(node, "`gqlrun`") else { return nil }
    var generation = ProjectFile.Generation()
    for member in members {
      let known = ProjectFile.Generation.keys
      guard known.contains(member.key) else {
        findings.refuse(
          "`gqlrun` has no key `\(member.key)`", at: member.keyLocation,
          hint: suggestion(for: member.key, in: known).map { "did you mean `\($0)`?" }
            ?? "its keys are \(known.joined(separator: ", "))")
        continue
      }
      guard member.key == "scalars" else {
        generation.values[member.key] = texts(member.value, "`\(member.key)`")
        continue
      }
      for scalar in mapping(member.value, "`scalars`") ?? [] {
        generation.values["scalars", default: []] += texts(scalar.value, "`\(scalar.key)`").map {
          ProjectFile.Text(value: "\(scalar.key)=\($0.value)", location: $0.location)
        }
      }
    }
    checkOutputs(of: generation)
    return generation
  }

  /// Reports an output of two projects. All types of one project may be in one folder.
  private mutating func checkOutputs(of generation: ProjectFile.Generation) {
    var folder: String?
    for key in ["output", "schema_output", "manifest"] {
      guard let output = generation.values[key]?.first, !output.value.isEmpty else { continue }
      let base = FilePath.folder(of: output.location.file)
      let path = FilePath.real(FilePath.resolve(output.value, in: base))
      if key == "schema_output", path == folder { continue }
      if key == "output" { folder = path }
      guard !outputs.insert(path).inserted else { continue }
      findings.refuse(
        "`\(output.value)` is already an output of this file", at: output.location,
        hint: "choose another one; a project replaces and deletes what another one has written")
    }
  }

  private mutating func endpoints(_ node: YAMLNode) -> [ProjectFile.Endpoint] {
    guard let members = mapping(node, "`endpoints`") else { return [] }
    return members.compactMap { endpoint($0) }
  }

  private mutating func endpoint(_ member: YAMLNode.Member) -> ProjectFile.Endpoint? {
    if case .scalar = member.value.content {
      return texts(member.value, "the endpoint `\(member.key)`").first.map {
        ProjectFile.Endpoint(name: member.key, url: $0, headers: [:])
      }
    }
    guard let settings = mapping(member.value, "the endpoint `\(member.key)`") else { return nil }
    guard let url = settings.first(where: { $0.key == "url" }) else {
      findings.refuse(
        "the endpoint `\(member.key)` has no `url`", at: member.keyLocation,
        hint: "add `url: https://…`")
      return nil
    }
    var headers = HTTPFields()
    if let given = settings.first(where: { $0.key == "headers" }) {
      for header in mapping(given.value, "`headers`") ?? [] {
        guard headers.count < HTTPFields.maxCount else {
          findings.refuse(
            "an endpoint has at most \(HTTPFields.maxCount) header fields",
            at: header.keyLocation, hint: "leave some out")
          break
        }
        guard let value = texts(header.value, "`\(header.key)`").first?.value else { continue }
        guard let name = HTTPField.Name(header.key), !name.isOfBody, HTTPField.isValidValue(value)
        else {
          findings.refuse(
            "`\(header.key)` cannot be sent as an HTTP field", at: header.keyLocation,
            hint:
              "use letters, digits and `-` in the name, and no line breaks in the value; leave out the fields "
              + "Content-Length and Transfer-Encoding, which follow from the body")
          continue
        }
        headers.append(HTTPField(name: name, value: value))
      }
    }
    return texts(url.value, "`url`").first.map {
      ProjectFile.Endpoint(name: member.key, url: $0, headers: headers)
    }
  }

  /// A text, or a list of texts.
  private mutating func texts(_ node: YAMLNode, _ what: String) -> [ProjectFile.Text] {
    switch node.content {
    case .scalar(let text, _) where !node.isNull && !text.isEmpty:
      return [ProjectFile.Text(value: expanded(text, node.location), location: node.location)]
    case .sequence(let nodes):
      return nodes.flatMap { node -> [ProjectFile.Text] in
        if case .scalar = node.content { return texts(node, "an entry of \(what)") }
        findings.refuse("an entry of \(what) is text, not \(node.kind)", at: node.location)
        return []
      }
    default:
      findings.refuse("\(what) is text or a list of texts, not \(node.kind)", at: node.location)
      return []
    }
  }

  private mutating func mapping(_ node: YAMLNode, _ what: String) -> [YAMLNode.Member]? {
    if case .mapping(let members) = node.content { return members }
    findings.refuse("\(what) is a mapping, not \(node.kind)", at: node.location)
    return nil
  }

  /// The text with `${NAME}` and `${NAME:default}` replaced by the environment's values.
  private mutating func expanded(_ text: String, _ location: FileLocation) -> String {
    var result = ""
    var rest = text[...]
    while let start = rest.firstRange(of: "${") {
      guard let end = rest[start.upperBound...].firstIndex(of: "}") else { break }
      let parts = rest[start.upperBound..<end].split(
        separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts.first ?? "")
      result += rest[..<start.lowerBound]
      var fallback = parts.count == 2 ? String(parts[1]) : nil
      if let quoted = fallback, quoted.count > 1, let quote = quoted.first, "\"'".contains(quote),
        quoted.last == quote
      {
        fallback = String(quoted.dropFirst().dropLast())
      }
      if let value = environment.variable(name) ?? fallback {
        result += value
      } else {
        findings.report(
          .expansion, message: "the variable `\(name)` is not set", location: location,
          hint: "set it, or write `${\(name):default}`")
      }
      rest = rest[rest.index(after: end)...]
    }
    return result + rest
  }
}

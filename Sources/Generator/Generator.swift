public import GQLRunLanguage
import GQLRunSupport

/// Generates Swift types from operations and fragments.
///
/// The result depends only on the schema, the documents and the options, not on their order on disk or
/// on the machine.
public struct Generator {
  private let schema: Schema
  private let options: GeneratorOptions

  /// Creates a generator.
  public init(schema: Schema, options: GeneratorOptions = GeneratorOptions()) {
    self.schema = schema
    self.options = options
  }

  /// Generates the types of documents.
  ///
  /// - Parameter documents: The paths and texts of the files. A fragment may be in another file than the
  ///   operations that use it.
  /// - Returns: One file for each operation and fragment, and one for the types of the schema that they
  ///   use, sorted by path.
  /// - Throws: ``GeneratorError`` with the locations of all errors in the documents.
  public func files(
    from documents: [(path: String, text: [UInt8])]
  ) throws -> [GeneratedFile] {
    let documents = try CheckedDocuments(
      documents.sorted { $0.path < $1.path }
        .map { SourceFiles.File(name: $0.path, bytes: $0.text) },
      schema: schema, edition: options.edition)
    let catches =
      schema.catchByDefault != nil || documents.document.definitions.contains(where: \.hasCatches)
    let names = GlobalNames(
      schema, fragmentNames: documents.document.fragments.map(\.name.value),
      operationTypes: documents.document.operations.map(Self.typeName), options: options,
      catchesErrors: catches)
    let used = UsedTypes(schema, names)
    let types = TypeSets(schema, documents.fragments)
    let builder = SelectionModelBuilder(
      documents: documents, types: types, options: options, names: names, used: used)
    let operationText = OperationText(schema: schema, fragments: documents.fragments)
    try checkNames(documents, names)
    let conformances = try Conformances(documents, text: operationText, options: options)
    let sources = documents.sources
    var files: [GeneratedFile] = []
    for operation in documents.document.operations {
      let name = Self.typeName(of: operation)
      used.beginFile()
      var text = SwiftText()
      let document = try operationText.text(of: operation)
      let own = conformances.of(.operation(operation))
      try OperationWriter(
        builder: builder.within(operation.directives, own), operationText: operationText
      ).write(operation, document: document, name: name, to: &text)
      var file = file(
        "Operations/\(name).swift", source: sources.fileName(of: operation.location), body: text,
        used: used)
      file.operation = GeneratedFile.Operation(
        name: operation.name?.value ?? "", document: document)
      files.append(file)
    }
    for fragment in documents.document.fragments {
      let name = names.type(ofFragment: fragment.name.value)
      used.beginFile()
      var text = SwiftText()
      let type = fragment.typeCondition.value
      let part = ConditionalSelections(selections: fragment.selectionSet.selections, type: type)
      let own = conformances.of(.fragment(fragment))
      let model = try builder.within(fragment.directives, own).model(
        name, parts: [part], scope: builder.scope(type), documentation: fragment.description?.value)
      SelectionWriter(options: options, conformances: own).write(model, to: &text)
      files.append(
        file(
          "Fragments/\(name).swift", source: sources.fileName(of: fragment.location), body: text,
          used: used))
    }
    if let types = schemaTypes(used, names) { files.append(types) }
    return files.sorted { $0.path < $1.path }
  }

  private func schemaTypes(_ used: UsedTypes, _ names: GlobalNames) -> GeneratedFile? {
    var text = SwiftText()
    let writer = SchemaWriter(options: options, names: names, used: used)
    for type in used.inOrder { writer.write(type, to: &text) }
    guard !text.text.isEmpty else { return nil }
    var file = file(
      "SchemaTypes.swift", source: "the schema", body: text, used: used, kind: .schema)
    file.warnings = used.warnings(options)
    return file
  }

  /// A file with the header and the imports of its types.
  private func file(
    _ path: String, source: String, body: SwiftText, used: UsedTypes,
    kind: GeneratedFile.Kind = .definition
  ) -> GeneratedFile {
    let access = options.access == .public ? "public " : ""
    let imports = used.modules(isSchema: kind == .schema, options).map { "\(access)import \($0)\n" }
    // The text does not depend on the working directory.
    let resolved = FilePath.resolve(source, in: options.workingFolder)
    let folder = "\(options.folder)/"
    let isInFolder = kind == .definition && resolved.hasPrefix(folder)
    let document = isInFolder ? String(resolved.dropFirst(folder.count)) : source
    let head = """
      \(GeneratedFile.mark) from \(Printable.line(document)); changes are overwritten.
      // swift-format-ignore-file

      \(imports.joined())
      """
    let separator = kind == .schema ? "" : "\n"
    return GeneratedFile(kind: kind, path: path, text: head + separator + body.text)
  }

  /// The Swift type of an operation: its name, followed by its type unless it ends with that.
  static func typeName(of operation: OperationDefinition) -> String {
    let name = SwiftNames.type(operation.name?.value ?? "")
    let suffix = SwiftNames.type(operation.type.rawValue)
    let type = name.hasSuffix(suffix) ? name : name + suffix
    // `GraphQLQuery` is a protocol of the runtime.
    return SwiftNames.reservedTypes.contains(type) ? type + "Operation" : type
  }

  /// Warnings about Swift types for scalars that the schema does not have.
  package var warnings: [String] {
    let custom = schema.typeNames.filter {
      if case .scalar(let scalar)? = schema.type(named: $0) { !scalar.isBuiltIn } else { false }
    }
    return options.scalars.sorted { $0.key < $1.key }.filter { !custom.contains($0.key) }.map {
      let hint = suggestion(for: $0.key, in: custom).map { "; did you mean `\($0)`?" } ?? ""
      return
        "the schema has no custom scalar `\($0.key)`; its Swift type \($0.value) is not used\(hint)"
    }
  }

  /// Two definitions must not have the same Swift type, nor files that differ only in case.
  private func checkNames(_ documents: CheckedDocuments, _ names: GlobalNames)
    throws(GeneratorError)
  {
    var owners: [String: String] = ["schematypes": "the file of the schema's types"]
    var messages: [(String, SourceLocation)] = []
    for definition in documents.document.definitions {
      let (label, type): (String, String)
      switch definition {
      case .operation(let operation):
        (label, type) = (
          "the operation '\(operation.name?.value ?? "")'", Self.typeName(of: operation)
        )
      case .fragment(let fragment):
        let name = fragment.name.value
        (label, type) = ("the fragment '\(name)'", names.type(ofFragment: name))
      case .typeSystem: continue
      }
      if let owner = owners.updateValue(label, forKey: type.lowercased()) {
        messages.append(
          (
            "\(label) and \(owner) have the same Swift type '\(type)'; rename one",
            definition.location
          ))
      }
    }
    if !messages.isEmpty { throw documents.sources.error(messages) }
  }
}

/// The conformances that comment directives request, also for the fragments of a definition.
private struct Conformances {
  private var requested: [String: Set<GeneratorOptions.Conformance>] = [:]
  private let all: Set<GeneratorOptions.Conformance>

  init(
    _ documents: CheckedDocuments, text: OperationText, options: GeneratorOptions
  ) throws(GeneratorError) {
    all = options.conformances
    let known = GeneratorOptions.Conformance.allCases.map(\.rawValue)
    for definition in documents.document.definitions {
      guard let selectionSet = definition.selectionSet else { continue }
      let directives = try documents.commentDirectives(above: definition.location, known: known)
      let found = Set(directives.compactMap(GeneratorOptions.Conformance.init(rawValue:)))
      requested[Self.key(definition), default: []].formUnion(found)
      // A type is Hashable or Codable only if the types of its properties are.
      let shared = found.subtracting([.identifiable])
      if shared.isEmpty { continue }
      for fragment in text.reached(from: selectionSet) {
        requested[Self.key(.fragment(fragment)), default: []].formUnion(shared)
      }
    }
  }

  private static func key(_ definition: Definition) -> String {
    if case .operation = definition { return "operation \(definition.name?.value ?? "")" }
    return "fragment \(definition.name?.value ?? "")"
  }

  func of(_ definition: Definition) -> Set<GeneratorOptions.Conformance> {
    all.union(requested[Self.key(definition)] ?? [])
  }
}

/// Why no Swift can be generated from documents: up to a hundred diagnostics.
public struct GeneratorError: Error, Sendable, Hashable, CustomStringConvertible {
  /// One error in a file.
  public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// The path of the file.
    public var file: String
    /// The source location within the file.
    public var location: SourceLocation
    /// What is wrong, and what would work.
    public var message: String

    /// `file:line:column: message`.
    public var description: String { "\(file):\(location.line):\(location.column): \(message)" }
  }

  /// The diagnostics in the order of the files; never empty.
  public var diagnostics: [Diagnostic]

  /// The diagnostics, one per line.
  public var description: String { diagnostics.map(\.description).joined(separator: "\n") }
}

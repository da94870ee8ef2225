import GQLRunSupport

/// Reads a pipeline file and the files it extends as one mapping of nodes.
///
/// Every node keeps its source location, so that diagnostics name the right file.
struct PipelineSource {
  /// The most files that extend one another.
  static let maximumDepth = 16

  private let registry: PluginRegistry
  private let environment: PipelineFileEnvironment
  private(set) var findings: [PipelineDiagnostic] = []
  private(set) var sources: [SourceText] = []
  /// The files that were read, with their bytes.
  private(set) var files: [(path: String, bytes: [UInt8])] = []

  init(registry: PluginRegistry, environment: PipelineFileEnvironment) {
    self.registry = registry
    self.environment = environment
  }

  /// The root of the file, or `nil` with at least one diagnostic.
  mutating func read(_ bytes: [UInt8], file: String) -> YAMLNode? {
    read(bytes, file: file, descendants: [])
  }

  /// - Parameter descendants: The files that extend this one.
  private mutating func read(
    _ bytes: [UInt8], file: String, descendants: [String]
  ) -> YAMLNode? {
    guard let root = compose(bytes, file: file) else { return nil }
    guard case .mapping(let members) = root.content else {
      report(
        .wrongValue, "a pipeline file is a mapping, not \(root.kind)", root.location,
        "begin with `version: 1`")
      return nil
    }
    guard let extends = members.first(where: { $0.key == "extends" }) else { return root }
    guard let base = base(extends, of: file, descendants: descendants),
      case .mapping(let inherited) = base.content
    else { return nil }
    var merge = PipelineMerge(registry: registry, base: base.location.file)
    let merged = merge.members(members, over: inherited)
    findings += merge.findings
    return YAMLNode(content: .mapping(merged), location: root.location)
  }

  private mutating func base(
    _ extends: YAMLNode.Member, of file: String, descendants: [String]
  ) -> YAMLNode? {
    guard case .scalar(let path, _) = extends.value.content, !extends.value.isNull else {
      report(
        .wrongValue, "`extends` is the path of one pipeline file", extends.value.location,
        "write `extends: ./other.pipeline.yaml`")
      return nil
    }
    guard !path.contains("${") else {
      report(
        .wrongValue, "`extends` is a literal path, without expansions", extends.value.location,
        "write `extends: ./other.pipeline.yaml`")
      return nil
    }
    let target = FilePath.resolve(path, in: FilePath.folder(of: file))
    let line = (descendants + [file]).map(FilePath.normalized)
    if let start = line.firstIndex(of: FilePath.normalized(target)) {
      let cycle = (line[start...] + [line[start]]).joined(separator: " → ")
      report(
        .unreadable, "`extends` forms a cycle", extends.value.location,
        "remove it from one of these: \(cycle)")
      return nil
    }
    guard line.count < Self.maximumDepth else {
      report(
        .unreadable, "more than \(Self.maximumDepth) files extend each other",
        extends.value.location, "combine some of them")
      return nil
    }
    let bytes: [UInt8]
    do {
      bytes = try environment.readFile(target)
    } catch {
      // Paths in a ready-made file are relative to the working directory.
      if !path.contains("/"), !line.contains(path), let text = environment.readyMade(path) {
        return read(Array(text.utf8), file: path, descendants: descendants + [file])
      }
      report(
        .unreadable, "the file `\(path)`, which this file extends, cannot be read",
        extends.value.location,
        (error as? PipelineFileEnvironment.Failure)?.reason ?? "the reason is unknown")
      return nil
    }
    return read(bytes, file: target, descendants: descendants + [file])
  }

  private mutating func compose(_ bytes: [UInt8], file: String) -> YAMLNode? {
    let start = FileLocation(file: file, line: 1, column: 1)
    guard bytes.count <= PipelineFile.maximumBytes else {
      report(
        .unreadable, "the file is larger than 1 MiB", start, "split it into several pipelines")
      return nil
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      let line =
        1
        + String(decoding: bytes, as: UTF8.self).prefix { $0 != "\u{FFFD}" }
        .filter(\.isNewline).count
      report(
        .unreadable, "the file is not UTF-8 text",
        FileLocation(file: file, line: line, column: 1), "save it as UTF-8")
      return nil
    }
    files.append((file, bytes))
    let source = SourceText(file: file, text: text)
    sources.append(source)
    var composer = YAMLComposer(text, source: source)
    let root = composer.compose()
    findings += composer.findings
    return root
  }

  private mutating func report(
    _ code: PipelineDiagnostic.Code, _ message: String, _ location: FileLocation, _ hint: String
  ) {
    findings.append(PipelineDiagnostic(code, message, at: location, hint: hint))
  }
}

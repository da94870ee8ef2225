import Foundation
import GQLRunJSON
import GQLRunSupport
import HTTPTypes

@testable import GQLRunBatch
@testable import GQLRunConfiguration
@testable import GQLRunPipeline
@testable import GQLRunPlugins

/// YAML: source locations are within the text, JSON means the same, and nodes that are written read back.
@Sendable func fuzzYAML(_ input: FuzzInput) throws {
  let file = YAMLFile(input.bytes, file: "a.yaml", kind: .pipeline)
  checkDiagnostics(PipelineDiagnostics(file.findings, sources: [file.source]), input.bytes.count)
  guard let root = file.root else {
    return expect(file.findings.contains { $0.severity == .error }, "no nodes, and no error")
  }
  checkLocations(of: root, in: file.source)
  // A key that is repeated is an error beside the nodes.
  guard file.findings.isEmpty else { return }
  if let value = try? JSONValue(parsing: input.bytes) {
    expectEqual(Shape(root), Shape(value), of: "JSON")
  }
  let written = Shape(root).text
  let again = YAMLFile(Array(written.utf8), file: "b.yaml", kind: .pipeline)
  guard let other = again.root else {
    fail("written nodes are refused: \(again.findings)\n\(written)")
  }
  expectEqual(Shape(other), Shape(root), of: "written nodes\n\(written)")
}

/// The texts of nodes, without their types.
private enum Shape: Equatable {
  case scalar([UInt8])
  case list([Shape])
  case mapping([Member])

  struct Member: Equatable {
    var key: [UInt8]
    var value: Shape
  }

  init(_ node: YAMLNode) {
    switch node.content {
    case .scalar(let text, _): self = .scalar(Array(text.utf8))
    case .sequence(let nodes): self = .list(nodes.map { Shape($0) })
    case .mapping(let members):
      self = .mapping(members.map { Member(key: Array($0.key.utf8), value: Shape($0.value)) })
    }
  }

  init(_ value: JSONValue) {
    switch value {
    case .null: self = .scalar(Array("null".utf8))
    case .boolean(let flag): self = .scalar(Array("\(flag)".utf8))
    case .number(let number): self = .scalar(Array(number.text.utf8))
    case .string(let text): self = .scalar(Array(text.utf8))
    case .array(let values): self = .list(values.map { Shape($0) })
    case .object(let object):
      self = .mapping(object.map { Member(key: Array($0.key.utf8), value: Shape($0.value)) })
    }
  }

  /// As YAML in flow style, in lines of one key each: YAML limits a key to 1024 characters before its colon.
  var text: String {
    switch self {
    case .scalar(let bytes): Self.quoted(bytes)
    case .list(let shapes): "[\(shapes.map(\.text).joined(separator: ", "))]"
    case .mapping(let members):
      "{\(members.map { "? \(Self.quoted($0.key))\n : \($0.value.text)" }.joined(separator: ",\n "))}"
    }
  }

  private static func quoted(_ bytes: [UInt8]) -> String {
    var text = "\""
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      switch scalar {
      case "\"", "\\": text += "\\\(scalar)"
      case " "..."~": text.unicodeScalars.append(scalar)
      default:
        text += "\\U" + String(String(UInt64(scalar.value) + 0x1_0000_0000, radix: 16).dropFirst())
      }
    }
    return text + "\""
  }
}

private func checkLocations(of node: YAMLNode, in source: SourceText) {
  checkLocation(node.location, in: source)
  switch node.content {
  case .scalar(let text, let isPlain):
    guard isPlain, !text.isEmpty else { return }
    // The location of unquoted text is that of its first line.
    let start = node.location.column - 1
    let shown = source.lines[node.location.line - 1].dropFirst(start).prefix(node.location.length)
    expect(
      text.unicodeScalars.starts(with: shown), "\(text.debugDescription) at \(node.location)")
  case .sequence(let nodes): for node in nodes { checkLocations(of: node, in: source) }
  case .mapping(let members):
    for member in members {
      checkLocation(member.keyLocation, in: source)
      checkLocations(of: member.value, in: source)
    }
  }
}

private func checkLocation(_ location: FileLocation, in source: SourceText) {
  // Text that is not UTF-8 has no lines here.
  guard !source.lines.isEmpty else { return }
  let lines = source.lines
  guard lines.indices.contains(location.line - 1) else {
    fail("\(location) is outside of \(lines.count) lines")
  }
  let width = lines[location.line - 1].count
  expect(
    location.column >= 1 && location.column <= width + 1 && location.length >= 1,
    "\(location) is outside of a line of \(width) characters")
}

/// Diagnostics are at source locations of their file, and print without control characters in the format that the
/// length of the file selects.
private func checkDiagnostics(_ found: PipelineDiagnostics, _ count: Int) {
  for diagnostic in found.all {
    let source = found.sources.first { $0.file == diagnostic.location.file }
    if let source { checkLocation(diagnostic.location, in: source) }
    expect(!diagnostic.message.isEmpty, "a diagnostic without a message")
  }
  guard count % 3 == 0 else {
    let text = found.rendered(as: count % 3 == 1 ? .human() : .github)
    return expect(
      !text.unicodeScalars.contains { $0 != "\n" && $0 != "\t" && Printable.isUnsafe($0.value) },
      "control characters: \(text.debugDescription)")
  }
  let json = outcome { try JSONValue(parsing: found.rendered(as: .json)) }
  expectEqual((try? json.get())?.arrayValue?.count, found.all.count, of: "diagnostics as JSON")
}

/// The variables and files that files of the targets can name.
private let fileEnvironment: PipelineFileEnvironment = {
  var environment = PipelineFileEnvironment(
    variable: { ["GQL_URL": "http://127.0.0.1:9/", "EMPTY": "", "TEXT": "a: b\n"][$0] },
    readFile: { path in
      switch path {
      case "/f/other.pipeline.yaml": Array("version: 1\nextends: plain\nchain: []\n".utf8)
      case "/f/circle.pipeline.yaml": Array("version: 1\nextends: ./circle.pipeline.yaml\n".utf8)
      case "/f/secret": Array("canary\n".utf8)
      default: throw PipelineFileEnvironment.Failure("it does not exist")
      }
    })
  environment.readyMade = { ReadyMade.file($0) }
  return environment
}()

/// Pipeline files: a check finds what loading finds, and a pipeline prints in each format.
@Sendable func fuzzPipelines(_ input: FuzzInput) throws {
  let (bytes, file) = (input.bytes, "/f/a.pipeline.yaml")
  let checked = PipelineFile.check(
    bytes, file: file, registry: .builtIn, environment: fileEnvironment,
    readSchema: { _ in sampleSchema })
  checkDiagnostics(checked, bytes.count)
  let loaded = outcome { () throws(PipelineDiagnostics) in
    try PipelineFile.load(
      bytes, file: file, registry: .builtIn, environment: fileEnvironment.withPlaceholders)
  }
  // Rules are checked against the schema only by the check.
  let problems = checked.errors.filter { $0.code != .schemaRule }
  switch loaded {
  case .failure: expect(!problems.isEmpty, "a check accepts a file that cannot be loaded")
  case .success(let loaded):
    expect(problems.isEmpty, "a check refuses a file that can be loaded: \(checked)")
    let pipeline = loaded.pipeline
    let text =
      switch bytes.count % 5 {
      case 0: pipeline.show()
      case 1: pipeline.graph(.mermaid)
      case 2: pipeline.graph(.dot)
      case 3: pipeline.graph(.svg)
      default: pipeline.explanation(of: GraphQLRequest(document: "{ a }"))
      }
    expect(
      !text.unicodeScalars.contains { $0 != "\n" && Printable.isUnsafe($0.value) },
      "control characters: \(text.debugDescription)")
  }
}

/// Batch manifests: every diagnostic is at a source location, and what loads has operations.
@Sendable func fuzzManifests(_ input: FuzzInput) throws {
  let (bytes, file) = (input.bytes, "/f/a.batch.yaml")
  do throws(PipelineDiagnostics) {
    let loaded = try ManifestLoader.load(
      bytes, path: file, registry: .builtIn, environment: fileEnvironment,
      endpoint: "http://127.0.0.1:9/")
    checkDiagnostics(loaded.warnings, bytes.count)
    expect(loaded.manifest.operationCount > 0, "a manifest without operations")
    expect(loaded.warnings.errors.isEmpty, "errors of a manifest that loads")
  } catch {
    expect(!error.errors.isEmpty, "a manifest is refused without an error")
    checkDiagnostics(error, bytes.count)
  }
}

/// Recordings: each request has its responses in order, and what is added is read again; other text is refused with the
/// number of its line.
@Sendable func fuzzRecordings(_ input: FuzzInput) throws {
  let path = "\(ScratchFolder.path)/a.recording"
  let header = #"{"gqlrun_recording":1}"#
  var input = input
  let decision = input.decide()
  let bytes = decision % 4 == 0 ? input.bytes : Array("\(header)\n".utf8) + input.bytes
  try Data(bytes).write(to: URL(fileURLWithPath: path))
  var lines = bytes.split(separator: 0x0A)
  // A last line that is cut is not used.
  if lines.count > 1, bytes.last != 0x0A,
    (try? JSONValue(parsing: Array(lines[lines.count - 1]))) == nil
  {
    lines.removeLast()
  }
  // Processes that begin a file at the same time write a first line each.
  let others = lines.dropFirst().filter {
    (try? JSONValue(parsing: Array($0)))?["gqlrun_recording"]?.intValue != 1
  }
  let exchanges = others.map { line -> (RecordedRequest, RecordedResponse)? in
    guard let value = try? JSONValue(parsing: Array(line)), let request = RecordedRequest(value),
      let response = value["response"].flatMap({ RecordedResponse($0) })
    else { return nil }
    return (request, response)
  }
  let recording = Recording(path: path, isNew: false)
  let known = exchanges.compactMap { $0 }
  guard let request = known.first?.0 else {
    return try checkRefusal(recording, at: path, lines: lines.count)
  }
  do {
    for (other, response) in known where other.key == request.key {
      try expectSame(recording.response(to: other), response)
    }
    expect(known.count == exchanges.count, "a line that is no exchange is accepted")
    var added = known[known.count - 1].1
    added.body = Array(#"{"data":{"added":true}}"#.utf8)
    try recording.add(request, added)
    let again = Recording(path: path, isNew: false)
    for (other, response) in known + [(request, added)] where other.key == request.key {
      try expectSame(again.response(to: other), response)
    }
  } catch let error as Recording.Failure {
    expect(known.count < exchanges.count || lines.first != Array(header.utf8)[...], "\(error)")
    try checkRefusal(recording, at: path, lines: lines.count)
  }
}

private func expectSame(_ found: RecordedResponse?, _ expected: RecordedResponse) throws {
  guard let found else { fail("a response is missing") }
  expectEqual(found.json, expected.json, of: "response")
  guard let written = RecordedResponse(expected.json) else { fail("a response is not read again") }
  expectEqual(written.head, expected.head, of: "head")
  expectEqual(written.body, expected.body, of: "body")
  _ = expected.message
}

/// A recording without exchanges: empty, so that the first one can be added, or refused.
private func checkRefusal(_ recording: Recording, at path: String, lines: Int) throws {
  guard
    let probe = RecordedRequest(["operation": "a", "request": ["method": "POST", "body": [:]]])
  else { fail("no request") }
  do {
    expect(try recording.response(to: probe) == nil, "a response of nothing")
    expect(try recording.missing(probe).message.contains(path), "a reason without the file")
    guard let response = RecordedResponse(["status": 200, "body": [:]]) else { fail("no response") }
    try recording.add(probe, response)
    try expectSame(Recording(path: path, isNew: false).response(to: probe), response)
  } catch let error as Recording.Failure {
    guard let place = error.message.firstRange(of: path) else { fail(error.message) }
    let rest = error.message[place.upperBound...]
    guard rest.first == ":" else { return }
    let line = Int(rest.dropFirst().prefix { $0 != ":" })
    expect(line.map { (1...lines).contains($0) } ?? false, "\(error.message) of \(lines) lines")
  }
}

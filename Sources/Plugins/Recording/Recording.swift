import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import Logging

/// A recording: a file with one JSON line per exchange, in the order in which they ended.
///
/// Equal requests are answered in recorded order; the last response is repeated.
final class Recording: Sendable {
  /// The error of a recording that cannot answer a request.
  struct Failure: Error, Sendable, CustomStringConvertible {
    var message: String

    var description: String { message }

    static func foreignFile(_ path: String) -> Failure {
      Failure(message: "\(path) is not a recording of gqlrun (unchanged); name another file")
    }
  }

  fileprivate static let header = #"{"gqlrun_recording":1}"#
  /// The largest file that is read, in bytes.
  fileprivate static let maxBytes = 1 << 30
  /// Those of a line, which has a body in two objects, or as one string.
  fileprivate static let lineLimits = JSONLimits(
    maxDepth: JSONLimits().maxDepth + 2, maxStringBytes: maxBytes)

  private let path: String
  private let logger: Logger?
  private let state: Locked<State>

  fileprivate struct State {
    /// Whether the first exchange replaces the file.
    var isNew: Bool
    var isLoaded = false
    /// Whether the file existed when it was loaded.
    var isFound = false
    /// What precedes the next exchange in the file: the end of a line that has none, or the first line.
    var beginning = ""
    /// The bytes of a last line that is cut, which the next exchange replaces.
    var cutLine: Range<Int>?
    var responses: [String: [RecordedResponse]] = [:]
    /// The number of returned responses per request.
    var returnedCounts: [String: Int] = [:]
    /// The recorded requests by operation, for messages.
    var requests: [String: [RecordedRequest]] = [:]
  }

  init(path: String, isNew: Bool, logger: Logger? = nil) {
    self.path = path
    self.logger = logger
    state = Locked(State(isNew: isNew))
  }

  /// The next response to a request; `nil` if the recording has none.
  func response(to request: RecordedRequest) throws -> RecordedResponse? {
    try state.withLock { state in
      try state.load(path, logger)
      guard let known = state.responses[request.key], let last = known.last else { return nil }
      let number = state.returnedCounts[request.key, default: 0]
      state.returnedCounts[request.key] = number + 1
      return number < known.count ? known[number] : last
    }
  }

  /// The reason why there is no response.
  func missing(_ request: RecordedRequest) throws -> Failure {
    try state.withLock { state in
      try state.load(path, logger)
      let remedy =
        "; record the request with the option `mode: auto` (GQL_RECORD=auto with the ready-made pipeline ci), or "
        + "everything again with `mode: record`"
      guard let others = state.requests[request.operation], let other = others.last else {
        let names = state.requests.keys.sorted().prefix(10).joined(separator: ", ")
        let problem =
          !names.isEmpty
          ? "does not contain \(request.operation), only \(names)"
          : state.isFound ? "is empty" : "does not exist"
        return Failure(message: "the recording \(path) \(problem)\(remedy)")
      }
      let differing = [
        "query", "documentId", "variables", "operationName", "onError", "extensions",
      ].filter { other.body[$0] != request.body[$0] }
      let difference =
        if !differing.isEmpty {
          "other \(differing.joined(separator: " and "))"
        } else {
          other.method == request.method ? "another body" : "another method"
        }
      return Failure(
        message: "the recording \(path) has \(request.operation) with \(difference)\(remedy)")
    }
  }

  /// Throws if the file is something else than a recording, which the first exchange would replace.
  func checkReplaceable() throws {
    try state.withLock { state in
      guard state.isNew, try Self.size(of: path) > 0 else { return }
      let beginning = try SystemIO.beginning(of: path, count: Self.header.utf8.count)
      guard beginning.elementsEqual(Self.header.utf8) else { throw Failure.foreignFile(path) }
    }
  }

  /// The size of the recording in bytes; 0 if it does not exist.
  ///
  /// - Throws: ``Failure`` if it is no regular file: opening a pipe would wait for its writer.
  fileprivate static func size(of path: String) throws -> Int {
    guard let status = FilePath.status(of: path) else { return 0 }
    guard status.st_mode & S_IFMT == S_IFREG else { throw Failure.foreignFile(path) }
    return Int(status.st_size)
  }

  /// Appends an exchange.
  func add(_ request: RecordedRequest, _ response: RecordedResponse) throws {
    var line = JSONObject()
    line["operation"] = .string(request.operation)
    line["request"] = .object(["method": .string(request.method), "body": request.body])
    line["response"] = response.json
    let bytes = JSONValue.object(line).jsonBytes() + [UInt8(ascii: "\n")]
    try state.withLock { state in
      let firstLine = "\(Self.header)\n"
      if state.isNew {
        try PrivateFile.write(Array(firstLine.utf8) + bytes, to: path)
        state.isNew = false
      } else if FileManager.default.fileExists(atPath: path) {
        // Unless another process has replaced the line.
        if let line = state.cutLine, try Self.size(of: path) == line.upperBound,
          truncate(path, off_t(line.lowerBound)) != 0
        {
          throw SystemError("write", path: path)
        }
        try PrivateFile.append(Array(state.beginning.utf8) + bytes, to: path)
      } else {
        // Not replaced: another process may create the file at the same time.
        try PrivateFile.makeFolder(of: path)
        try PrivateFile.append(Array(firstLine.utf8) + bytes, to: path)
      }
      state.beginning = ""
      state.cutLine = nil
      state.insert(request, response)
      // The caller has just received this response from the server.
      state.returnedCounts[request.key, default: 0] += 1
    }
  }
}

extension Recording.State {
  fileprivate mutating func insert(_ request: RecordedRequest, _ response: RecordedResponse) {
    responses[request.key, default: []].append(response)
    requests[request.operation, default: []].append(request)
  }

  fileprivate mutating func load(_ path: String, _ logger: Logger?) throws {
    guard !isLoaded else { return }
    _ = try Recording.size(of: path)
    let bytes = try SystemIO.readExistingFile(path, limit: Recording.maxBytes)
    isLoaded = true
    guard let bytes else { return }
    isFound = true
    let lineFeed = UInt8(ascii: "\n")
    let lines = bytes.split(separator: lineFeed)
    beginning = lines.isEmpty ? "\(Recording.header)\n" : bytes.last == lineFeed ? "" : "\n"
    for (index, line) in lines.enumerated() {
      let value = try? JSONValue(
        parsing: Array(line), options: .init(limits: Recording.lineLimits))
      // Processes that begin a file at the same time write a first line each.
      if value?["gqlrun_recording"]?.intValue == 1 { continue }
      guard index > 0 else {
        isLoaded = false
        throw Recording.Failure.foreignFile(path)
      }
      if value == nil, line.endIndex == bytes.endIndex {
        logger?.warning(
          "\(path):\(index + 1): this line is incomplete and not used; the process that wrote it may have been killed"
        )
        cutLine = line.startIndex..<line.endIndex
        beginning = ""
        return
      }
      guard let value, let request = RecordedRequest(value),
        let response = value["response"].flatMap({ RecordedResponse($0) })
      else {
        isLoaded = false
        throw Recording.Failure(
          message: "\(path):\(index + 1): this line is not a recorded exchange; record the file "
            + "again with the option `mode: record`")
      }
      insert(request, response)
    }
  }
}

/// A request in a recording: its content, without credentials.
struct RecordedRequest: Sendable {
  var operation: String
  /// The method, and the GraphQL request with its secrets hidden.
  var method: String
  var body: JSONValue
  /// Equal for requests that the recording treats as the same.
  var key: String

  init(
    _ request: HTTPRequestMessage, operation: String, redactor: BodyRedactor, hiding: SecretHiding
  ) {
    self.operation = operation
    method = request.head.method.rawValue
    let bytes = request.body.map { redactor.redact($0) } ?? []
    if let multipart = request.multipart {
      body = redactor.redacted(multipart.recorded)
    } else if request.body == nil {
      body = redactor.redacted(Self.members(of: request.head.path ?? ""))
    } else if let value = try? JSONValue(parsing: bytes) {
      body = value
    } else {
      // Not JSON: a custom format, identified by its hash.
      body = .object([
        "sha256": .string(DocumentHash.sha256(String(decoding: bytes, as: UTF8.self)))
      ])
    }
    body = hiding.json(body)
    key = Self.key(method, body)
  }

  init?(_ value: JSONValue) {
    guard let operation = value["operation"]?.stringValue,
      let method = value["request"]?["method"]?.stringValue, let body = value["request"]?["body"]
    else { return nil }
    self.operation = operation
    self.method = method
    self.body = body
    key = Self.key(method, body)
  }

  private static func key(_ method: String, _ body: JSONValue) -> String {
    DocumentHash.sha256("\(method) \(body.canonicalText)")
  }

  /// The GraphQL request in a URL. Other parameters may be keys and are left out.
  private static func members(of path: String) -> JSONValue {
    var members = JSONObject()
    for pair in path.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, SecretNames.graphQLParameters.contains(String(parts[0])) else {
        continue
      }
      let text = String(parts[1]).removingPercentEncoding ?? String(parts[1])
      let isObject = parts[0] == "variables" || parts[0] == "extensions"
      members[String(parts[0])] = isObject ? try? JSONValue(parsing: text) : .string(text)
    }
    return .object(members)
  }
}

extension MultipartBody {
  /// The GraphQL request with the names and sizes of its files, in place of their contents.
  fileprivate var recorded: JSONValue {
    var body = (try? JSONValue(parsing: operations)) ?? .object([:])
    body["files"] = .array(
      files.enumerated().map { index, file in
        .object([
          "variables": map[String(index)] ?? .null, "name": .string(file.fileName),
          "type": .string(file.contentType), "size": .number(JSONNumber(file.count)),
        ])
      })
    return body
  }
}

/// A response in a recording.
struct RecordedResponse: Sendable {
  var head: HTTPResponse
  var body: [UInt8]

  /// Header fields without secrets that do not describe the transfer of the body.
  private static let keptFields = [
    "content-type", "retry-after", "x-ratelimit-limit", "x-ratelimit-remaining",
    "x-ratelimit-reset", "date",
  ]

  init(
    _ head: HTTPResponse, _ body: [UInt8], redactor: BodyRedactor, hiding: SecretHiding
  ) {
    self.head = HTTPResponse(
      status: .init(code: head.status.code),
      headerFields: HTTPFields(
        head.headerFields.filter { Self.keptFields.contains($0.name.canonicalName) }))
    let redacted = redactor.redact(body)
    self.body =
      String(validating: redacted, as: UTF8.self).map { Array(hiding.text($0).utf8) } ?? redacted
  }

  var message: HTTPResponseMessage {
    guard ResponseCheck.mediaType(head) == HTTPResponseMessage.sequenceType else {
      return HTTPResponseMessage(head: head, body: HTTPBody([body]))
    }
    let results = body.split(separator: HTTPResponseMessage.recordSeparator)
      .filter { !$0.allSatisfy(\.isJSONWhiteSpace) }
    var message = HTTPResponseMessage(results: HTTPBody(results as [any BodyChunk]))
    message.head = head
    return message
  }

  init?(_ value: JSONValue) {
    guard let status = value["status"]?.intValue, (100...999).contains(status) else { return nil }
    head = HTTPResponse(status: .init(code: status))
    for member in value["headers"]?.objectValue ?? [:] {
      guard head.headerFields.count < HTTPFields.maxCount else { return nil }
      guard let name = HTTPField.Name(member.key), let text = member.value.stringValue else {
        continue
      }
      head.headerFields.append(HTTPField(name: name, value: text))
    }
    if let json = value["body"] {
      body = json.jsonBytes()
    } else if let text = value["text"]?.stringValue {
      body = Array(text.utf8)
    } else if let data = value["base64"]?.stringValue.flatMap({ Data(base64Encoded: $0) }) {
      body = Array(data)
    } else {
      return nil
    }
  }

  /// A JSON body is recorded as JSON if that loses nothing, otherwise as text or base64.
  var json: JSONValue {
    var object = JSONObject()
    object["status"] = .number(JSONNumber(head.status.code))
    var headers = JSONObject()
    for field in head.headerFields { headers[field.name.rawName] = .string(field.value) }
    object["headers"] = .object(headers)
    if let value = try? JSONValue(parsing: body) {
      object["body"] = value
    } else if let text = String(validating: body, as: UTF8.self) {
      object["text"] = .string(text)
    } else {
      object["base64"] = .string(Data(body).base64EncodedString())
    }
    return .object(object)
  }
}

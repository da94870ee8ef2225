import Foundation
import GQLRunJSON
import GQLRunPipeline
import HTTPTypes

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
      body = redactor.json.redacted(multipart.recorded)
    } else if request.body == nil {
      body = redactor.json.redacted(Self.members(of: request.head.path ?? ""))
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
    let names = ["query", "operationName", "variables", "extensions", "documentId"]
    for pair in path.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, names.contains(String(parts[0])) else { continue }
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
  var status: Int
  var fields: [(name: String, value: String)]
  var body: [UInt8]

  /// Header fields without secrets that do not describe the transfer of the body.
  private static let keptFields = [
    "content-type", "retry-after", "x-ratelimit-limit", "x-ratelimit-remaining",
    "x-ratelimit-reset", "date",
  ]

  init(
    _ head: HTTPResponse, _ body: [UInt8], redactor: BodyRedactor, hiding: SecretHiding
  ) {
    status = head.status.code
    fields = head.headerFields.filter { Self.keptFields.contains($0.name.canonicalName) }
      .map { ($0.name.rawName, $0.value) }
    let redacted = redactor.redact(body)
    self.body =
      String(validating: redacted, as: UTF8.self).map { Array(hiding.text($0).utf8) } ?? redacted
  }

  var message: HTTPResponseMessage {
    var head = HTTPResponse(status: .init(code: status))
    for (name, value) in fields {
      if let name = HTTPField.Name(name) {
        head.headerFields.append(.init(name: name, value: value))
      }
    }
    return HTTPResponseMessage(head: head, body: HTTPBody([body]))
  }

  init?(_ value: JSONValue) {
    guard let status = value["status"]?.intValue, (100...599).contains(status) else { return nil }
    self.status = status
    fields = (value["headers"]?.objectValue ?? JSONObject()).compactMap { member in
      member.value.stringValue.map { (member.key, $0) }
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
    object["status"] = .number(JSONNumber(status))
    var headers = JSONObject()
    for (name, value) in fields { headers[name] = .string(value) }
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

extension JSONRedactor {
  /// The same value with secret members hidden.
  func redacted(_ value: JSONValue) -> JSONValue {
    (try? JSONValue(parsing: redact(value.jsonBytes()))) ?? value
  }
}

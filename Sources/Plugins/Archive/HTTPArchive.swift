import Foundation
public import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes

extension ExchangeRecorder {
  /// The exchanges as an HTTP archive, with secrets hidden.
  ///
  /// Hidden are the values of header fields, form parameters and JSON members with secret names,
  /// their other occurrences in all exchanges, and the known secrets of the run.
  ///
  /// http://www.softwareishard.com/blog/har-12-spec/
  ///
  /// - Parameters:
  ///   - creator: The name of the program, for the archive's `creator`.
  ///   - version: The version of the program.
  public func archive(creator: String, version: String) -> JSONValue {
    let hiding = secrets.hiding(with: exchanges.flatMap { $0.secrets })
    return .object([
      "log": .object([
        "version": "1.2",
        "creator": .object(["name": .string(creator), "version": .string(version)]),
        "entries": .array(exchanges.map { HTTPArchive(exchange: $0, hiding: hiding).entry }),
      ])
    ])
  }
}

extension ExchangeRecorder.Exchange {
  /// The values of the exchange's header fields, parameters and members with secret names.
  fileprivate var secrets: [SecretString] {
    var found = request.secrets + (head?.headerFields.secrets ?? [])
    if let body = request.body ?? request.multipart?.operations {
      _ = BodyRedactor(request.head.headerFields).redact(body, found: &found)
    }
    _ = BodyRedactor(head?.headerFields ?? [:]).redact(body.bytes, found: &found)
    return found
  }
}

private struct HTTPArchive {
  let exchange: ExchangeRecorder.Exchange
  let hiding: SecretHiding

  var entry: JSONValue {
    var entry: JSONObject = [
      "startedDateTime": .string(Quantity.timestamp(exchange.start)),
      "time": Self.milliseconds(exchange.total),
      "request": .object(request), "response": .object(response), "cache": .object([:]),
      "timings": .object([
        "send": 0, "wait": Self.milliseconds(exchange.wait),
        "receive": Self.milliseconds(
          exchange.total.flatMap { total in exchange.wait.map { total - $0 } }),
      ]),
    ]
    if exchange.request.webSocket != nil {
      // As in the archives of Chrome.
      entry["_resourceType"] = "websocket"
      entry["comment"] =
        "an operation on a WebSocket connection, which has no HTTP response of its own"
    }
    if let failure = exchange.failure { entry["comment"] = .string(hiding.text(failure)) }
    return .object(entry)
  }

  private var request: JSONObject {
    let message = exchange.request
    var request: JSONObject = [
      "method": .string(message.head.method.rawValue),
      "url": .string(hiding.text(message.shownURL)),
      "httpVersion": .string(exchange.version), "cookies": [],
      "headers": headers(message.head.headerFields),
      "queryString": query(hiding.text(message.shownURL)), "headersSize": -1,
      "bodySize": .number(JSONNumber(message.bodyCount ?? 0)),
    ]
    if let body = message.body {
      request["postData"] = .object([
        "mimeType": .string(message.head.headerFields[.contentType] ?? "application/json"),
        "text": .string(text(body, message.head.headerFields)),
      ])
    }
    if let multipart = message.multipart {
      request["postData"] = .object([
        "mimeType": "multipart/form-data", "params": .array(params(multipart, message)),
        "comment": "the contents of files are not kept",
      ])
    }
    return request
  }

  private func params(_ body: MultipartBody, _ message: HTTPRequestMessage) -> [JSONValue] {
    let fields = [
      ("operations", text(body.operations, message.head.headerFields)),
      ("map", JSONValue.object(body.map).canonicalText),
    ].map { JSONValue.object(["name": .string($0), "value": .string($1)]) }
    return fields
      + body.files.enumerated().map { index, file in
        .object([
          "name": .string(String(index)), "fileName": .string(hiding.text(file.fileName)),
          "contentType": .string(file.contentType),
        ])
      }
  }

  /// Without a response, the status is 0, as in browsers.
  private var response: JSONObject {
    let fields = exchange.head?.headerFields ?? [:]
    var content: JSONObject = [
      "size": .number(JSONNumber(exchange.body.count)),
      "mimeType": .string(fields[.contentType] ?? ""),
    ]
    let kept = exchange.body.bytes
    if !kept.isEmpty { content["text"] = .string(text(kept, fields)) }
    if !exchange.body.isKept {
      content["comment"] = .string("only the first \(kept.count) bytes are kept")
    }
    return [
      "status": .number(JSONNumber(exchange.head?.status.code ?? 0)),
      "statusText": .string(exchange.head?.status.reasonPhrase ?? ""),
      "httpVersion": .string(exchange.version), "cookies": [], "headers": headers(fields),
      "content": .object(content), "redirectURL": .string(redirect(fields)),
      "headersSize": -1, "bodySize": -1,
    ]
  }

  private func redirect(_ fields: HTTPFields) -> String {
    fields[.location].map { hiding.text(HTTPResponse.shown(location: $0)) } ?? ""
  }

  private func headers(_ fields: HTTPFields) -> JSONValue {
    .array(
      fields.map {
        .object([
          "name": .string($0.name.rawName),
          "value": .string(
            $0.name == .location
              ? redirect([.location: $0.value])
              : hiding.value($0.value, ofField: $0.name.rawName)),
        ])
      })
  }

  private func query(_ url: String) -> JSONValue {
    guard let mark = url.firstIndex(of: "?") else { return [] }
    return .array(
      url[url.index(after: mark)...].split(separator: "&").map { parameter in
        let name = parameter.prefix { $0 != "=" }
        let value = String(parameter.dropFirst(name.count + 1))
        return .object([
          "name": .string(String(name)), "value": .string(value.removingPercentEncoding ?? value),
        ])
      })
  }

  private func text(_ bytes: [UInt8], _ fields: HTTPFields) -> String {
    hiding.text(String(decoding: BodyRedactor(fields).redact(bytes), as: UTF8.self))
  }

  private static func milliseconds(_ duration: Duration?) -> JSONValue {
    duration.map { JSONValue.thousandths($0 / .milliseconds(1)) } ?? -1
  }
}

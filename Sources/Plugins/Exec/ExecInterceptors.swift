import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import HTTPTypes
import Synchronization

/// The GraphQL stage of `exec`.
struct ExecGraphQL: GraphQLInterceptor {
  let caller: ExecCaller

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    var request = request
    if caller.asksForRequests {
      switch try await caller.ask(Self.message(request, context), context, .notSent) {
      case .continue(let reply): try change(&request, reply, context)
      case .answer(let reply): return ResponseStream(Self.response(reply, context))
      case .drop: break
      }
    }
    let stream = await next(request)
    let isSubscription = context.operationType == .subscription
    let asksForEvents = caller.asksForEvents && isSubscription
    guard caller.asksForResponses || asksForEvents else { return stream }
    let count = Atomic(0)
    return ResponseStream(pull: {
      while let response = try await stream.next() {
        var message = Self.message(response, context)
        if asksForEvents, response.source == .server {
          let number = count.wrappingAdd(1, ordering: .relaxed).newValue
          try Self.addEvent(number, response, to: &message)
        } else if !caller.asksForResponses {
          return response
        }
        switch try await caller.ask(message, context, .answered) {
        case .continue: return response
        case .answer(let reply): return await Self.replaced(response, reply, context)
        // A result of the program is not a response of the server.
        case .drop: await response.pendingWrite?.rollback()
        }
      }
      return nil
    })
  }

  /// The response with the data of a reply, which is not stored.
  private static func replaced(
    _ response: GraphQLResponse, _ reply: JSONObject, _ context: ChainContext
  ) async -> GraphQLResponse {
    var response = response
    let made = Self.response(reply, context)
    response.data = made.data
    response.errors = made.errors
    response.extensions = made.extensions
    await response.pendingWrite?.rollback()
    response.pendingWrite = nil
    return response
  }

  private static func addEvent(
    _ number: Int, _ response: GraphQLResponse, to message: inout JSONObject
  ) throws {
    message["event"] = "event"
    message["number"] = .number(JSONNumber(number))
    var bytes: [UInt8] = []
    try response.data?.forEachChunk { bytes += $0 }
    message["data"] = bytes.isEmpty ? .null : try JSONValue(parsing: bytes)
  }

  private static func message(_ request: GraphQLRequest, _ context: ChainContext) -> JSONObject {
    var message = operation(context, event: "request")
    message["document"] = .string(request.document)
    message["variables"] = .object(request.variables)
    message["context"] = .object(
      request.context.named.sorted { $0.key < $1.key }.reduce(into: JSONObject()) {
        $0[$1.key] = .string($1.value)
      })
    return message
  }

  private static func message(_ response: GraphQLResponse, _ context: ChainContext) -> JSONObject {
    var message = operation(context, event: "response")
    message["source"] = .string(response.source.rawValue)
    message["status"] = response.http.map { .number(JSONNumber($0.status.code)) } ?? .null
    message["errors"] = .array(
      response.errors.map {
        .object([
          "message": .string($0.message), "code": $0.code.map(JSONValue.string) ?? .null,
        ])
      })
    return message
  }

  private static func operation(_ context: ChainContext, event: String) -> JSONObject {
    [
      "event": .string(event),
      "operation": .object([
        "name": context.operationName.map(JSONValue.string) ?? .null,
        "type": .string(context.operationType.rawValue),
      ]),
      "attempt": .number(JSONNumber(context.attempt)),
    ]
  }

  private func change(
    _ request: inout GraphQLRequest, _ reply: JSONObject, _ context: ChainContext
  ) throws {
    for (field, value) in try caller.fields(reply, "headers", context) {
      request.additionalHeaders[field] = value
    }
    for member in reply["context"]?.objectValue ?? [:] {
      request.context.named[member.key] = member.value.stringValue
    }
    for member in reply["extensions"]?.objectValue ?? [:] {
      request.extensions[member.key] = member.value
    }
  }

  private static func response(_ reply: JSONObject, _ context: ChainContext) -> GraphQLResponse {
    GraphQLResponse(
      source: .server, data: reply["data"].map { $0.jsonBytes() },
      errors: (reply["errors"]?.arrayValue ?? []).map { GraphQLError($0) },
      extensions: reply["extensions"]?.objectValue, attempt: context.attempt)
  }
}

/// The HTTP stage of `exec`.
struct ExecHTTP: HTTPInterceptor {
  let caller: ExecCaller

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    var request = request
    if caller.asksForRequests {
      switch try await caller.ask(Self.message(request, context), context, .notSent) {
      case .continue(let reply):
        for name in reply["remove"]?.arrayValue ?? [] {
          if let field = name.stringValue.flatMap({ HTTPField.Name($0) }) {
            request.head.headerFields[field] = nil
          }
        }
        for (field, value) in try caller.fields(reply, "headers", context) {
          request.head.headerFields[field] = value
        }
        if let body = reply["body"]?.stringValue {
          request.body = Array(body.utf8)
          request.multipart = nil
        }
      case .answer(let reply): return try response(reply, context)
      case .drop: break
      }
    }
    let response = try await next(request)
    guard caller.asksForResponses else { return response }
    let message: JSONObject = [
      "event": "response", "status": .number(JSONNumber(response.head.status.code)),
      "headers": Self.object(response.head.headerFields),
    ]
    guard case .answer(let reply) = try await caller.ask(message, context, .answered) else {
      return response
    }
    return try self.response(reply, context)
  }

  private static func message(
    _ request: HTTPRequestMessage, _ context: ChainContext
  ) -> JSONObject {
    let head = request.head
    return [
      "event": "request", "method": .string(head.method.rawValue),
      "url": .string("\(head.scheme ?? "http")://\(head.authority ?? "")\(head.path ?? "/")"),
      "headers": object(head.headerFields),
      "body": request.body.map { .string(String(decoding: $0, as: UTF8.self)) } ?? .null,
      "attempt": .number(JSONNumber(context.attempt)),
    ]
  }

  /// Header fields with the same name are combined, as in HTTP.
  private static func object(_ fields: HTTPFields) -> JSONValue {
    var object = JSONObject()
    for field in fields where object[field.name.rawName] == nil {
      object[field.name.rawName] = .string(fields[field.name] ?? field.value)
    }
    return .object(object)
  }

  private func response(
    _ reply: JSONObject, _ context: ChainContext
  ) throws -> HTTPResponseMessage {
    let status = reply["status"]?.intValue ?? 200
    guard (200...999).contains(status) else {
      throw caller.failure(
        .execFailed,
        "the program answered with the status \(status), which is not valid", context, .notSent)
    }
    var head = HTTPResponse(status: .init(code: status))
    head.headerFields[.contentType] = "application/json"
    for (field, value) in try caller.fields(reply, "headers", context) {
      head.headerFields[field] = value
    }
    let body = reply["body"]
    let bytes = body?.stringValue.map { Array($0.utf8) } ?? body?.jsonBytes() ?? []
    return HTTPResponseMessage(head: head, body: HTTPBody([bytes]))
  }
}

extension ExecCaller {
  /// The header fields in a member of a reply; throws if one is invalid.
  func fields(
    _ reply: JSONObject, _ member: String, _ context: ChainContext
  ) throws -> [(HTTPField.Name, String)] {
    try (reply[member]?.objectValue ?? [:]).map { field in
      guard let name = HTTPField.Name(field.key), let value = field.value.stringValue,
        HTTPField.isValidValue(value)
      else {
        throw failure(
          .execFailed,
          "the program's field \"\(field.key.prefix(60))\" cannot be sent: a name has letters, "
            + "digits and hyphens, a value is one line of text", context, .notSent)
      }
      return (name, value)
    }
  }
}

import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import HTTPTypes
import Logging
import Synchronization

/// The GraphQL stage of `exec`.
struct ExecGraphQL: GraphQLInterceptor {
  let caller: ExecCaller

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    var request = request
    if caller.asks(for: .request) {
      switch try await caller.ask(
        Self.message(request, context), context: context, delivery: .notSent)
      {
      case .continue(let reply): try change(&request, reply: reply, context: context)
      case .answer(let reply): return ResponseStream(Self.response(reply, context))
      case .drop, .retry: break
      }
    }
    let sent = request
    var stream = await next(request)
    if caller.asks(for: .failure) {
      stream = stream.mapErrors { try await recovered($0, request: sent, context: context) }
    }
    let isSubscription = context.operationType == .subscription
    let asksForEvents = caller.asks(for: .event) && isSubscription
    guard caller.asks(for: .response) || asksForEvents else { return stream }
    let count = Atomic(0)
    return ResponseStream(pull: { [stream] in
      while let response = try await stream.next() {
        var message = Self.message(response, context)
        let maxData = caller.options.maxData.bytes
        if maxData > 0 {
          let isWhole = (response.data?.count ?? 0) <= maxData
          if isWhole { message["data"] = try Self.data(of: response) }
          message["data_is_whole"] = .boolean(isWhole)
        }
        if asksForEvents, response.source == .server {
          message["event"] = "event"
          message["number"] = .number(JSONNumber(count.wrappingAdd(1, ordering: .relaxed).newValue))
          message["data"] = try Self.data(of: response)
        } else if !caller.asks(for: .response) {
          return response
        }
        switch try await caller.ask(message, context: context, delivery: .answered) {
        case .continue: return response
        case .answer(let reply):
          return await Self.replaced(response, reply: reply, context: context)
        // The response of a mutation that was executed, at least in part.
        case .retry
        where !sent.isIdempotent && (response.errors.isEmpty || response.showsExecution):
          Self.noteRefusedRetry(sent, context)
          return response
        case .retry:
          await response.pendingWrite?.rollback()
          throw ChainRetry(sent)
        // A result of the program is not a response of the server.
        case .drop: await response.pendingWrite?.rollback()
        }
      }
      return nil
    })
  }

  /// What the program makes of an error.
  private func recovered(
    _ error: any Error, request: GraphQLRequest, context: ChainContext
  ) async throws -> GraphQLResponse? {
    if error is CancellationError { throw error }
    var message = Self.operation(context, event: "failure")
    caller.describe(error, in: &message)
    let delivery = (error as? ChainError)?.delivery ?? .unknown
    switch try await caller.ask(message, context: context, delivery: delivery) {
    case .continue, .drop: throw error
    case .answer(let reply): return Self.response(reply, context)
    case .retry:
      let failure = error as? ChainError
      let isUnknown = failure.map { $0.leavesOutcomeUnknown || $0.showsExecution } ?? true
      guard request.isIdempotent || !isUnknown else {
        Self.noteRefusedRetry(request, context)
        throw error
      }
      throw ChainRetry(request, cause: error)
    }
  }

  private static func noteRefusedRetry(_ request: GraphQLRequest, _ context: ChainContext) {
    let message =
      "\(context.entryID): the program asked to retry \(request.label), which is not sent again: the server may "
      + "have executed the mutation"
    context.services.logger.warning("\(message)")
  }

  /// The response with what a reply replaces. Data of a reply is not stored; without data, that of the response stays.
  private static func replaced(
    _ response: GraphQLResponse, reply: JSONObject, context: ChainContext
  ) async -> GraphQLResponse {
    var response = response
    let made = Self.response(reply, context)
    guard reply["data"] != nil else {
      if reply["errors"] != nil { response.errors = made.errors }
      if reply["extensions"] != nil { response.extensions = made.extensions }
      return response
    }
    response.data = made.data
    response.errors = made.errors
    response.extensions = made.extensions
    await response.pendingWrite?.rollback()
    response.pendingWrite = nil
    return response
  }

  private static func data(of response: GraphQLResponse) throws -> JSONValue? {
    try response.data.map { try JSONValue(parsing: $0.bytes()) }
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
      response.errors.map { error in
        var object: JSONObject = [
          "message": .string(error.message), "code": error.code.map(JSONValue.string) ?? .null,
          "path": .null,
        ]
        for member in error.json.objectValue ?? [:] { object[member.key] = member.value }
        return .object(object)
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
    _ request: inout GraphQLRequest, reply: JSONObject, context: ChainContext
  ) throws {
    try caller.set(
      &request.additionalHeaders, to: reply, context: context, delivery: .notSent)
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
    if caller.asks(for: .request) {
      switch try await caller.ask(
        Self.message(request, context), context: context, delivery: .notSent)
      {
      case .continue(let reply):
        for name in reply["remove"]?.arrayValue ?? [] {
          if let field = name.stringValue.flatMap({ HTTPField.Name($0) }) {
            request.head.headerFields[field] = nil
          }
        }
        try caller.set(
          &request.head.headerFields, to: reply, context: context, delivery: .notSent)
        if let body = Self.body(reply) {
          request.body = body
          request.multipart = nil
        }
      case .answer(let reply): return try response(reply, context, delivery: .notSent)
      case .drop, .retry: break
      }
    }
    var response: HTTPResponseMessage
    do {
      response = try await next(request)
    } catch {
      guard caller.asks(for: .failure), !(error is CancellationError), !(error is ChainRetry) else {
        throw error
      }
      return try await recovered(error, context)
    }
    guard caller.asks(for: .response) else { return response }
    var message: JSONObject = [
      "event": "response", "status": .number(JSONNumber(response.head.status.code)),
      "headers": Self.object(response.head.headerFields),
    ]
    let maxBody = caller.options.maxBody.bytes
    if maxBody > 0, !Self.arrivesInParts(response, to: request) {
      let beginning = try await response.takeBeginning(maxBody)
      message["body"] = .string(String(decoding: beginning.bytes, as: UTF8.self))
      message["body_is_whole"] = .boolean(beginning.isWhole)
    }
    guard
      case .answer(let reply) = try await caller.ask(message, context: context, delivery: .answered)
    else {
      return response
    }
    return try self.response(reply, context, delivery: .answered)
  }

  /// What the program makes of an error.
  private func recovered(
    _ error: any Error, _ context: ChainContext
  ) async throws -> HTTPResponseMessage {
    var message: JSONObject = [
      "event": "failure", "attempt": .number(JSONNumber(context.attempt)),
    ]
    caller.describe(error, in: &message)
    let delivery = (error as? ChainError)?.delivery ?? .unknown
    guard
      case .answer(let reply) = try await caller.ask(message, context: context, delivery: delivery)
    else {
      throw error
    }
    return try response(reply, context, delivery: delivery)
  }

  /// Whether waiting for the body would hold back events or parts.
  private static func arrivesInParts(
    _ response: HTTPResponseMessage, to request: HTTPRequestMessage
  ) -> Bool {
    // A query over WebSocket has one result.
    response.deliversResults ? request.webSocket?.isSubscription ?? true : response.isStream
  }

  private static func message(
    _ request: HTTPRequestMessage, _ context: ChainContext
  ) -> JSONObject {
    let head = request.head
    return [
      "event": "request", "method": .string(head.method.rawValue),
      "url": .string(head.origin + (head.path ?? "/")),
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
    _ reply: JSONObject, _ context: ChainContext, delivery: ChainError.Delivery
  ) throws -> HTTPResponseMessage {
    let given = reply["status"] ?? .null
    let number = given.isNull ? 200 : given.intValue
    guard let status = number, (200...999).contains(status) else {
      throw caller.failure(
        "the program answered with the status \(given), which is not valid",
        context: context, delivery: delivery)
    }
    var head = HTTPResponse(status: .init(code: status))
    head.headerFields[.contentType] = "application/json"
    try caller.set(
      &head.headerFields, to: reply, context: context, delivery: delivery, isResponse: true)
    return HTTPResponseMessage(head: head, body: HTTPBody([Self.body(reply) ?? []]))
  }

  /// The body in a reply: text as it is, another value as JSON.
  private static func body(_ reply: JSONObject) -> [UInt8]? {
    guard let body = reply["body"], !body.isNull else { return nil }
    return body.stringValue.map { Array($0.utf8) } ?? body.jsonBytes()
  }
}

extension ExecCaller {
  /// Adds an error to a message: its code, how far the request got, and the rejected response.
  func describe(_ failure: any Error, in message: inout JSONObject) {
    let error = failure as? ChainError
    message["layer"] = error.map { .string($0.layer.rawValue) } ?? .null
    message["code"] = error.map { .string($0.code.rawValue) } ?? .null
    message["message"] = .string(error?.message ?? "\(failure)")
    message["delivery"] = .string((error?.delivery ?? .unknown).rawValue)
    guard let http = error?.http else { return }
    message["status"] = .number(JSONNumber(http.status))
    message["body"] = .string(String(decoding: http.bodyPrefix, as: UTF8.self))
  }

  /// Sets the header fields of a reply; throws if one is invalid.
  ///
  /// - Parameters:
  ///   - delivery: How far the request has got.
  ///   - isResponse: Whether the fields are those of a response, whose length may be among them.
  func set(
    _ fields: inout HTTPFields, to reply: JSONObject, context: ChainContext,
    delivery: ChainError.Delivery, isResponse: Bool = false
  ) throws {
    let given = reply["headers"]?.objectValue ?? [:]
    // The fields of earlier attempts stay, so that the answers to all of them are limited, too.
    guard given.count <= HTTPFields.maxCount, fields.count <= 10 * HTTPFields.maxCount else {
      throw failure(
        "the program's answers have more than \(HTTPFields.maxCount) header fields",
        context: context, delivery: delivery)
    }
    for field in given {
      guard let name = HTTPField.Name(field.key), let value = field.value.stringValue,
        HTTPField.isValidValue(value), isResponse || !name.isOfBody
      else {
        throw failure(
          "the program's field \"\(field.key.prefix(60))\" cannot be sent: a name has letters, "
            + "digits and hyphens, a value is one line of text, and some follow from the body that is sent",
          context: context, delivery: delivery)
      }
      fields[name] = value
    }
  }
}

import HTTPTypes

/// The table of rules, by the sections of https://graphql.github.io/graphql-over-http/draft/
extension AuditRule {
  static let urlRules: [AuditRule] = [
    must(
      "schema", .url,
      rule:
        "A server MUST enable GraphQL requests to one or more GraphQL schemas.",
      from: .requests([.typename])
    ) { exchange, _ in .data(exchange) },
    unobservable(
      "schema-url", .must, in: .url,
      rule:
        "Each GraphQL schema a server provides MUST be served via one or more URLs.",
      because: "which schemas a server provides does not show from outside"),
    unobservable(
      "forbidden-status", .should, in: .url,
      rule:
        "A server MAY forbid individual requests by a client to any endpoint for any reason; "
        + "when doing so it SHOULD use the relevant 4xx or 5xx status code.",
      because: "no request of the audit was forbidden"),
    unobservable(
      "forbidden-contents", .should, in: .url,
      rule:
        "This decision SHOULD NOT be based on the contents of a well-formed GraphQL-over-HTTP "
        + "request.",
      because: "the reasons of a server do not show from outside"),
    must(
      "json", .serialization,
      rule:
        "Servers and clients MUST support JSON.",
      from: .requests([.typename])
    ) { exchange, _ in
      Verdict(exchange.response != nil, otherwise: exchange.malformation)
    },
    must(
      "utf-8", .mediaTypes,
      rule:
        "If the media type in a Content-Type or Accept header does not include encoding "
        + "information and matches one of the officially recognized GraphQL media types, then "
        + "utf-8 MUST be assumed.",
      from: .requests([.typename, .wrongVariable])
    ) { exchange, _ in
      guard exchange.charset == nil, ProbeAnswer.officialTypes.contains(exchange.mediaType) else {
        return .open("the response names its encoding, or has another media type")
      }
      return Verdict(exchange.isUTF8, otherwise: "the response is not UTF-8")
    },
  ]

  static let requestRules: [AuditRule] = [
    must(
      "post", .request,
      rule:
        "A server MUST accept POST requests, and MAY accept other HTTP methods, such as GET.",
      from: .requests([.typename])
    ) { exchange, _ in .data(exchange) }
  ]

  static let getRules: [AuditRule] = [
    must(
      "get-parameters", .get,
      rule:
        "For HTTP GET requests, the GraphQL-over-HTTP request parameters MUST be provided in "
        + "the query component of the request URL, encoded in the "
        + "application/x-www-form-urlencoded format; variables and extensions MUST be encoded "
        + "as a JSON string.",
      from: .requests([.getWithParameters])
    ) { exchange, audit in .get(audit) { onlyB(exchange) } },
    must(
      "get-empty", .get,
      rule:
        "Specifying the empty string for optional request parameters is equivalent to not "
        + "specifying them at all.",
      from: .requests([.get, .getWithEmpty])
    ) { exchange, audit in .get(audit) { .data(exchange) } },
    must(
      "get-mutation", .get,
      rule:
        "GET requests MUST NOT be used for executing mutation operations. If the values of "
        + "query and operationName indicate that a mutation operation is to be executed, the "
        + "server MUST respond with an appropriate 4xx status code and halt execution.",
      from: .requests([.getMutation, .getNamedMutation])
    ) { exchange, audit in
      guard !exchange.hasData else { return .broken("the mutation is executed") }
      return .refusedMutation(exchange, audit) { .statusClass(4, exchange) }
    },
  ]

  static let postRules: [AuditRule] = [
    must(
      "post-json", .post,
      rule:
        "A server MUST support POST requests encoded with the application/json media type (as "
        + "indicated by the Content-Type header) encoded with UTF-8.",
      from: .requests([.withCharset])
    ) { exchange, _ in .data(exchange) },
    must(
      "post-utf-8", .post,
      rule:
        "For POST requests using an officially recognized GraphQL Content-Type without "
        + "indicating an encoding, the server MUST assume the encoding is utf-8.",
      from: .requests([.wide, .wrongVariable])
    ) { exchange, _ in
      guard exchange.request == .wrongVariable else { return .data(exchange) }
      let message = exchange.errorMessage ?? ""
      if message.contains(ProbeRequest.wideText) { return .kept }
      // What the bytes of the first character are in Latin-1.
      return message.contains("Ã¤")
        ? .broken("\(ProbeRequest.wideText) comes back in another encoding")
        : .open("the error does not repeat the text")
    },
    should(
      "post-without-type", .post,
      rule:
        "If the client does not supply a Content-Type header with a POST request, the server "
        + "SHOULD reject the request using the appropriate 4xx status code.",
      from: .requests([.withoutType])
    ) { exchange, _ in .statusClass(4, exchange) },
    must(
      "additional-properties", .jsonEncoding,
      rule:
        "Servers receiving a request with additional properties MUST ignore properties they "
        + "do not understand.",
      from: .requests([.additional])
    ) { exchange, _ in .data(exchange) },
    must(
      "null-parameters", .jsonEncoding,
      rule:
        "Specifying null for optional request parameters is equivalent to not specifying them "
        + "at all.",
      from: .requests([.nulls])
    ) { exchange, _ in .data(exchange) },
  ]

  static let responseRules: [AuditRule] = [
    must(
      "response", .response,
      rule:
        "When a server receives a well-formed GraphQL-over-HTTP request, it must return a "
        + "well-formed GraphQL response.",
      from: .requests([
        .parameters, .syntaxError, .unknownField, .ambiguous, .withoutVariable,
      ])
    ) { exchange, _ in
      if exchange.request == .parameters { return onlyB(exchange) }
      guard let response = exchange.response else { return .broken(exchange.malformation) }
      // https://spec.graphql.org/September2026/#sec-Request-Error-Result
      return Verdict(
        !response.hasDataEntry, otherwise: "the response to an invalid request has \"data\"")
    },
    must(
      "rfc-9110", .response,
      rule:
        "A server must comply with IETF RFC 9110.",
      from: .everyAnswer(otherwise: "no response has the status 401 or 405")
    ) { exchange, _ in
      switch exchange.status {
      case 401:
        Verdict(
          exchange.answer?.fields[.wwwAuthenticate] != nil,
          otherwise: "the status is 401, without the header WWW-Authenticate (RFC 9110, 15.5.2)")
      case 405:
        Verdict(
          exchange.answer?.fields[.allow] != nil,
          otherwise: "the status is 405, without the header Allow (RFC 9110, 15.5.6)")
      default: .open("another status")
      }
    },
  ]

  /// The data of ``ProbeRequest/parameters``.
  private static func onlyB(_ exchange: AuditExchange) -> Verdict {
    guard case .kept = Verdict.data(exchange) else { return .data(exchange) }
    let members = exchange.response?.dataKeys ?? []
    return Verdict(
      members == ["b"],
      otherwise: "the operation B with its variable selects b, found \(members)")
  }

  static let bodyRules: [AuditRule] = [
    must(
      "body", .body,
      rule:
        "The body of the server's response MUST follow the requirements for a GraphQL "
        + "response, encoded directly in the chosen media type.",
      from: .everyAnswer(otherwise: "no response has a status of 200 to 299")
    ) { exchange, audit in
      guard audit.isGraphQL(exchange.request) else { return .noGraphQL }
      return (200...299).contains(exchange.status)
        ? Verdict(exchange.response != nil, otherwise: exchange.malformation)
        : .open("another status")
    },
    must(
      "content-type", .body,
      rule:
        "A server MUST indicate the media type of the response with a Content-Type header.",
      from: .everyAnswer(otherwise: "no response has a body")
    ) { exchange, _ in
      exchange.answer?.body.isEmpty ?? true
        ? .open("no body")
        : Verdict(!exchange.mediaType.isEmpty, otherwise: "there is no Content-Type")
    },
    should(
      "charset", .body,
      rule:
        "A server SHOULD indicate the encoding (e.g. application/graphql-response+json; "
        + "charset=utf-8).",
      from: .everyAnswer(otherwise: "no response is one of GraphQL")
    ) { exchange, _ in
      exchange.response == nil
        ? .open("no GraphQL response")
        : Verdict(exchange.charset != nil, otherwise: "Content-Type has no charset")
    },
    must(
      "graphql-response", .body,
      rule:
        "A server MUST support responses using the application/graphql-response+json media "
        + "type.",
      from: .requests([.acceptsGraphQL])
    ) { exchange, _ in
      !exchange.hasData
        ? .data(exchange)
        : Verdict(exchange.isLabelled, otherwise: "the media type is \(exchange.shownType)")
    },
    must(
      "accept", .body,
      rule:
        "If an Accept header is provided, the server MUST respect the given Accept header and "
        + "attempt to encode the response in the highest priority media type listed that is "
        + "supported by the server.",
      from: .requests([.typename, .prefersJSON])
    ) { exchange, audit in
      let isJSON = exchange.request == .prefersJSON
      let wanted = isJSON ? "application/json" : ProbeAnswer.graphQLType
      // Whether the type is supported shows where it is the only one.
      guard audit[isJSON ? .acceptsJSON : .acceptsGraphQL]?.mediaType == wanted else {
        return .open("the server does not support \(wanted)")
      }
      return Verdict(
        exchange.mediaType == wanted,
        otherwise: "the media type is \(exchange.shownType), and \(wanted) is supported")
    },
    must(
      "accept-none", .body,
      rule:
        "When the request includes an Accept header and no supported media type is acceptable "
        + "according to that header, the server MUST either respond with a 406 Not Acceptable "
        + "status code and stop processing the request, or disregard the Accept header and "
        + "respond with the server's choice of media type.",
      from: .requests([.acceptsNothing])
    ) { exchange, _ in
      exchange.status == 406
        ? Verdict(!exchange.hasData, otherwise: "the status is 406, and the request is executed")
        : .data(exchange)
    },
    should(
      "accept-json", .body,
      rule:
        "If the Accept header does not indicate support for one of the server's preferred "
        + "media types but does indicate support for application/json, the request SHOULD be "
        + "performed as if the request had specified Accept: application/graphql-response+json, "
        + "except any response that produces a 2xx status code should replace the Content-Type "
        + "header with Content-Type: application/json.",
      from: .requests([.acceptsJSON, .unknownFieldAsJSON])
    ) { exchange, audit in legacy(exchange, audit) },
    should(
      "accept-406", .body,
      rule:
        "If the Accept header is present but does not indicate support for any of the "
        + "server's supported media types or application/json, the server SHOULD respond with "
        + "406 Not Acceptable.",
      from: .requests([.acceptsNothing])
    ) { exchange, _ in .status(406, exchange) },
  ]

  private static func legacy(_ exchange: AuditExchange, _ audit: Audit) -> Verdict {
    let isQuery = exchange.request == .acceptsJSON
    guard let model = audit[isQuery ? .acceptsGraphQL : .unknownField] else {
      return .open("not asked")
    }
    guard model.answer != nil else {
      return .open("the same request is not answered where \(ProbeAnswer.graphQLType) is accepted")
    }
    guard audit[.acceptsGraphQL]?.isLabelled == true else {
      return .open("the server does not support \(ProbeAnswer.graphQLType)")
    }
    guard exchange.status == model.status else {
      return .broken(
        "the status is \(exchange.status), and \(model.status) where \(ProbeAnswer.graphQLType) is "
          + "accepted")
    }
    let wanted =
      (200...299).contains(exchange.status) ? "application/json" : ProbeAnswer.graphQLType
    return Verdict(
      exchange.mediaType == wanted,
      otherwise: "the media type is \(exchange.shownType), not \(wanted)")
  }

  static let validationRules: [AuditRule] = [
    should(
      "validation", .validation,
      rule:
        "Validation of a well-formed GraphQL-over-HTTP request SHOULD apply all the "
        + "validation rules specified by the GraphQL specification.",
      from: .requests(ProbeRequest.invalidDocuments)
    ) { exchange, _ in
      guard !exchange.hasData else { return .broken("the invalid document is executed") }
      return Verdict(exchange.hasErrors, otherwise: exchange.malformation)
    }
  ]
}

// MARK: Status codes

extension AuditRule {
  static let statusRules: [AuditRule] = [
    should(
      "no-response-status", .statusCodes,
      rule:
        "In case of errors that completely prevent the generation of a well-formed GraphQL "
        + "response, the server SHOULD respond with the appropriate HTTP 4xx or 5xx status code "
        + "depending on the concrete error condition.",
      from: .everyAnswer(otherwise: "every response is a GraphQL response")
    ) { exchange, audit in
      guard audit.isGraphQL(exchange.request) else { return .noGraphQL }
      return exchange.response == nil
        ? Verdict(
          exchange.status >= 400,
          otherwise: "the status is \(exchange.status): \(exchange.malformation)")
        : .open("a GraphQL response")
    },
    must(
      "no-response-type", .statusCodes,
      rule:
        "In case of errors that completely prevent the generation of a well-formed GraphQL "
        + "response, the server MUST NOT use the application/graphql-response+json media type.",
      from: .everyAnswer(otherwise: "every response is a GraphQL response")
    ) { exchange, audit in
      guard audit.isGraphQL(exchange.request) else { return .noGraphQL }
      return exchange.response == nil
        ? Verdict(!exchange.isLabelled, otherwise: exchange.malformation)
        : .open("a GraphQL response")
    },
    must(
      "data-2xx", .statusCodes,
      rule:
        "If the GraphQL response contains the data entry and it is not null, then the server "
        + "MUST reply with a 2xx status code.",
      from: .everyAnswer(otherwise: "no response has data")
    ) { exchange, _ in
      !exchange.hasData ? .open("no data") : .statusClass(2, exchange)
    },
    should(
      "data-200", .statusCodes,
      rule:
        "If the GraphQL response contains the data entry and does not contain the errors "
        + "entry, then the server SHOULD reply with a 200 status code.",
      from: .everyAnswer(otherwise: "no response has data without errors")
    ) { exchange, _ in
      !exchange.hasData || exchange.hasErrors
        ? .open("no data, or errors")
        : Verdict(
          exchange.status == 200, otherwise: "the status is \(exchange.status), not 200")
    },
    should(
      "partial-294", .statusCodes,
      rule:
        "If the GraphQL response contains both the data entry (even if it is null) and the "
        + "errors entry, then the server SHOULD reply with a 294 status code.",
      from: .everyAnswer(otherwise: "no response has both data and errors")
    ) { exchange, _ in
      // The status is for the media type of GraphQL responses. Where data is null, a request error has the
      // entry, which is a breach of the rule `response`: nothing was executed.
      !exchange.hasData || !exchange.hasErrors || exchange.isLegacy
        ? .open("not both")
        : Verdict(
          exchange.status == 294, otherwise: "the status is \(exchange.status), not 294")
    },
    must(
      "no-data-4xx", .statusCodes,
      rule:
        "If the GraphQL response does not contain the data entry then the server MUST reply "
        + "with an appropriate 4xx or 5xx status code.",
      from: .everyAnswer(otherwise: "every response has data")
    ) { exchange, _ in
      guard let response = exchange.response, !response.hasDataEntry, !exchange.isLegacy else {
        return .open("data, or a legacy client")
      }
      return Verdict(
        (400...599).contains(exchange.status),
        otherwise: "the status is \(exchange.status), not 4xx or 5xx")
    },
    should(
      "request-4xx", .statusCodes,
      rule:
        "If the failure is due to an issue in the request itself, the appropriate 4xx status "
        + "code should be used.",
      from: .requests(
        [.nonsense, .endlessJSON, .syntaxError, .unknownField, .ambiguous, .withoutVariable]
          + ProbeRequest.illFormed)
    ) { exchange, _ in
      !exchange.hasData ? .statusClass(4, exchange) : .open("the request did not fail")
    },
  ]

  static let requestStatusRules: [AuditRule] = [
    should(
      "mutation-405", .statusCodes,
      rule:
        "If a mutation is attempted via the GET verb, status code 405 SHOULD be used.",
      from: .requests([.getMutation, .getNamedMutation])
    ) { exchange, audit in
      .refusedMutation(exchange, audit) { .status(405, exchange) }
    },
    should(
      "method-405", .statusCodes,
      rule:
        "If the request uses an unsupported HTTP method, status code 405 SHOULD be used.",
      from: .requests([.unsupportedMethod])
    ) { exchange, _ in .status(405, exchange) },
    should(
      "content-type-415", .statusCodes,
      rule:
        "If the Content-Type of the request is not supported, status code 415 SHOULD be used.",
      from: .requests([.withUnknownType])
    ) { exchange, _ in .status(415, exchange) },
    unobservable(
      "timeout-408", .should, in: .statusCodes,
      rule:
        "If the client did not produce a request within the time that the server was prepared "
        + "to wait, status code 408 SHOULD be used.",
      because: "the audit would have to wait as long as the server does"),
    should(
      "url-414", .statusCodes,
      rule:
        "If the size of the URI was too large, status code 414 SHOULD be used.",
      from: .requests([.largeURL])
    ) { exchange, audit in
      .get(audit) { .limit(414, exchange, size: "a URL of \(ProbeRequest.largeHead >> 10) KiB") }
    },
    should(
      "header-431", .statusCodes,
      rule:
        "If the size of the request headers (or any one header) was too large, status code "
        + "431 SHOULD be used.",
      from: .requests([.largeField])
    ) { exchange, _ in
      .limit(431, exchange, size: "a header field of \(ProbeRequest.largeHead >> 10) KiB")
    },
    should(
      "body-413", .statusCodes,
      rule:
        "If the size of the POST request body was too large, status code 413 SHOULD be used.",
      from: .requests([.largePOST])
    ) { exchange, _ in
      .limit(413, exchange, size: "a body of \(ProbeRequest.largeBody >> 20) MiB")
    },
    should(
      "json-400", .statusCodes,
      rule:
        "If the JSON body of the request could not be parsed, status code 400 SHOULD be used.",
      from: .requests([.nonsense, .endlessJSON])
    ) { exchange, _ in .status(400, exchange) },
    should(
      "request-422", .statusCodes,
      rule:
        "If the request is not a well-formed GraphQL-over-HTTP request, status code 422 "
        + "SHOULD be used.",
      from: .requests(ProbeRequest.illFormed)
    ) { exchange, _ in .status(422, exchange) },
    should(
      "document-400", .statusCodes,
      rule:
        "If the GraphQL document in the request cannot be parsed, status code 400 SHOULD be "
        + "used.",
      from: .requests([.syntaxError])
    ) { exchange, _ in .status(400, exchange) },
    should(
      "validation-422", .statusCodes,
      rule:
        "If the request does not pass GraphQL validation, status code 422 SHOULD be used.",
      from: .requests([.unknownField])
    ) { exchange, _ in .status(422, exchange) },
    should(
      "operation-422", .statusCodes,
      rule:
        "If the operation to execute cannot be unambiguously determined, status code 422 "
        + "SHOULD be used.",
      from: .requests([.ambiguous, .unknownOperation])
    ) { exchange, _ in .status(422, exchange) },
    should(
      "variables-422", .statusCodes,
      rule:
        "If the variable values cannot be coerced to match the operation's variable "
        + "definitions, status code 422 SHOULD be used.",
      from: .requests([.withoutVariable, .wrongVariable])
    ) { exchange, _ in .status(422, exchange) },
    unobservable(
      "permission-401", .should, in: .statusCodes,
      rule:
        "If the client is not permitted to issue the GraphQL request, then the server SHOULD "
        + "reply with 401, 403 or similar appropriate status code.",
      because: "no request of the audit was forbidden"),
    unobservable(
      "teapot-418", .should, in: .statusCodes,
      rule:
        "If the server cannot process the request due to being a short and stout ceramic "
        + "vessel, status code 418 SHOULD be used.",
      because: "the server processes requests"),
  ]

  static let serverStatusRules: [AuditRule] = [
    unobservable(
      "server-5xx", .should, in: .statusCodes,
      rule:
        "When the server is the reason for failure, the appropriate 5xx status code should be "
        + "used.",
      because: "the audit causes no failure of the server"),
    unobservable(
      "server-503", .should, in: .statusCodes,
      rule:
        "If the server is not able to execute requests at this time due to maintenance or "
        + "load-shedding, then status code 503 SHOULD be used.",
      because: "the audit causes no failure of the server"),
  ]
}

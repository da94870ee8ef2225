import GQLRunJSON
import HTTPTypes

/// The requests of an audit. The queries select `__typename` and introspection only, so that no resolver of a schema is
/// executed; the mutations select `__typename` only, and are sent by GET. They change nothing even where a server
/// executes them.
extension ProbeRequest {
  static let typename = ProbeRequest(Examination.typename)

  // MARK: Media types

  static let acceptsGraphQL = ProbeRequest(Examination.typename, accept: ProbeAnswer.graphQLType)
  /// As of a legacy client.
  static let acceptsJSON = ProbeRequest(Examination.typename, accept: "application/json")
  static let prefersJSON = ProbeRequest(
    Examination.typename, accept: "application/json, \(ProbeAnswer.graphQLType);q=0.5")
  static let acceptsNothing = ProbeRequest(Examination.typename, accept: unknownType)
  static let withCharset = typename.labelled("application/json; charset=utf-8")
  static let withoutType = typename.labelled(nil)
  static let withUnknownType = typename.labelled(unknownType)
  /// No server supports it.
  private static let unknownType = "text/x-gqlrun-audit"

  private func labelled(_ contentType: String?) -> ProbeRequest {
    var request = self
    request.contentType = contentType
    return request
  }

  // MARK: Parameters

  /// Text of two, three and four bytes in UTF-8.
  static let wideText = "ä€😀"
  static let wide = ProbeRequest("{ __typename } # \(wideText)")
  static let additional = ProbeRequest(
    body: ["query": .string(Examination.typename), "gqlrunAudit": true])
  static let nulls = ProbeRequest(
    body: [
      "query": .string(Examination.typename), "operationName": .null, "variables": .null,
      "extensions": .null,
    ])
  /// Its data has the member `b` only.
  private static let twoOperations =
    "query A { a: __typename } query B($yes: Boolean!) "
    + "{ b: __typename @include(if: $yes) c: __typename @skip(if: $yes) }"
  static let parameters = ProbeRequest(
    body: [
      "query": .string(twoOperations), "operationName": "B", "variables": ["yes": true],
      "extensions": [:],
    ])
  static let get = byGET(["query": Examination.typename])
  static let getWithEmpty = byGET([
    "query": Examination.typename, "operationName": "", "variables": "", "extensions": "",
  ])
  /// With `+` for a space, as `URLSearchParams` of browsers encodes it.
  static let getWithParameters = {
    var request = byGET([
      "query": twoOperations, "operationName": "B", "variables": #"{"yes":true}"#,
      "extensions": "{}",
    ])
    request.query = request.query?.replacing("%20", with: "+")
    return request
  }()

  // MARK: Requests to refuse

  static let getMutation = byGET(["query": "mutation { __typename }"])
  static let getNamedMutation = byGET([
    "query": "query A { __typename } mutation B { __typename }", "operationName": "B",
  ])
  /// A safe method of WebDAV: RFC 9110 has no safe one that GraphQL servers do not answer.
  static let unsupportedMethod = {
    var request = ProbeRequest(body: [])
    request.method = HTTPRequest.Method("PROPFIND") ?? .options
    return request
  }()
  static let nonsense = raw("NONSENSE")
  static let endlessJSON = raw(#"{"query":"#)
  static let misspelled = ProbeRequest(body: ["qeury": .string(Examination.typename)])
  static let listAsVariables = ProbeRequest(
    body: ["query": .string(Examination.typename), "variables": [7]])
  static let numberAsQuery = ProbeRequest(body: ["query": 7])
  static let numberAsName = ProbeRequest(
    body: ["query": .string(Examination.typename), "operationName": 7])
  static let textAsExtensions = ProbeRequest(
    body: ["query": .string(Examination.typename), "extensions": "x"])
  static let syntaxError = ProbeRequest("{")
  static let unknownField = ProbeRequest(unknownFieldDocument)
  static let unknownFieldAsJSON = ProbeRequest(unknownFieldDocument, accept: "application/json")
  private static let unknownFieldDocument = "{ gqlrunAudit }"
  static let ambiguous = ProbeRequest("query A { __typename } query B { __typename }")
  static let unknownOperation = ProbeRequest(
    body: ["query": "query A { __typename }", "operationName": "B"])
  private static let needsVariable = "query ($a: Boolean!) { __typename @include(if: $a) }"
  static let withoutVariable = ProbeRequest(needsVariable)
  static let wrongVariable = ProbeRequest(
    body: ["query": .string(needsVariable), "variables": ["a": .string(wideText)]])

  /// Requests that are not well-formed.
  static let illFormed = [
    misspelled, listAsVariables, numberAsQuery, numberAsName, textAsExtensions,
  ]

  private static func raw(_ body: String) -> ProbeRequest {
    var request = ProbeRequest(body: [])
    request.body = Array(body.utf8)
    return request
  }

  // MARK: Limits

  /// The size of a URL and of a header field that is too large for many servers, and that of a body, in bytes.
  static let (largeHead, largeBody) = (32 << 10, 1 << 20)

  /// Whether the request may be too large for a server.
  var isLarge: Bool { self == Self.largeURL || self == Self.largeField || self == Self.largePOST }

  static let largeURL = byGET(["query": commented(largeHead)])
  static let largeField = {
    var request = typename
    if let name = HTTPField.Name("X-Gqlrun-Audit") {
      request.fields[name] = String(repeating: "x", count: largeHead)
    }
    return request
  }()
  static let largePOST = ProbeRequest(commented(largeBody))

  private static func commented(_ size: Int) -> String {
    "\(Examination.typename)#\(String(repeating: "x", count: size))"
  }

  // MARK: Documents to refuse

  /// Documents that each break a validation rule, as far as that is possible without knowing the schema: with names that
  /// no schema has, and with the types of introspection.
  ///
  /// https://spec.graphql.org/September2026/#sec-Validation
  static let invalidDocuments = [
    // 5.1.1 Executable definitions, 5.2 operations
    ProbeRequest("{ __typename } type A { a: Int }"),
    ProbeRequest(
      body: ["query": "query A { __typename } query A { __typename }", "operationName": "A"]),
    ProbeRequest(
      body: ["query": "{ __typename } query A { __typename }", "operationName": "A"]),
    // 5.3 Fields: selections, merging, leaves
    unknownField,
    ProbeRequest("{ a: __typename ... { a: __schema { __typename } } }"),
    ProbeRequest("{ __typename { a } }"),
    // 5.4 Arguments: names, uniqueness, required ones
    ProbeRequest("{ __typename @include(if: true, gqlrunAudit: 1) }"),
    ProbeRequest("{ __typename @include(if: true, if: true) }"),
    ProbeRequest("{ __typename @include }"),
    // 5.5 Fragments: targets, types, uses, circles
    ProbeRequest("{ ...GqlrunAudit }"),
    ProbeRequest("{ ... on GqlrunAudit { __typename } }"),
    ProbeRequest("{ __typename } fragment A on __Type { name }"),
    ProbeRequest(
      "{ __schema { queryType { ...A } } } fragment A on __Type { ofType { ...A } }"),
    // 5.6 Values
    ProbeRequest("{ __typename @include(if: \"x\") }"),
    // 5.7 Directives: definitions, locations, uniqueness
    ProbeRequest("{ __typename @gqlrunAudit }"),
    ProbeRequest("query @include(if: true) { __typename }"),
    ProbeRequest("{ __typename @skip(if: false) @skip(if: false) }"),
    // 5.8 Variables: uniqueness, input types, definitions, uses, positions
    ProbeRequest(
      body: [
        "query":
          "query ($a: Boolean!, $a: Boolean!) { __typename @include(if: $a) }",
        "variables": ["a": true],
      ]),
    ProbeRequest("{ __typename @include(if: $a) }"),
    ProbeRequest("query ($a: Int) { __typename }"),
    ProbeRequest("query ($a: __Type) { __typename @include(if: $a) }"),
    ProbeRequest(
      body: [
        "query": "query ($a: Boolean) { __typename @include(if: $a) }", "variables": ["a": true],
      ]),
  ]
}

import GQLRunJSON

extension ChainError {
  /// The error, with locations in the document that the caller wrote.
  ///
  /// If the body was kept whole and is a GraphQL response, its locations are rewritten, and so is
  /// the line that the message quotes. Any other body stays as the server sent it.
  func located(in request: GraphQLRequest) -> ChainError {
    guard let prefix = http?.bodyPrefix, let operation = request.operation,
      case .object(var body)? = try? JSONValue(parsing: prefix),
      let errors = body["errors"]?.arrayValue
    else { return self }
    let located = errors.map { error -> JSONValue in
      guard case .object(var object) = error else { return error }
      let locations = GraphQLError(error).located(in: operation, sentBy: request).locations
      if !locations.isEmpty { object["locations"] = GraphQLError.json(locations) }
      return .object(object)
    }
    guard located != errors else { return self }
    body["errors"] = .array(located)
    let text = JSONValue.object(body).jsonText()
    var error = self
    error.http?.bodyPrefix = Array(text.utf8)
    error.message = message.replacing(Self.quoted(of: prefix), with: text.prefix(200))
    return error
  }

  /// The part of a body that messages quote: its first line that is not empty.
  static func quoted(of body: [UInt8]) -> Substring {
    let text = String(decoding: body, as: UTF8.self)
    return text.split(whereSeparator: \.isNewline).first { !$0.allSatisfy(\.isWhitespace) }?
      .prefix(200) ?? ""
  }
}

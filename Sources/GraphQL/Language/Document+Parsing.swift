extension Document {
  /// Parses a GraphQL document: operations, fragments, type system definitions and extensions.
  ///
  /// Accepts the full grammar of the September 2025 specification, in linear time.
  ///
  /// - Throws: ``GraphQLSyntaxError`` with the location of the first error.
  public init(
    parsing source: String, options: ParseOptions = ParseOptions()
  ) throws(GraphQLSyntaxError) {
    self = try Parser.parse(Array(source.utf8), options) { parser throws(GraphQLSyntaxError) in
      try parser.document()
    }
  }

  /// Parses a GraphQL document in UTF-8, with or without a byte order mark.
  ///
  /// - Throws: ``GraphQLSyntaxError`` with the location of the first error; invalid UTF-8 is one.
  public init(
    parsingUTF8 bytes: [UInt8], options: ParseOptions = ParseOptions()
  ) throws(GraphQLSyntaxError) {
    try Parser.requireUTF8(bytes)
    self = try Parser.parse(bytes, options) { parser throws(GraphQLSyntaxError) in
      try parser.document()
    }
  }
}

extension Value {
  /// Parses a single input value, such as `{name: "x", tags: [A, B]}`. Variables are allowed.
  ///
  /// - Throws: ``GraphQLSyntaxError`` with the location of the first error.
  public init(
    parsing source: String, options: ParseOptions = ParseOptions()
  ) throws(GraphQLSyntaxError) {
    self = try Parser.parse(Array(source.utf8), options) { parser throws(GraphQLSyntaxError) in
      try parser.value(isConstant: false)
    }
  }
}

extension TypeReference {
  /// Parses a single type reference, such as `[String!]!`.
  ///
  /// - Throws: ``GraphQLSyntaxError`` with the location of the first error.
  public init(
    parsing source: String, options: ParseOptions = ParseOptions()
  ) throws(GraphQLSyntaxError) {
    self = try Parser.parse(Array(source.utf8), options) { parser throws(GraphQLSyntaxError) in
      try parser.typeReference()
    }
  }
}

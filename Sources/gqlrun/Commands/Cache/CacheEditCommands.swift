import ArgumentParser
import GQLRunCache
import GQLRunJSON
import GQLRunSupport

extension CacheCommand {
  struct Write: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "write",
      abstract: "Write the data of an operation into a cache, like a response of the server.",
      discussion: """
        The data is complete for the operation, with __typename and key fields; an object with the only \
        member data is taken as a response. Nothing is written if a field is missing or not selected. \
        import reads responses of servers, of any size and with errors.

        EXAMPLE
          echo '{"countries": []}' | \\
            gqlrun cache write '{ countries { code } }' - --store sqlite:cache.db
        """)

    @Argument(help: "GraphQL document of the operation: a file, - or its text.")
    var document: String
    @Argument(help: "Data, a JSON file; - is standard input.")
    var data: String
    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var operationOptions: OperationOptions
    @OptionGroup var rules: CacheRules

    func run() async throws {
      if case .memory = storeOptions.store {
        throw Failure(
          .usage,
          "the memory store ends with the command; name the cache with --store sqlite:PATH")
      }
      let operation = try operationOptions.prepare(
        DocumentSource(document), pipeline: rules.load().pipeline, others: [data])
      var value = try Input.json(data, "the data")
      if let object = value.objectValue, object.count == 1, let inner = object["data"],
        inner.objectValue != nil
      {
        value = inner
      }
      let store = try await storeOptions.store.open()
      try await store.adopt(keyResolver: nil)
      try await Interruption.run { [value] in
        try await store.transaction { try await $0.write(value, for: operation) }
      }
      try await store.checkpoint()
      try store.close()
      Terminal.note("wrote the data of \(Terminal.safe(operation.label))")
    }
  }

  struct Update: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "update",
      abstract: "Change the data of an operation in a cache with a jq expression.",
      discussion: """
        Reads the data, with __typename and key fields, passes it through the expression, and writes its \
        result, in one transaction. Without a schema, the document selects the key fields. Exit code 3 if the \
        cache does not have all of the data.

        EXAMPLE
          gqlrun cache update country.graphql --var code=DE --keys Country=code \\
            --store sqlite:cache.db --jq '.country.name |= ascii_upcase'
        """)

    @Argument(help: "GraphQL document of the operation: a file, - or its text.")
    var document: String
    @Option(
      help: ArgumentHelp("Expression that returns the changed data.", valueName: "expression"))
    var jq: String
    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var operationOptions: OperationOptions
    @OptionGroup var rules: CacheRules

    func run() async throws {
      let filter = try JQFilter(jq, isRaw: false)
      let operation = try operationOptions.prepare(
        DocumentSource(document), pipeline: rules.load().pipeline)
      let store = try await storeOptions.openExisting()
      try await store.adopt(keyResolver: nil)
      try await Interruption.run {
        try await store.transaction { transaction in
          try await transaction.update(operation) { $0 = try filter.onlyOutput(of: $0) }
        }
      }
      try await store.checkpoint()
      try store.close()
      Terminal.note("updated the data of \(Terminal.safe(operation.label))")
    }
  }
}

extension JQFilter {
  /// The one output of the expression for a value.
  ///
  /// jq 1.6 rounds numbers to `Double`. Those of the value have their text in the output, as jq 1.7 leaves it.
  ///
  /// - Throws: ``Failure`` if the expression fails, or has no output or several, or if jq may not tell two numbers apart.
  fileprivate func onlyOutput(of value: JSONValue) throws -> JSONValue {
    var exact: [Double: JSONNumber] = [:]
    _ = try value.mapNumbers { number in
      guard let rounded = number.doubleValue else { return number }
      let other = exact.updateValue(number, forKey: rounded)
      if let other, other != number, other.isRounded || number.isRounded {
        throw Failure(
          .badInput,
          "the data has the numbers \(other) and \(number), which are equal for jq; select only one of them"
        )
      }
      return number
    }
    try value.jsonBytes().withUnsafeBytes { try add($0) }
    var outputs: [JSONValue] = []
    try forEachOutput { output in
      switch output {
      case .json(let text): outputs.append(try JSONValue(parsing: text))
      case .text(let text): outputs.append(.string(text))
      }
    }
    guard outputs.count == 1 else {
      throw Failure(
        .filterFailed,
        "--jq returned \(Quantity.count(outputs.count, "value")); return the changed data, as in "
          + "'.country.name = \"Germany\"'")
    }
    return outputs[0].mapNumbers { number in
      number.doubleValue.flatMap { exact[$0] }.flatMap { $0.isRounded ? $0 : nil } ?? number
    }
  }
}

extension JSONNumber {
  /// Whether a `Double` may have other digits: it has up to 15 digits of every number.
  fileprivate var isRounded: Bool { text.utf8.count > 15 }
}

extension JSONValue {
  /// The value with other numbers.
  fileprivate func mapNumbers(_ body: (JSONNumber) throws -> JSONNumber) rethrows -> JSONValue {
    switch self {
    case .number(let number): return .number(try body(number))
    case .array(let elements): return .array(try elements.map { try $0.mapNumbers(body) })
    case .object(var object):
      for member in object.members {
        object[member.key] = try member.value.mapNumbers(body)
      }
      return .object(object)
    case .null, .boolean, .string: return self
    }
  }
}

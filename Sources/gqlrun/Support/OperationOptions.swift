import ArgumentParser
import Cache
import GraphQL
import JSONStream

/// Which operation of a document, with which variables, and what identifies its objects.
struct OperationOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp("The operation to use, when the document has several.", valueName: "name"))
  var operation: String?

  @Option(
    name: .long,
    help: ArgumentHelp("A JSON file with the variables; - is standard input.", valueName: "file"))
  var variables: String?

  @Option(
    name: .customLong("var"),
    help: ArgumentHelp(
      "One variable as JSON; wins over the file. May be repeated.", valueName: "name=JSON"))
  var assignments: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The fields that identify a type, instead of id. May be repeated.",
      valueName: "Type=field,field"))
  var keys: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The schema (SDL); with it identifying fields are added wherever a type has them.",
      valueName: "file"))
  var schema: String?

  /// The variables given, whatever the operation declares.
  func givenVariables() throws -> JSONObject {
    var result = JSONObject()
    if let variables {
      guard case .object(let object) = try Input.json(variables, "the variables file") else {
        throw Failure(
          .badInput,
          "\(Input.label(variables)): the variables are no JSON object; write one such as "
            + #"{"code": "DE"}"#)
      }
      result = object
    }
    for assignment in assignments {
      let parts = assignment.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else {
        throw Failure(
          .usage, "cannot read --var \(assignment); write --var name=JSON, such as --var first=10")
      }
      // A $ before the name is how the document writes it.
      let name = String(parts[0].hasPrefix("$") ? parts[0].dropFirst() : parts[0])
      do {
        result[name] = try JSONValue(parsing: String(parts[1]))
      } catch {
        throw Failure(
          .badInput,
          "the value of --var \(name) is not JSON: \(error.message)" + Self.hint(name, parts[1]))
      }
    }
    return result
  }

  /// What the writer of a value that is not JSON most likely meant: a string.
  private static func hint(_ name: String, _ value: Substring) -> String {
    guard !value.contains(where: { "\"'{}[]".contains($0) }) else { return "" }
    return "; a string needs quotes: --var '\(name)=\"\(value)\"'"
  }

  func keyRules(_ base: KeyRules = KeyRules()) throws -> KeyRules {
    var rules = base
    for rule in keys {
      do {
        try rules.add(rule: rule)
      } catch {
        throw Failure(.usage, "--keys: \(error)")
      }
    }
    return rules
  }

  private func facts(_ path: String?) throws -> TypeFacts? {
    guard let path = schema ?? path else { return nil }
    let bytes = try Input.bytes(path, "the schema")
    let document = try Input.document(bytes, path)
    do {
      return TypeFacts(try Schema(sdl: document))
    } catch {
      throw Failure(.badInput, "\(Input.label(path)): the schema cannot be used: \(error)")
    }
  }

  /// The operation of the document at `path`, ready to be run.
  ///
  /// - Parameter others: The other files that the command reads.
  func prepare(
    _ path: String, keys base: KeyRules = KeyRules(), schema schemaPath: String? = nil,
    others: [String] = []
  ) throws -> PreparedOperation {
    guard ([path, variables, schema].compactMap { $0 } + others).count(where: { $0 == "-" }) < 2
    else {
      throw Failure(.usage, "only one file can be - (standard input); name the others")
    }
    let rules = try keyRules(base)
    let bytes = try Input.bytes(path, "the document")
    let document = try Input.document(bytes, path)
    let variables = try givenVariables()
    let facts = try facts(schemaPath)
    let name = Input.label(path)
    do {
      return try PreparedOperation(
        document: document, operationName: operation, variables: variables, keys: rules,
        facts: facts)
    } catch {
      if let location = error.location {
        throw Failure(.badInput, Input.located(error.message, at: location, in: bytes, name: name))
      }
      var failure = Failure(error)
      failure.message = "\(name): \(failure.message)"
      if operation == nil, document.operations.count > 1 { failure.message += " with --operation" }
      throw failure
    }
  }
}

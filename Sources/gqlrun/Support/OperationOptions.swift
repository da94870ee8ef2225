import ArgumentParser
import Cache
import GraphQL
import JSONStream

/// Which operation of a document, with which variables, and what identifies its objects.
struct OperationOptions: ParsableArguments {
  @Option(name: .long, help: "The operation to use, when the document has several.")
  var operation: String?

  @Option(name: .long, help: "A JSON file with the variables; - is standard input.")
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
    help: "The schema (SDL); with it identifying fields are added wherever a type has them.")
  var schema: String?

  /// The variables given, whatever the operation declares.
  func givenVariables() throws -> JSONObject {
    var result = JSONObject()
    if let variables {
      guard case .object(let object) = try Input.json(variables, "the variables file") else {
        throw Failure(
          .badInput, "the variables file \(variables) is not a JSON object, such as {\"code\": \"DE\"}")
      }
      result = object
    }
    for assignment in assignments {
      let parts = assignment.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else {
        throw Failure(
          .usage, "cannot read --var \(assignment); write --var name=JSON, such as --var first=10")
      }
      do {
        result[String(parts[0])] = try JSONValue(parsing: String(parts[1]))
      } catch {
        throw Failure(
          .badInput,
          "the value of --var \(parts[0]) is not JSON (\(error.message)); a string needs quotes: "
            + "--var '\(parts[0])=\"\(parts[1])\"'")
      }
    }
    return result
  }

  func keyRules(_ base: KeyRules = KeyRules()) throws -> KeyRules {
    var rules = base
    for rule in keys { try rules.add(rule: rule) }
    return rules
  }

  func facts(_ path: String? = nil) throws -> TypeFacts? {
    guard let path = schema ?? path else { return nil }
    let document = try Input.document(path)
    do {
      return TypeFacts(try Schema(sdl: document))
    } catch {
      throw Failure(.badInput, "the schema \(path): \(error)")
    }
  }

  /// The operation of the document at `path`, ready to be run.
  func prepare(
    _ path: String, keys base: KeyRules = KeyRules(), schema schemaPath: String? = nil
  ) throws -> PreparedOperation {
    let bytes = try Input.bytes(path, "the document")
    let name = path == "-" ? "stdin" : path
    do {
      let document = try Document(parsingUTF8: bytes)
      return try PreparedOperation(
        document: document, operationName: operation, variables: givenVariables(),
        keys: keyRules(base), facts: facts(schemaPath))
    } catch let error as GraphQLSyntaxError {
      throw Failure(.badInput, Input.located(error.message, at: error.location, in: bytes, name: name))
    } catch let error as CacheError where error.location != nil {
      throw Failure(
        .badInput,
        Input.located(
          error.message, at: error.location ?? SourceLocation(line: 1, column: 1, offset: 0),
          in: bytes, name: name))
    } catch let error as CacheError {
      var failure = Failure(error)
      failure.message = "\(name): \(failure.message)"
      throw failure
    }
  }
}

/// Where records are kept.
enum StoreChoice: Sendable, ExpressibleByArgument {
  case memory
  case sqlite(String)

  init?(argument: String) {
    if argument == "memory" {
      self = .memory
    } else if argument.hasPrefix("sqlite:"), argument.count > 7 {
      self = .sqlite(String(argument.dropFirst(7)))
    } else {
      return nil
    }
  }

  func open(mustExist: Bool = false) throws -> any RecordStore {
    switch self {
    case .memory: return MemoryStore()
    case .sqlite(let path):
      if mustExist { _ = try InputFile(path, "the cache") }
      return try SQLiteStore(path: path)
    }
  }
}

import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline

/// What the page asks in the body of a request.
struct InspectQuestion {
  /// The number of the cache or pipeline.
  var at: String?
  /// The text of a document.
  var document: String
  /// The name of the operation, if the document has several.
  var operation: String?
  var variables: JSONObject
  var policy: CachePolicy?
  /// The records to remove.
  var pattern: String?

  init(_ body: [UInt8]) throws {
    let value: JSONValue
    do { value = try JSONValue(parsing: body) } catch {
      throw Failure(
        .badInput, "the request body is not JSON at byte \(error.offset): \(error.message)")
    }
    at = value["at"]?.intValue.map { "\($0)" }
    document = value["document"]?.stringValue ?? ""
    operation = value["operation"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
    pattern = value["pattern"]?.stringValue
    let name = value["policy"]?.stringValue ?? ""
    policy = CachePolicy(name: name)
    guard name.isEmpty || policy != nil else {
      throw Failure(.usage, "there is no policy \(name)")
    }
    // The page sends the text that the user has written.
    let text = (value["variables"]?.stringValue ?? "").trimmingCharacters(
      in: .whitespacesAndNewlines)
    do {
      let given = text.isEmpty ? JSONObject() : try JSONValue(parsing: text).objectValue
      guard let given else {
        throw Failure(
          .badInput, "the variables are no JSON object; write one such as {\"code\": \"DE\"}")
      }
      variables = given
    } catch let error as JSONError {
      throw Failure(
        .badInput, "the variables are not JSON at byte \(error.offset): \(error.message)")
    }
  }

  /// Prepares the operation with key rules and a schema.
  func prepare(_ rules: KeyRules, _ schema: Schema?, isSent: Bool) throws -> PreparedOperation {
    var options = OperationOptions()
    (options.operation, options.variables) = (operation, nil)
    (options.assignments, options.fileAssignments) = ([], [])
    return try options.prepare(
      Array(document.utf8), named: "the document", rules: rules, schema: schema,
      variables: variables, isSent: isSent)
  }
}

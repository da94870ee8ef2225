import Foundation
import GQLRunJSON
public import GQLRunTyped

/// A response in a JSON file beside the tests: `{"data": {"country": …}}`.
///
/// `gqlrun run country.graphql > Fixtures/country.json` writes such a file. Use it as the data of an
/// operation, or as the response of a ``ScriptedTransport``:
///
/// ```swift
/// let data = try Fixture("country").data(of: CountryQuery(code: "PT"))
/// transport.respond(to: CountryQuery.self) { _ in .fixture(try Fixture("country")) }
/// ```
public struct Fixture: Sendable, Hashable {
  /// The path of the file.
  public let path: String
  /// The text of the file.
  public let text: String

  /// Why a fixture cannot be used.
  public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path of the file, what is wrong, and what would work.
    public var description: String
  }

  /// Reads the file `NAME.json` of a folder.
  ///
  /// - Parameters:
  ///   - name: The name of the file without its extension.
  ///   - folder: The folder, relative to that of the test; `Fixtures` by default.
  ///   - test: The path of the test's file.
  /// - Throws: ``Failure`` if the file cannot be read.
  public init(_ name: String, in folder: String = "Fixtures", test: String = #filePath) throws {
    let file = URL(filePath: test).deletingLastPathComponent()
      .appending(path: "\(folder)/\(name).json")
    path = file.path
    do {
      text = try String(contentsOf: file, encoding: .utf8)
    } catch {
      throw Failure(
        description:
          "\(file.path): the fixture cannot be read (\(error.localizedDescription)); write "
          + "it with gqlrun run OPERATION > \(folder)/\(name).json")
    }
  }

  /// Decodes the data of the response with the type of an operation.
  ///
  /// - Throws: `JSONError` if the text is not JSON; ``Failure`` if it has no member `data`;
  ///   `TypeMismatch` if the data does not match the operation.
  public func data<Operation: GraphQLOperation>(of operation: Operation) throws -> Operation.Data {
    guard let data = try JSONValue(parsing: Array(text.utf8)).objectValue?["data"] else {
      throw Failure(
        description: "\(path): the fixture is not a response; it needs a member `data`")
    }
    return try operation.data(json: Array(data.jsonText().utf8))
  }
}

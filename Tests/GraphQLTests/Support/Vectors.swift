import Foundation
import GQLRunLanguage
import GQLRunTestSupport
import Testing

/// The conformance data that working copies share. Suites that need it are skipped where it is absent.
enum Shared {
  static let isPresent = FileManager.default.fileExists(
    atPath: Repository.shared + "/conformance/graphql")

  static let whenPresent: any SuiteTrait & TestTrait = ConditionTrait.enabled(
    if: isPresent, "no conformance data at \(Repository.shared); set GQLRUN_SHARED")

  /// One decoded value per line.
  static func lines<Line: Decodable>(_ name: String, as _: Line.Type = Line.self) throws -> [Line] {
    try bytes("/conformance/graphql/" + name).split(separator: UInt8(ascii: "\n"))
      .map { try JSONDecoder().decode(Line.self, from: Data($0)) }
  }

  static func real(_ name: String) throws -> [UInt8] { try bytes("/real/" + name) }

  private static func bytes(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: Repository.shared + name)))
  }
}

struct ParseVector: Decodable {
  var source: String
  var ok: Bool?
  var error: String?
  var locations: [[Int]]?
}

struct PrintVector: Decodable {
  var source: String
  var printed: String
}

extension Document {
  /// The structure of the document without its locations, and without whether a query was
  /// written in the short form, which printing decides again.
  var structure: String {
    func write(_ value: Any, to text: inout String) {
      if value is GQLRunLanguage.SourceLocation { return }
      let mirror = Mirror(reflecting: value)
      if mirror.children.isEmpty {
        text += String(reflecting: value)
        return
      }
      text += "\(mirror.subjectType)("
      for child in mirror.children where child.label != "isShorthand" {
        text += (child.label ?? "") + ":"
        write(child.value, to: &text)
        text += " "
      }
      text += ")"
    }
    var text = ""
    write(self, to: &text)
    return text
  }
}

/// The schema of a document.
func schema(_ source: String) throws -> Schema { try Schema(sdl: Document(parsing: source)) }

/// The error of parsing `source`; a recorded issue when it parses.
func syntaxError(
  _ source: String, options: ParseOptions = ParseOptions(),
  sourceLocation: Testing.SourceLocation = #_sourceLocation
) -> GraphQLSyntaxError? {
  do throws(GraphQLSyntaxError) {
    let document = try Document(parsing: source, options: options)
    Issue.record("parsed as \(document.printed())", sourceLocation: sourceLocation)
    return nil
  } catch {
    return error
  }
}

extension GraphQLSyntaxError {
  /// The message of a parser that does not know newer editions.
  var recorded: String {
    guard let addition else { return message }
    return message.replacing(" " + addition.message(in: .september2025), with: "")
  }
}

struct ValidationVector: Decodable {
  struct Problem: Decodable {
    var message: String
    var locations: [[Int]]
  }

  var schema: String
  var document: String
  var rules: [String]?
  var errors: [Problem]
}

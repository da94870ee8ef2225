import Foundation
import GQLRunJSON

/// The settings of an `apollo-codegen-config.json` that have a counterpart.
///
/// https://www.apollographql.com/docs/ios/code-generation/codegen-configuration
struct ApolloConfiguration {
  /// The settings, with the keys of the project file.
  private(set) var values: [String: [String]] = [:]
  /// The folder that paths are relative to.
  let folder: String

  init(path: String) throws {
    folder = (path as NSString).deletingLastPathComponent
    let json = try Input.json(path, "the configuration of Apollo iOS")
    guard let input = json["input"] else {
      throw Failure(
        .badInput, "\(path): the configuration has no `input`; is it of Apollo iOS 1 or 2?")
    }
    values["schema"] = Self.list(input["schemaSearchPaths"]) ?? Self.list(input["schemaPath"])
    values["documents"] =
      Self.list(input["operationSearchPaths"]) ?? Self.list(input["searchPaths"]) ?? [
        "**/*.graphql"
      ]
    let schemaTypes = json["output"]?["schemaTypes"]
    values["output"] = Self.list(schemaTypes?["path"])
    let module = schemaTypes?["moduleType"]?.objectValue
    let embedded = module?["embeddedInTarget"]?["accessModifier"]?.stringValue
    values["access"] = [embedded ?? (module?["embeddedInTarget"] == nil ? "public" : "internal")]
    let strategies = json["options"]?["conversionStrategies"]
    if strategies?["enumCases"]?.stringValue == "none" { values["enum_cases"] = ["verbatim"] }
    if strategies?["fieldAccessors"]?.stringValue == "camelCase" { values["fields"] = ["camel"] }
    values["manifest"] = Self.list(json["operationManifest"]?["path"])
  }

  private static func list(_ value: JSONValue?) -> [String]? {
    value?.stringValue.map { [$0] } ?? value?.arrayValue?.compactMap(\.stringValue)
  }
}

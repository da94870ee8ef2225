public import GQLRunJSON

extension PipelineFile {
  /// The JSON Schema of pipeline files, for editors; generated from the option tables.
  ///
  /// https://json-schema.org/draft/2020-12
  ///
  /// - Parameter registry: The plugins that the schema describes.
  public static func schema(_ registry: PluginRegistry) -> JSONValue {
    var properties = PipelineSchema.properties(options)
    properties["chain"] = .object([
      "description": "The plugins, from the first to meet a request to the last",
      "type": "array", "items": PipelineSchema.entry(registry),
    ])
    return .object([
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "title": "gqlrun pipeline file",
      "description":
        "Made by `gqlrun pipeline schema > pipelines/pipeline.schema.json`; do not edit it",
      "type": "object", "required": ["version"], "additionalProperties": false,
      "properties": .object(properties),
    ])
  }
}

/// Generates JSON Schema from option tables.
private enum PipelineSchema {
  static func properties(_ table: [OptionDescription]) -> JSONObject {
    table.reduce(into: JSONObject()) { $0[$1.name] = schema(of: $1) }
  }

  /// An entry of a chain: a plugin's name, or a mapping with one plugin and the keys next to it.
  static func entry(_ registry: PluginRegistry) -> JSONValue {
    var properties = JSONObject()
    for description in registry.descriptions {
      var plugin = object(description.options)
      let documentation = description.documentation
      plugin["description"] = .string(
        "\(description.summary). \(documentation.use) \(documentation.position) "
          + "Example: - \(documentation.example)")
      if !description.options.contains(where: \.isRequired) {
        // `- fetch:` without a value.
        plugin["type"] = ["object", "null"]
      }
      properties[description.name] = .object(plugin)
    }
    let id: JSONValue = .object(["type": "string", "description": "The id of another entry"])
    properties["id"] = .object([
      "type": "string", "description": "What the entry is called; its plugin's name when not given",
    ])
    var when = object(PipelineFile.conditionOptions)
    when["description"] = "Which operations the entry is for"
    properties["when"] = .object(when)
    properties["insert"] = .object([
      "description": "Where the entry goes in the chain of the extended file",
      "type": "object", "properties": .object(["before": id, "after": id]),
      "minProperties": 1, "maxProperties": 1, "additionalProperties": false,
    ])
    properties["replace"] = .object([
      "type": "string", "description": "The entry of the extended file that this one stands for",
    ])
    properties["remove"] = .object([
      "description": "Entries of the extended file to leave out",
      "anyOf": [
        .object(["type": "string"]),
        .object(["type": "array", "items": .object(["type": "string"])]),
      ],
    ])
    return .object([
      "anyOf": [
        .object(["enum": .array(registry.names.map(JSONValue.string))]),
        .object([
          "type": "object", "properties": .object(properties), "additionalProperties": false,
          "minProperties": 1,
        ]),
      ]
    ])
  }

  private static func object(_ table: [OptionDescription]) -> JSONObject {
    var schema: JSONObject = [
      "type": "object", "additionalProperties": false, "properties": .object(properties(table)),
    ]
    let required = table.filter(\.isRequired).map { JSONValue.string($0.name) }
    if !required.isEmpty { schema["required"] = .array(required) }
    return schema
  }

  private static func schema(of option: OptionDescription) -> JSONValue {
    var schema = schema(of: option.type)
    schema["description"] = .string(option.summary)
    if let text = option.defaultText, !text.isEmpty, text != "{}" {
      schema["default"] = value(text, option.type)
    }
    return .object(schema)
  }

  /// A default as JSON; a value with a unit stays text.
  private static func value(_ text: String, _ type: OptionType) -> JSONValue {
    switch type {
    case .bool: .boolean(text == "true")
    case .int, .double: JSONNumber(text: text).map(JSONValue.number) ?? .string(text)
    case .list:
      .array(
        text.dropFirst().dropLast().split(separator: ",").map {
          .string($0.filter { $0 != " " })
        })
    default: .string(text)
    }
  }

  private static func schema(of type: OptionType) -> JSONObject {
    switch type {
    case .bool: return orExpansion(["type": "boolean"])
    case .int(let range):
      var schema: JSONObject = ["type": "integer"]
      if let range {
        if range.lowerBound != .min { schema["minimum"] = .number(JSONNumber(range.lowerBound)) }
        if range.upperBound != .max { schema["maximum"] = .number(JSONNumber(range.upperBound)) }
      }
      return orExpansion(schema)
    case .double(let range):
      var schema: JSONObject = ["type": "number"]
      if let range {
        if let low = JSONNumber(range.lowerBound) { schema["minimum"] = .number(low) }
        if let high = JSONNumber(range.upperBound) { schema["maximum"] = .number(high) }
      }
      return orExpansion(schema)
    case .string, .template, .path:
      // A plain `5` or `true` is text here; an editor cannot know that.
      return ["type": ["string", "number", "boolean"]]
    case .duration: return pattern("^[0-9]+(\\.[0-9]+)?(ms|s|m|h)$")
    case .size: return pattern("^[0-9]+(\\.[0-9]+)?(B|KB|MB|GB|KiB|MiB|GiB)$")
    case .percentage: return pattern("^[0-9]+(\\.[0-9]+)?%$")
    case .choice(let words):
      // A word that YAML reads as a number is also valid.
      let numbers = words.compactMap { JSONNumber(text: $0).map(JSONValue.number) }
      return orExpansion(["enum": .array(words.map(JSONValue.string) + numbers)])
    case .list(let element):
      return ["type": "array", "items": .object(schema(of: element))]
    case .map(let value):
      return ["type": "object", "additionalProperties": .object(schema(of: value))]
    case .object(let table): return object(table)
    case .json: return [:]
    }
  }

  private static func pattern(_ pattern: String) -> JSONObject {
    orExpansion(["type": "string", "pattern": .string(pattern)])
  }

  /// Allows an expansion in place of the value: `${env:NAME}`.
  private static func orExpansion(_ schema: JSONObject) -> JSONObject {
    [
      "anyOf": [
        .object(schema), .object(["type": "string", "pattern": "\\$\\{(env|file|exec):"]),
      ]
    ]
  }
}

public import GQLRunJSON

extension PipelineFile {
  /// The JSON Schema of pipeline files, for editors; generated from the option tables.
  ///
  /// https://json-schema.org/draft/2020-12
  ///
  /// - Parameter registry: The plugins that the schema describes.
  public static func schema(_ registry: PluginRegistry) -> JSONValue {
    var properties = OptionSchema.properties(options)
    properties["chain"] = .object([
      "description": "Plugins, from the first that receives a request to the last",
      "type": "array", "items": entry(registry),
    ])
    return OptionSchema.file(
      title: "gqlrun pipeline file",
      command: "gqlrun pipeline schema > pipelines/pipeline.schema.json", required: ["version"],
      properties: properties)
  }

  /// An entry of a chain: a plugin's name, or a mapping with one plugin and the keys next to it.
  private static func entry(_ registry: PluginRegistry) -> JSONValue {
    var properties = JSONObject()
    for description in registry.descriptions {
      var plugin = OptionSchema.object(description.options)
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
    let id: JSONValue = .object(["type": "string", "description": "Id of another entry"])
    properties["id"] = .object([
      "type": "string", "description": "Id of the entry; the name of its plugin by default",
    ])
    var when = OptionSchema.object(ConditionOptions.optionDescriptions)
    when["description"] = "Operations that the entry applies to"
    properties["when"] = .object(when)
    properties["insert"] = .object([
      "description": "Position of the entry in the chain of the extended file",
      "type": "object", "properties": .object(["before": id, "after": id]),
      "minProperties": 1, "maxProperties": 1, "additionalProperties": false,
    ])
    properties["replace"] = .object([
      "type": "string", "description": "Entry of the extended file that this one replaces",
    ])
    properties["remove"] = .object([
      "description": "Entries of the extended file that are removed",
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
}

public import GQLRunJSON
public import GQLRunPipeline

extension Manifest {
  /// The kinds of sinks.
  public static let sinkKinds = Sinks.all.map {
    OptionVariant(
      name: $0.name, summary: $0.summary, options: $0.optionDescriptions, example: $0.example)
  }

  /// The kinds of rows for `foreach`, each with the options that all kinds have.
  public static let rowKinds = RowInputs.all.map {
    OptionVariant(
      name: $0.name, summary: $0.summary,
      options: $0.optionDescriptions + InputSettings.Shared.optionDescriptions, example: $0.example)
  }

  /// The JSON Schema of manifests, for editors; generated from the declarations of the options.
  ///
  /// https://json-schema.org/draft/2020-12
  public static var schema: JSONValue {
    OptionSchema.file(
      title: "gqlrun batch manifest",
      command: "gqlrun batch schema > pipelines/batch.schema.json",
      required: ["version", "operations"],
      properties: OptionSchema.properties(ManifestFile.optionDescriptions))
  }
}

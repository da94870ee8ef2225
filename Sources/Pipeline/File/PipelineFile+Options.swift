import GQLRunCache

extension PipelineFile {
  /// The options of a pipeline file except `chain`.
  static let options: [OptionDescription] = [
    OptionDescription("version", .int(), required: true, "The version of the format; always 1"),
    OptionDescription("name", .string, "What the pipeline is called in logs and reports"),
    OptionDescription(
      "extends", .path,
      "The pipeline file that this one changes: its keys are merged over that file's, and the "
        + "entries of its chain each say what they insert, replace or remove"),
    OptionDescription(
      "endpoint",
      .object([
        OptionDescription(
          "url", .string, required: true, secrecy: .url, "The http or https URL of the server"),
        OptionDescription(
          "headers", .map(.string), secrecy: .secretHeaders, "Fields sent with every request"),
        OptionDescription(
          "method", .choice(Endpoint.Method.allCases.map(\.rawValue)), default: "POST",
          "How queries are sent; mutations are always sent by POST"),
      ]), "Where operations are sent"),
    OptionDescription("schema", .path, "The SDL file of the server's schema"),
    OptionDescription(
      "store",
      .object([
        OptionDescription(
          "kind", .choice(StoreConfiguration.Kind.allCases.map(\.rawValue)), default: "memory",
          "Where records are kept"),
        OptionDescription("path", .path, "The database file of an SQLite store"),
        OptionDescription(
          "max_size", .size(in: .kibibytes(64)...ByteSize(bytes: .max)),
          "The size above which old records are dropped"),
        OptionDescription(
          "memory", .size(in: .kibibytes(64)...ByteSize(bytes: .max)),
          "How much of an SQLite store is kept in memory, too"),
        OptionDescription(
          "required", .bool, default: "false",
          "Whether it is an error when the store cannot be used, instead of a warning"),
      ]), "The cache of records"),
    OptionDescription(
      "keys",
      .object([
        OptionDescription(
          "default", .list(.string), default: "[id]",
          "The fields that identify objects of types without a rule"),
        OptionDescription(
          "types", .map(.list(.string)), "The fields that identify objects of single types"),
        OptionDescription(
          "groups", .map(.string),
          "Names that stand for those of types in keys, so that types share one identity space"),
      ]), "Which fields identify an object"),
    OptionDescription(
      "fields",
      .map(
        .object([
          OptionDescription(
            "key_args", .list(.string),
            "The arguments that take part in the name the field is stored under; of pages, by default "
              + "all but those that choose a page"),
          OptionDescription(
            "merge", .choice(PagePolicy.allCases.map(\.rawValue)),
            "How pages become one stored list: connection joins at the cursors, offset by position, "
              + "append at the end"),
          OptionDescription(
            "max_age", maxAge, "How long the field is fresh after it was received"),
        ])), "Rules for single fields, each named as `Type.field`"),
    OptionDescription(
      "types",
      .map(
        .object([
          OptionDescription(
            "max_age", maxAge, required: true,
            "How long the fields of the type are fresh after they were received")
        ])), "Rules for types; an interface when the schema is known"),
    OptionDescription(
      "tests", .list(.object(testOptions)), "What `gqlrun pipeline test` runs; see the guide"),
  ]

  /// The ages that data may reach before it is stale. In whole seconds: records keep the second in
  /// which they were received.
  public static let ageRange: ClosedRange<Duration> = .zero ... .seconds(1_000_000 * 3600)
  static let maxAge = OptionType.duration(in: ageRange, wholeSeconds: true)

  /// The options of `when`.
  static let conditionOptions: [OptionDescription] = [
    OptionDescription("operation", .list(.string), "The names of operations"),
    OptionDescription(
      "type", .choice(["query", "mutation", "subscription"]), "The type of operations"),
  ]
}

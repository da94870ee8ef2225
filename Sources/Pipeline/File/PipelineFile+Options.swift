import GQLRunCache

extension PipelineFile {
  /// The options of a pipeline file except `chain`.
  static let options: [OptionDescription] = [
    OptionDescription("version", .int(), required: true, "Version of the format; always 1"),
    OptionDescription("name", .string, "Name of the pipeline in logs and reports"),
    OptionDescription(
      "extends", .path,
      "Pipeline file that this one changes: the keys of this file override those of that one, and "
        + "each entry of its chain inserts, replaces or removes entries"),
    OptionDescription(
      "endpoint",
      .object([
        OptionDescription(
          "url", .string, required: true, secrecy: .url, "URL of the server, http or https"),
        OptionDescription(
          "headers", .map(.string), secrecy: .secretHeaders, "Header fields of every request"),
        OptionDescription(
          "method", .choice(Endpoint.Method.allCases.map(\.rawValue)), default: "POST",
          "HTTP method of queries; mutations are always sent by POST"),
      ]), "Server that operations are sent to"),
    OptionDescription("schema", .path, "SDL file of the server's schema"),
    OptionDescription(
      "store",
      .object([
        OptionDescription(
          "kind", .choice(StoreConfiguration.Kind.allCases.map(\.rawValue)), default: "memory",
          "Storage of the records"),
        OptionDescription("path", .path, "Database file of a SQLite store"),
        OptionDescription(
          "max_size", .size(in: .kibibytes(64)...ByteSize(bytes: .max)),
          "Size above which records are evicted"),
        OptionDescription(
          "memory", .size(in: .kibibytes(64)...ByteSize(bytes: .max)),
          "Size of the memory tier of a SQLite store"),
        OptionDescription(
          "required", .bool, default: "false",
          "Whether a store that cannot be used is an error instead of a warning"),
      ]), "Normalized cache"),
    OptionDescription(
      "keys",
      .object([
        OptionDescription(
          "default", .list(.string), default: "[id]",
          "Key fields of types without a rule"),
        OptionDescription(
          "types", .map(.list(.string)), "Key fields by type"),
        OptionDescription(
          "groups", .map(.string),
          "Names that replace those of types in cache keys, so that types share one key space"),
      ]), "Key fields of types"),
    OptionDescription(
      "fields",
      .map(
        .object([
          OptionDescription(
            "key_args", .list(.string),
            "Arguments that are the key fields of the returned object, in their order: a cache redirect. "
              + "`input.code` is a field of an input object; one of them may be a list"),
          OptionDescription(
            "type", .string,
            "Type that a field with `key_args` returns, `Country` or `[Country]`; required without a schema"
          ),
          OptionDescription(
            "field_key_args", .list(.string),
            "Arguments in the key that the field is stored under; all by default, or for pages all "
              + "but those that select a page"),
          OptionDescription(
            "merge", .choice(PagePolicy.allCases.map(\.rawValue)),
            "How pages are merged into one stored list: `connection` at cursors, `offset` by "
              + "position, `append` at the end"),
          OptionDescription(
            "max_age", maxAge, "Max age of the field: how long it stays fresh after it was received"
          ),
        ])), "Rules by field, as `Type.field`"),
    OptionDescription(
      "types",
      .map(
        .object([
          OptionDescription(
            "max_age", maxAge, required: true,
            "Max age of the type's fields: how long they stay fresh after they were received")
        ])), "Rules by type; also by interface if the schema is known"),
    OptionDescription(
      "tests", .list(.object(testOptions)), "Tests that `gqlrun pipeline test` runs; see the guide"),
  ]

  /// The type of max ages. In whole seconds, because records store the second of their receipt.
  public static let ageRange: ClosedRange<Duration> = .zero ... .seconds(1_000_000 * 3600)
  static let maxAge = OptionType.duration(in: ageRange, wholeSeconds: true)

  /// The options of `when`.
  static let conditionOptions: [OptionDescription] = [
    OptionDescription("operation", .list(.string), "Names of operations"),
    OptionDescription(
      "type", .choice(["query", "mutation", "subscription"]), "Type of operations"),
  ]
}

import GQLRunPipeline

extension ManifestLoader {
  /// The keys of a manifest except `sinks` and `operations`.
  static let rootTable: [OptionDescription] = [
    OptionDescription("version", .int(), required: true, "The version of the format; always 1"),
    OptionDescription("name", .string, "What the run is called in journals and reports"),
    OptionDescription("pipeline", .path, "The pipeline file that every request passes"),
    OptionDescription("endpoint", .string, "The URL of the server; overrides the pipeline file"),
    OptionDescription("schema", .path, "The SDL file to check operations and rows against"),
    OptionDescription(
      "run",
      .object([
        OptionDescription(
          "concurrency", .int(in: 1...4096), default: "16", "How many tasks run at a time"),
        OptionDescription(
          "order", .choice(["declared", "interleaved", "output"]), default: "declared",
          "One operation after the other, in turn, or with results in the order of the rows"),
        OptionDescription(
          "max_failures", .string, "A count or percentage of failures that stops the run"),
        OptionDescription("fail_fast", .bool, default: "false", "Stop at the first failure"),
        OptionDescription(
          "deadline", .duration(in: .milliseconds(1)...(.seconds(604_800))),
          "When no further task is begun"),
        OptionDescription("journal", .string, default: "runs", "The folder of the journals"),
        OptionDescription(
          "patience", .duration(in: .zero...(.seconds(86_400))), default: "5m",
          "How long the server may refuse everything before the run stops"),
      ]), "How the operations are run"),
    OptionDescription(
      "rate_limit",
      .object([
        OptionDescription("rate", .string, "Requests per time, such as 50/s or 5000/h"),
        OptionDescription("burst", .int(in: 1...100_000), default: "1", "How many at once"),
        OptionDescription(
          "adapter", .choice(["headers", "github", "shopify"]), "Whose budget the answers tell"),
        OptionDescription("reserve", .percentage, default: "0%", "The share left to others"),
      ]), "How fast requests are sent"),
    OptionDescription(
      "report",
      .object([
        OptionDescription("junit", .string, "JUnit XML"),
        OptionDescription("html", .string, "One self-contained page"),
        OptionDescription("json", .string, "The numbers"),
      ]), "Reports that are written at the end"),
    OptionDescription(
      "state",
      .object([OptionDescription("file", .string, required: true, "The file with bookmarks")]),
      "What the next run continues from"),
    OptionDescription("thresholds", .list(.string), "Conditions on the whole run"),
  ]

  static let operationTable: [OptionDescription] = [
    OptionDescription("id", .string, "The name of the operation in the manifest"),
    OptionDescription("document", .string, "A file, and an operation in it: `a.graphql#Name`"),
    OptionDescription("query", .string, "The document itself"),
    OptionDescription("operation", .string, "The operation of the document"),
    OptionDescription("needs", .list(.string), "Operations that end before this one begins"),
    OptionDescription("capture", .map(.string), "Values kept for operations that need this one"),
    OptionDescription("emit", .string, "The records in the data: `a.b[*]`"),
    OptionDescription(
      "paginate",
      .object([
        OptionDescription("connection", .string, "The path of a Relay connection"),
        OptionDescription("cursor", .string, default: "after", "The variable of the cursor"),
        OptionDescription(
          "offset",
          .object([
            OptionDescription("variable", .string, default: "offset", "The variable"),
            OptionDescription("items", .string, required: true, "The path of the list"),
          ]), "Pages by number"),
        OptionDescription(
          "page_size",
          .object([
            OptionDescription("variable", .string, default: "first", "The variable"),
            OptionDescription("start", .int(in: 1...1_000_000), required: true, "The first size"),
            OptionDescription("min", .int(in: 1...1_000_000), default: "1", "The smallest size"),
            OptionDescription(
              "on_error", .choice(["halve", "fail"]), default: "fail",
              "What happens when a page is too costly"),
          ]), "How large pages are"),
        OptionDescription(
          "max_pages", .int(in: 1...1_000_000_000), default: "10000",
          "How many pages a task may have; one with more fails after them"),
        OptionDescription(
          "nested",
          .list(
            .object([
              OptionDescription("path", .string, required: true, "Below the emitted record"),
              OptionDescription("type", .string, required: true, "The type of the record"),
            ])), "Connections in records, completed through `node(id:)`"),
      ]), "How further pages are asked for"),
    OptionDescription("bookmark", .map(.string), "Values for the next run: `max(updatedAt)`"),
    OptionDescription("expect", .list(.string), "Conditions on every result"),
    OptionDescription("idempotency", .string, "The variable that makes repeating safe"),
    OptionDescription(
      "timeout", .duration(in: .milliseconds(1)...(.seconds(86_400))), "For one request"),
    OptionDescription(
      "policy", .choice(CachePolicy.allCases.map(\.rawValue)), "How the cache is used"),
    OptionDescription("snapshot", .string, "The file that the data must equal"),
  ]

  static let foreachTable: [OptionDescription] = [
    OptionDescription("csv", .path, "A CSV file"),
    OptionDescription("jsonl", .path, "A file with a JSON value per line"),
    OptionDescription("sqlite", .path, "A SQLite database"),
    OptionDescription("query", .string, "The query over the database"),
    OptionDescription("stdin", .choice(["csv", "jsonl"]), "Rows from standard input"),
    OptionDescription("capture", .string, "An operation whose captured values are the rows"),
    OptionDescription("as", .string, default: "row", "What the row is called in templates"),
    OptionDescription("key", .string, "What tells the tasks apart"),
    OptionDescription(
      "empty", .choice(["omit", "null", "string"]), default: "omit", "What an empty cell means"),
    OptionDescription(
      "delimiter", .choice([",", ";", "tab", "|"]), default: ",", "What separates cells"),
  ]

  static let sinkTables: [(kind: String, table: [OptionDescription])] = [
    (
      "ndjson",
      [
        OptionDescription("path", .string, default: "-", "The file; - is standard output"),
        OptionDescription("gzip", .bool, "Compressed; decided by `.gz` when not given"),
        OptionDescription(
          "lines", .choice(["auto", "results", "records"]), default: "auto",
          "Whether lines are results or records; records where the operation has `emit`"),
        OptionDescription("operations", .list(.string), "Only these operations"),
      ]
    ),
    (
      "csv",
      [
        OptionDescription("path", .string, required: true, "The file"),
        OptionDescription("columns", .list(.string), "The columns; else as the document selects"),
        OptionDescription("operations", .list(.string), "Only these operations"),
      ]
    ),
    (
      "json",
      [
        OptionDescription("path", .string, required: true, "The file"),
        OptionDescription("operations", .list(.string), "Only these operations"),
      ]
    ),
    (
      "sqlite",
      [
        OptionDescription("path", .string, required: true, "The database"),
        OptionDescription("table", .string, default: "{{op}}", "The table"),
        OptionDescription("key", .list(.string), "The columns that tell records apart"),
        OptionDescription("operations", .list(.string), "Only these operations"),
      ]
    ),
    ("cache", [OptionDescription("operations", .list(.string), "Only these operations")]),
  ]
}

import ArgumentParser
import Foundation
import GQLRunCache
import GQLRunLanguage

extension CacheCommand {
  struct SQL: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "sql",
      abstract: "Run a read-only SQL query on a cache file.",
      discussion: """
        The table records has the columns key, received (seconds since 1970), data (the record as \
        JSON text), checksum and ages. Every type is a view with a column per field. Blobs are \
        printed in hexadecimal.

        EXAMPLES
          gqlrun cache sql 'SELECT login, name FROM User ORDER BY 2 LIMIT 10' \\
            --store sqlite:cache.db
          gqlrun cache sql "SELECT key, datetime(received, 'unixepoch') FROM records" \\
            --format csv --store sqlite:cache.db
        """)

    @ArgumentParser.Argument(help: "Query, one SELECT; - is standard input.")
    var query: String
    @OptionGroup var storeOptions: StoreOptions
    @Option(help: ArgumentHelp("Output format.", valueName: "table|csv|json"))
    var format = TableFormat.table

    func run() async throws {
      guard case .sqlite(let path) = storeOptions.store else {
        throw Failure(
          .usage,
          "SQL needs a file; name it with --store sqlite:PATH. A cache in PostgreSQL is read with psql: SELECT "
            + "convert_from(key, 'UTF8'), data FROM gqlrun_record")
      }
      // A missing file must not be created.
      _ = try InputReader(path, "the cache", flags: O_NONBLOCK)
      let sql =
        query == "-"
        ? String(decoding: try Input.bytes("-", "the query"), as: UTF8.self) : query
      let rows = try located(sql) { try CacheQuery(path: path, sql: sql) }
      var printer = TablePrinter(format: format, columns: rows.columns)
      while let row = try located(sql, { try rows.next() }) { try printer.add(row) }
      try printer.finish()
    }

    /// Adds the location in the query to errors.
    private func located<Result>(_ sql: String, _ body: () throws -> Result) throws -> Result {
      do {
        return try body()
      } catch let error as CacheError where error.code == .invalidQuery {
        let bytes = Array(sql.utf8)
        guard let offset = error.byteOffset, offset <= bytes.count else {
          throw Failure(.badInput, error.message)
        }
        throw Failure(
          error.message, at: Input.location(of: offset, in: bytes), in: bytes, name: "query")
      }
    }
  }
}

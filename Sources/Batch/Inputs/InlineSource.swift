import GQLRunJSON
import GQLRunPipeline

/// Rows written in the manifest: `inline: [{ code: DE }]`.
struct InlineInput: RowInput {
  static let name = "inline"
  static let summary = "Rows written in the manifest"
  static let example = "foreach: { inline: [{ code: DE }, { code: FR }] }"

  @Option("Rows as mappings; another value is a row with the one column `value`")
  var inline: [JSONValue]

  func columns(hasNeeds: Bool) -> [String]? { rows.flatMap { Array($0.keys) } }
  func isReadable(hasNeeds: Bool) -> Bool { true }
  func label(in manifest: Manifest) -> String { "\(manifest.file): inline row" }
  func open(_ context: RowContext) -> (any RowSource)? { InlineSource(rows) }

  private var rows: [JSONObject] { inline.map { $0.objectValue ?? ["value": $0] } }
}

/// Reads rows given in the manifest.
final class InlineSource: RowSource {
  private let rows: [JSONObject]
  private var location = 0

  init(_ rows: [JSONObject]) { self.rows = rows }

  func next() -> Row? {
    guard location < rows.count else { return nil }
    location += 1
    return Row(number: location, content: .values(rows[location - 1]))
  }
}

import GQLRunJSON
import GQLRunPostgres

/// Tasks that are added in one statement.
struct QueueTaskGroup {
  private let run: String
  private var ids: [[UInt8]] = []
  private var operations: [[UInt8]?] = []
  private var keys: [[UInt8]?] = []
  private var variables: [[UInt8]?] = []
  private var states: [[UInt8]?] = []
  private var errors: [[UInt8]?] = []
  private var uploads: [[UInt8]?] = []
  private var bytes = 0

  init(run: String) { self.run = run }

  var isFull: Bool { ids.count >= 10_000 || bytes >= 8 << 20 }

  mutating func add(_ item: TaskItem, _ operation: String) throws {
    let text = JSONValue.object(item.variables).jsonBytes()
    // PostgreSQL stores no NUL characters; in JSON they are escaped.
    let key = item.key.utf8.filter { $0 != 0 }
    ids.append(item.id.bytes)
    operations.append(Array(operation.utf8))
    keys.append(key)
    variables.append(text)
    let state: TaskState =
      item.problem == nil ? .queued : item.isSkipped ? .skipped : .failed
    states.append(Array(state.name.utf8))
    errors.append(item.problem.map { $0.utf8.filter { $0 != 0 } })
    let files = TaskUpload.text(of: item.uploads)
    uploads.append(files)
    bytes += text.count + key.count + (files?.count ?? 0)
  }

  mutating func insert(
    _ connection: PostgresConnection, _ total: inout BatchQueue.Enqueued
  ) throws {
    guard !ids.isEmpty else { return }
    let rows = try connection.run(
      """
      WITH added AS (
        INSERT INTO gq_task (run, id, op, key, variables, uploads, state, error, ended)
        SELECT $1::uuid, id, op, key, variables, uploads, state, error,
          CASE WHEN error IS NULL THEN 0 ELSE extract(epoch FROM clock_timestamp()) END
        FROM unnest($2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
          $8::text[])
          AS u(id, op, key, variables, error, uploads, state)
        ON CONFLICT DO NOTHING RETURNING state)
      SELECT count(*), count(*) FILTER (WHERE state = 'failed') FROM added
      """, .text(run), .byteStrings(ids), .texts(operations), .texts(keys), .texts(variables),
      .texts(errors), .texts(uploads), .texts(states))
    total.added += rows.int(0, 0)
    total.known += ids.count - rows.int(0, 0)
    total.failed += rows.int(0, 1)
    self = QueueTaskGroup(run: run)
  }
}

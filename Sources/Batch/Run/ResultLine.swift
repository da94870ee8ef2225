import GQLRunJSON
import GQLRunPipeline

/// The JSON line of a result, up to its data.
enum ResultLine {
  static func head(
    _ item: TaskItem, _ operation: BatchOperation, _ page: TaskRunner.Page, _ update: TaskUpdate,
    records: Int, isFailure: Bool
  ) -> [UInt8] {
    var writer = JSONWriter()
    writer.reserveCapacity(512)
    writer.beginObject()
    writer.key("task")
    writer.writeString(update.id.text)
    writer.key("op")
    writer.writeString(operation.id)
    writer.key("key")
    writer.writeString(item.key)
    writer.key("page")
    writer.writeNumber(isFailure ? update.page + 1 : update.page)
    writer.key("attempt")
    writer.writeNumber(update.attempts)
    writer.key("ok")
    writer.writeBool(!isFailure)
    writer.key("http")
    if let http = update.http { writer.writeNumber(http) } else { writer.writeNull() }
    number("ms", page.milliseconds, &writer)
    number("ttfb_ms", page.response?.timing.firstByte?.milliseconds, &writer)
    writer.key("bytes")
    writer.writeNumber(page.response?.timing.receivedBytes ?? 0)
    writer.key("records")
    writer.writeNumber(records)
    writer.key("cache")
    if let source = page.response?.source {
      writer.writeString(source.rawValue)
    } else {
      writer.writeNull()
    }
    writer.key("errors")
    errors(page, update, isFailure, &writer)
    var bytes = writer.takeBytes()
    bytes += #","data":"#.utf8
    return bytes
  }

  private static func errors(
    _ page: TaskRunner.Page, _ update: TaskUpdate, _ isFailure: Bool, _ writer: inout JSONWriter
  ) {
    let found = page.response?.errors ?? []
    if found.isEmpty, !isFailure { return writer.writeNull() }
    var list = found.map { error -> JSONValue in
      var object: JSONObject = ["message": .string(error.message)]
      if let code = error.code { object["code"] = .string(code) }
      if !error.locations.isEmpty { object["locations"] = GraphQLError.json(error.locations) }
      if let path = error.path {
        object["path"] = .array(
          path.map {
            switch $0 {
            case .key(let key): .string(key)
            case .index(let index): .number(JSONNumber(index))
            }
          })
      }
      return .object(object)
    }
    if list.isEmpty { list = [.object(["message": .string(update.error ?? "failed")])] }
    JSONValue.array(list).write(to: &writer)
  }

  private static func number(_ name: String, _ value: Double?, _ writer: inout JSONWriter) {
    writer.key(name)
    let rounded = value.map { ($0 * 1000).rounded() / 1000 }
    if let number = rounded.flatMap({ JSONNumber($0) }) {
      writer.writeNumber(number)
    } else {
      writer.writeNull()
    }
  }
}

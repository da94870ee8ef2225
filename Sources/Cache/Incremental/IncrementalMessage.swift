import GQLRunJSON
import GQLRunLive

/// One message of a response that arrives in parts, whatever its format.
///
/// | format | later messages |
/// |---|---|
/// | before 2022 | `{path, data, label?, hasNext}` |
/// | 2022 | `{incremental: [{path, label?, data or items}], hasNext}` |
/// | with ids | `{pending: [{id, path}], incremental: [{id, subPath?, data or items}], completed: [{id}], hasNext}` |
///
/// The members may have any order. Values of fields are kept as text, for the normalizer.
struct IncrementalMessage {
  struct Pending {
    var id: String
    var fragment: PendingFragment
  }

  struct Completed {
    var id: String
    var errors: [JSONValue]
  }

  struct Delta {
    enum Content {
      case fields([UInt8])
      case elements([UInt8])
      /// The fragment or the rest of the list failed; before 2022, also a null as an element.
      case none
    }

    var id: String?
    var path: [PathStep]?
    var subPath: [PathStep] = []
    var label: String?
    var content = Content.none
    /// Whether the delta has `data`, which is null.
    var isNullData = false
    var errors: [JSONValue] = []
    var extensions: JSONObject?
  }

  var pending: [Pending] = []
  var deltas: [Delta] = []
  var completed: [Completed] = []
  var errors: [JSONValue] = []
  var extensions: JSONObject?
  var hasNext: Bool?

  /// - Parameter members: The members of the message, without the `data` of the first one.
  init(_ members: [(key: [UInt8], value: [UInt8])], isFirst: Bool) throws(CacheError) {
    var own = Delta()
    var isDelta = false
    for (key, value) in members {
      switch String(decoding: key, as: UTF8.self) {
      case "hasNext": hasNext = try Self.json(value, "hasNext").boolValue
      case "pending":
        pending = try Self.list(value, "pending") { (item) throws(CacheError) in
          try Self.pending(item)
        }
      case "completed":
        completed = try Self.list(value, "completed") { (item) throws(CacheError) in
          let errors = item["errors"]?.arrayValue ?? []
          return Completed(id: try Self.id(item["id"], "completed"), errors: errors)
        }
      case "incremental": deltas = try Self.deltas(value)
      case "errors" where isFirst: errors = try Self.json(value, "errors").arrayValue ?? []
      case "extensions": extensions = try Self.json(value, "extensions").objectValue
      case let name where !isFirst:
        if try own.take(name, value), name == "data" || name == "items" { isDelta = true }
      default: continue
      }
    }
    if isDelta {
      // An `extensions` of the message is not one of the delta.
      deltas.append(own)
    } else {
      errors += own.errors
    }
  }

  private static func deltas(_ text: [UInt8]) throws(CacheError) -> [Delta] {
    if text.elementsEqual("null".utf8) { return [] }
    var deltas: [Delta] = []
    do throws(StreamError) {
      for element in try JSONMembers.elements(ofList: text) {
        var delta = Delta()
        var failure: CacheError?
        for (key, value) in try JSONMembers.members(ofObject: element) {
          do throws(CacheError) {
            _ = try delta.take(String(decoding: key, as: UTF8.self), value)
          } catch {
            failure = failure ?? error
          }
        }
        if let failure { throw StreamError(.malformed, failure.message) }
        deltas.append(delta)
      }
    } catch {
      throw CacheError(.malformedResponse, "`incremental` of the response: \(error.message)")
    }
    return deltas
  }

  private static func pending(_ item: JSONValue) throws(CacheError) -> Pending {
    guard let path = item["path"].flatMap({ PathStep.path($0) }) else {
      throw CacheError(
        .malformedResponse,
        "an element of `pending` of the response has no path of names and indices")
    }
    return Pending(
      id: try id(item["id"], "pending"),
      fragment: PendingFragment(path: path, label: item["label"]?.stringValue))
  }

  /// Ids are strings; some servers send numbers.
  fileprivate static func id(_ value: JSONValue?, _ member: String) throws(CacheError) -> String {
    switch value {
    case .string(let text)?: return text
    case .number(let number)?: return number.text
    default:
      throw CacheError(
        .malformedResponse, "an element of `\(member)` of the response has no id")
    }
  }

  fileprivate static func json(
    _ text: [UInt8], _ member: String
  ) throws(CacheError) -> JSONValue {
    do {
      return try JSONValue(parsing: text)
    } catch {
      throw CacheError(.invalidJSON, "`\(member)` of the response: \(error.message)")
    }
  }

  private static func list<Element>(
    _ text: [UInt8], _ member: String, _ element: (JSONValue) throws(CacheError) -> Element
  ) throws(CacheError) -> [Element] {
    let value = try json(text, member)
    if value.isNull { return [] }
    guard let elements = value.arrayValue else {
      throw CacheError(
        .malformedResponse, "`\(member)` of the response is \(value.shape); it must be a list")
    }
    var result: [Element] = []
    for value in elements { result.append(try element(value)) }
    return result
  }
}

extension IncrementalMessage.Delta {
  /// Takes a member; returns whether it belongs to a delta.
  fileprivate mutating func take(_ name: String, _ value: [UInt8]) throws(CacheError) -> Bool {
    let isNull = value.elementsEqual("null".utf8)
    switch name {
    case "data":
      isNullData = isNull
      if !isNull { content = .fields(value) }
    case "items": if !isNull { content = .elements(value) }
    case _ where isNull: break
    case "id": id = try IncrementalMessage.id(IncrementalMessage.json(value, name), "incremental")
    case "path": path = try Self.path(value, name)
    case "subPath": subPath = try Self.path(value, name)
    case "label": label = try IncrementalMessage.json(value, name).stringValue
    case "errors": errors = try IncrementalMessage.json(value, name).arrayValue ?? []
    case "extensions": extensions = try IncrementalMessage.json(value, name).objectValue
    default: return false
    }
    return true
  }

  private static func path(_ text: [UInt8], _ name: String) throws(CacheError) -> [PathStep] {
    guard let path = PathStep.path(try IncrementalMessage.json(text, name)) else {
      throw CacheError(
        .malformedResponse, "`\(name)` of a part of the response is not a list of names and indices"
      )
    }
    return path
  }
}

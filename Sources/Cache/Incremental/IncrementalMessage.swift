package import GQLRunJSON
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
  /// What the members of a message show; a response has one format.
  enum Format: String {
    case before2022 = "the format before 2022 (`path` and `data` in the message)"
    case of2022 = "the format of 2022 (`incremental` with `path`)"
    case withIDs = "the format with ids (`pending`, `incremental` with `id`)"
  }

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
    var hasData = false
    var hasItems = false
    var errors: [JSONValue] = []
    var extensions: JSONObject?

    /// Whether the delta has `data`, which is null.
    var isNullData: Bool { if case .none = content { hasData } else { false } }
  }

  var pending: [Pending] = []
  var deltas: [Delta] = []
  var completed: [Completed] = []
  var errors: [JSONValue] = []
  var extensions: JSONObject?
  var hasNext: Bool?
  /// `nil` if the message has nothing that shows it.
  private(set) var format: Format?

  /// - Parameter members: The members of the message, without the `data` of the first one.
  /// - Throws: ``CacheError`` for a member of a wrong kind, and for members of two formats or of the other kind of
  ///   message.
  init(_ members: [(key: [UInt8], value: [UInt8])], isFirst: Bool) throws(CacheError) {
    var own = Delta()
    for (key, value) in members {
      let name = String(decoding: key, as: UTF8.self)
      switch name {
      case "hasNext":
        // Each part has it, so the usual texts do without a parser.
        if value.elementsEqual("true".utf8) || value.elementsEqual("false".utf8) {
          hasNext = value.count == 4
          continue
        }
        let found = try Self.json(value, name)
        guard let flag = found.boolValue else {
          throw Self.wrong(name, found: found, expected: "true or false")
        }
        hasNext = flag
      case "pending":
        pending = try Self.list(value, member: name) { (item) throws(CacheError) in
          try Self.pending(item)
        }
      case "completed":
        completed = try Self.list(value, member: name) { (item) throws(CacheError) in
          Completed(
            id: try Self.id(item["id"], name),
            errors: try Self.elements(item["errors"] ?? .null, "errors` of `completed"))
        }
      case "incremental": deltas = try Self.deltas(value)
      case "errors" where isFirst: errors = try Self.elements(try Self.json(value, name), name)
      case "extensions": extensions = try Self.extensions(value)
      // The first message has a null, which the normalizer reads.
      case "data" where isFirst: break
      default: try own.take(name, value)
      }
    }
    try take(own, isFirst: isFirst)
    try noteFormat()
  }

  /// Takes the members of a part before 2022, which are those of the message.
  private mutating func take(_ own: Delta, isFirst: Bool) throws(CacheError) {
    let isPart = own.hasData || own.hasItems || own.path != nil || own.id != nil
    guard isPart else {
      errors += own.errors
      return
    }
    if isFirst {
      throw CacheError(
        .malformedResponse,
        "the first message of the response is a later part: it has `path`, `items` or `id`; the first one has "
          + "`data` without a path")
    }
    guard deltas.isEmpty, pending.isEmpty, completed.isEmpty else {
      throw CacheError(
        .malformedResponse,
        "a message of the response has `data`, `items`, `path` or `id` beside `incremental`, `pending` or "
          + "`completed`; these are messages of different formats")
    }
    guard own.path != nil else {
      throw CacheError(
        .malformedResponse,
        own.hasData && own.id == nil
          ? "the response has a second initial message: `data` without a path; a later part has a path or an id "
            + "inside `incremental`"
          : "a message of the response has `items` or `id` without a path; elements and ids belong inside "
            + "`incremental`")
    }
    guard own.id == nil else {
      throw CacheError(
        .malformedResponse,
        "a message of the response has an `id`; ids belong inside `incremental`, `pending` and `completed`"
      )
    }
    try own.checkContent(of: "a message")
    format = .before2022
    deltas.append(own)
  }

  private mutating func noteFormat() throws(CacheError) {
    if !pending.isEmpty || !completed.isEmpty { format = .withIDs }
    for delta in deltas where format != .before2022 {
      let found: Format = delta.id == nil ? .of2022 : .withIDs
      try Self.checkFormat(found, format)
      format = found
    }
  }

  /// Checks that a message has the format of those before.
  static func checkFormat(_ found: Format?, _ earlier: Format?) throws(CacheError) {
    guard let found, let earlier, found != earlier else { return }
    throw CacheError(
      .malformedResponse,
      "the response mixes two formats of parts: \(earlier.rawValue), and \(found.rawValue)")
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
            try delta.take(String(decoding: key, as: UTF8.self), value)
          } catch {
            failure = failure ?? error
          }
        }
        if let failure { throw StreamError(.malformed, failure.message) }
        do throws(CacheError) {
          try delta.checkContent(of: "an element")
        } catch {
          throw StreamError(.malformed, error.message)
        }
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
      fragment: PendingFragment(path: path, label: try label(item["label"] ?? .null)))
  }

  /// Ids are strings; some servers send numbers.
  fileprivate static func id(_ value: JSONValue?, _ member: String) throws(CacheError) -> String {
    if let id = value?.identifier { return id }
    throw CacheError(.malformedResponse, "an element of `\(member)` of the response has no id")
  }

  fileprivate static func label(_ value: JSONValue) throws(CacheError) -> String? {
    if value.isNull || value.stringValue != nil { return value.stringValue }
    throw wrong("label", found: value, expected: "a string")
  }

  /// The elements of a list; none of null.
  fileprivate static func elements(
    _ value: JSONValue, _ member: String
  ) throws(CacheError) -> [JSONValue] {
    if value.isNull { return [] }
    guard let elements = value.arrayValue else {
      throw wrong(member, found: value, expected: "a list")
    }
    return elements
  }

  fileprivate static func extensions(_ text: [UInt8]) throws(CacheError) -> JSONObject? {
    let value = try json(text, "extensions")
    if value.isNull || value.objectValue != nil { return value.objectValue }
    throw wrong("extensions", found: value, expected: "an object")
  }

  private static func wrong(
    _ member: String, found: JSONValue, expected: String
  ) -> CacheError {
    CacheError(
      .malformedResponse,
      "`\(member)` of the response is \(found.shape); it must be \(expected)")
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
    _ text: [UInt8], member: String, element: (JSONValue) throws(CacheError) -> Element
  ) throws(CacheError) -> [Element] {
    var result: [Element] = []
    for value in try elements(try json(text, member), member) { result.append(try element(value)) }
    return result
  }
}

extension IncrementalMessage.Delta {
  /// Takes a member. One that no format has is ignored.
  fileprivate mutating func take(_ name: String, _ value: [UInt8]) throws(CacheError) {
    let isNull = value.elementsEqual("null".utf8)
    switch name {
    case "data":
      hasData = true
      if !isNull { content = .fields(value) }
    case "items":
      hasItems = true
      if !isNull { content = .elements(value) }
    case _ where isNull: break
    case "id":
      id = PathStep.plainString(value)
      if id == nil {
        id = try IncrementalMessage.id(IncrementalMessage.json(value, name), "incremental")
      }
    case "path": path = try Self.path(value, name)
    case "subPath": subPath = try Self.path(value, name)
    case "label": label = try IncrementalMessage.label(IncrementalMessage.json(value, name))
    case "errors":
      errors = try IncrementalMessage.elements(IncrementalMessage.json(value, name), name)
    case "extensions": extensions = try IncrementalMessage.extensions(value)
    default: _ = try IncrementalMessage.json(value, String(name.prefix(80)))
    }
  }

  /// Checks that the part has a target, and either fields or elements.
  fileprivate func checkContent(of owner: String) throws(CacheError) {
    if id == nil, path == nil {
      throw CacheError(.malformedResponse, "\(owner) has neither an `id` nor a `path`")
    }
    if hasData == hasItems {
      throw CacheError(
        .malformedResponse,
        "\(owner) has \(hasData ? "both" : "neither") `data` \(hasData ? "and" : "nor") `items`; a part has one "
          + "of them")
    }
    guard id != nil, case .none = content else { return }
    throw CacheError(
      .malformedResponse,
      "\(owner) with an `id` has a null as `\(hasData ? "data" : "items")`; a part that failed is in `completed`, "
        + "with its errors")
  }

  private static func path(_ text: [UInt8], _ name: String) throws(CacheError) -> [PathStep] {
    if let path = PathStep.plainPath(text) { return path }
    guard let path = PathStep.path(try IncrementalMessage.json(text, name)) else {
      throw CacheError(
        .malformedResponse, "`\(name)` of a part of the response is not a list of names and indices"
      )
    }
    return path
  }
}

/// One step of a path in the data of a response.
public enum PathStep: Sendable, Hashable {
  /// A response key.
  case field(String)
  /// An index in a list.
  case element(Int)
}

extension PathStep {
  /// The steps of a path; `nil` if it is not a list of strings and indices.
  static func path(_ value: JSONValue) -> [PathStep]? {
    guard let values = value.arrayValue else { return nil }
    var steps: [PathStep] = []
    for value in values {
      if let key = value.stringValue {
        steps.append(.field(key))
      } else if let index = value.intValue, index >= 0 {
        steps.append(.element(index))
      } else {
        return nil
      }
    }
    return steps
  }

  /// The steps of a path without white space and escapes, as in most parts; `nil` for another text, valid or not.
  static func plainPath(_ text: [UInt8]) -> [PathStep]? {
    guard text.count > 1, text.first == UInt8(ascii: "["), text.last == UInt8(ascii: "]") else {
      return nil
    }
    var steps: [PathStep] = []
    for step in text[1..<(text.count - 1)].split(
      separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    {
      if let key = plainString(step) {
        steps.append(.field(key))
      } else if step.first != UInt8(ascii: "0") || step.count == 1, step.count < 10,
        !step.isEmpty, step.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
      {
        steps.append(.element(step.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }))
      } else {
        return nil
      }
    }
    return steps
  }

  /// The value of a JSON string of ASCII characters without escapes; `nil` for another text.
  static func plainString(_ text: some Collection<UInt8>) -> String? {
    guard text.count > 1, text.first == UInt8(ascii: "\"") else { return nil }
    let content = text.dropFirst().prefix(text.count - 2)
    guard text.dropFirst(text.count - 1).first == UInt8(ascii: "\""),
      content.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C })
    else { return nil }
    return String(decoding: content, as: UTF8.self)
  }

  /// The path as JSON: `["feed",0,"title"]`.
  package static func json(_ path: some Sequence<PathStep>) -> JSONValue {
    .array(
      path.map { step in
        switch step {
        case .field(let key): .string(key)
        case .element(let index): .number(JSONNumber(index))
        }
      })
  }

  /// The path as text: `feed[0].title`; `the top` if it is empty.
  package static func text(_ path: some Sequence<PathStep>) -> String {
    var text = ""
    for step in path {
      switch step {
      case .field(let key): text += (text.isEmpty ? "" : ".") + key.prefix(80)
      case .element(let index): text += "[\(index)]"
      }
    }
    return text.isEmpty ? "the top" : text
  }
}

/// A deferred fragment or a streamed list of which the server will send more.
public struct PendingFragment: Sendable, Hashable {
  /// The path of the object that the fragment belongs to, or of the list.
  public var path: [PathStep]
  /// The label in the document; `nil` without one.
  public var label: String?

  /// Creates the description of a fragment or list.
  public init(path: [PathStep], label: String? = nil) {
    self.path = path
    self.label = label
  }
}

/// What one part of a response has added to its data.
public struct DeliveredFragment: Sendable {
  /// The path of the object with the new fields, or of the list with the new elements. Empty for the first part.
  public var path: [PathStep]
  /// The label in the document; `nil` without one, and for the first part.
  public var label: String?
  /// The index of the first new element; `nil` for the fields of an object.
  public var firstIndex: Int?
  /// The new fields as a JSON object, or the new elements as a list; `nil` if the fragment failed, and for the first
  /// part of a response without `data`.
  public var data: ResultBody?
}

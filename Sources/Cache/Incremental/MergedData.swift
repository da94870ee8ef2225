public import GQLRunJSON
import GQLRunSupport

/// The `data` of a response that arrives in parts, as far as it has arrived.
///
/// It is merged when it is read first. Memory for it, and time, are needed only for the results whose data is read.
public final class MergedData: Sendable {
  private struct Content {
    var value: JSONValue?
    var text: [UInt8]?
  }

  private let log: MergeLog
  /// The number of changes of the first data.
  private let changes: Int
  private let content = Locked(Content())

  fileprivate init(_ log: MergeLog, changes: Int) {
    self.log = log
    self.changes = changes
  }

  /// The data.
  public var value: JSONValue { content.withLock { value(&$0) } }

  /// Whether the data is null; nothing is merged for it.
  public var isNull: Bool { log.isNull }

  /// The JSON text of the data.
  public func bytes() -> [UInt8] {
    content.withLock { content in
      if let text = content.text { return text }
      let text = value(&content).jsonBytes()
      content.text = text
      return text
    }
  }

  private func value(_ content: inout Content) -> JSONValue {
    if let value = content.value { return value }
    let value = log.value(after: changes)
    content.value = value
    return value
  }

  /// The length of the text in bytes.
  public var count: Int { bytes().count }

  /// Calls `body` with the text.
  public func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try bytes().withUnsafeBytes(body)
  }
}

/// The data of the first part of a response, and what later parts have added, as their texts: merged when it is read.
///
/// Data is usually read in the order of the parts, or only that of the last one; then each change is merged once.
final class MergeLog: Sendable {
  /// What a part adds to an object, or to a list.
  struct Change: Sendable {
    enum Content {
      case fields(ResultMerge)
      case elements
    }

    var path: [PathStep]
    /// The JSON text, which a normalizer has written.
    var text: [UInt8]
    var content: Content
  }

  private struct State {
    var changes: [Change] = []
    /// The data with the first changes; `nil` while it is that of the first part.
    var value: JSONValue?
    var merged = 0
  }

  private let first: JSONValue
  private let limits: JSONLimits
  private let state = Locked(State())

  /// - Parameter limits: Those of the texts.
  init(_ first: JSONValue, limits: JSONLimits) {
    self.first = first
    self.limits = limits
  }

  var isNull: Bool { first.isNull }

  func add(_ change: Change) { state.withLock { $0.changes.append(change) } }

  /// The data of all parts so far.
  var data: MergedData { MergedData(self, changes: state.withLock { $0.changes.count }) }

  /// The data after the first changes; those before the ones that were merged already are merged again.
  fileprivate func value(after count: Int) -> JSONValue {
    state.withLock { state in
      if count < state.merged {
        var value = first
        for change in state.changes[..<count] { merge(change, into: &value) }
        return value
      }
      var value = state.value.take() ?? first
      for change in state.changes[state.merged..<count] { merge(change, into: &value) }
      state.value = value
      state.merged = count
      return value
    }
  }

  /// A change of what a later part has replaced by a null has no effect.
  private func merge(_ change: Change, into data: inout JSONValue) {
    let options = JSONValue.ParsingOptions(limits: limits)
    guard !isNull, let new = try? JSONValue(parsing: change.text, options: options) else { return }
    switch change.content {
    case .fields(let merge): merge.merge(new, into: &data, at: change.path[...])
    case .elements:
      ResultMerge.append(new.arrayValue ?? [], to: &data, at: change.path[...])
    }
  }
}

/// Puts parts of a response together.
struct ResultMerge {
  /// Whether a null may be caused by an error; it then replaces no value.
  var keepsValues: Bool

  /// Merges the new fields of the object at `path`, if there is one.
  func merge(_ fields: JSONValue, into data: inout JSONValue, at path: ArraySlice<PathStep>) {
    Self.change(&data, path: path) { value in
      guard case .object = value, case .object = fields else { return }
      value.merge(fields, keepsValues: keepsValues)
    }
  }

  /// Appends elements to the list at `path`, if there is one.
  static func append(
    _ elements: [JSONValue], to data: inout JSONValue, at path: ArraySlice<PathStep>
  ) {
    change(&data, path: path) { value in
      guard case .array(var list) = value else { return }
      // Without a second reference, appending does not copy the list.
      value = .null
      list += elements
      value = .array(list)
    }
  }

  // Each container is taken out of its parent while it changes: with a second reference, as in a tuple that is
  // matched, every part would copy the whole list.

  private static func change(
    _ value: inout JSONValue, path: ArraySlice<PathStep>, body: (inout JSONValue) -> Void
  ) {
    switch path.first {
    case nil: body(&value)
    case .field(let key)?:
      guard case .object(var object) = value, var member = object[key] else { return }
      value = .null
      object[key] = .null
      change(&member, path: path.dropFirst(), body: body)
      object[key] = member
      value = .object(object)
    case .element(let index)?:
      guard case .array(var list) = value, list.indices.contains(index) else { return }
      value = .null
      var element = list[index]
      list[index] = .null
      change(&element, path: path.dropFirst(), body: body)
      list[index] = element
      value = .array(list)
    }
  }
}

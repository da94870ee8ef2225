public import GQLRunJSON
import GQLRunSupport

/// The `data` of a response that arrives in parts, as far as it has arrived.
///
/// Its text is written when it is read first.
public final class MergedData: Sendable {
  /// The data.
  public let value: JSONValue
  private let text = Locked<[UInt8]?>(nil)

  init(_ value: JSONValue) { self.value = value }

  /// The JSON text of the data.
  public func bytes() -> [UInt8] {
    text.withLock { text in
      if let text { return text }
      let bytes = value.jsonBytes()
      text = bytes
      return bytes
    }
  }

  /// The length of the text in bytes.
  public var count: Int { bytes().count }

  /// Calls `body` with the text.
  public func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try bytes().withUnsafeBytes(body)
  }
}

/// Puts parts of a response together.
struct ResultMerge {
  /// Whether a null may be caused by an error; it then replaces no value.
  var keepsValues: Bool

  /// Merges the new fields of the object at `path`.
  ///
  /// - Returns: Whether there is an object.
  func merge(_ fields: JSONValue, into data: inout JSONValue, at path: ArraySlice<PathStep>) -> Bool
  {
    change(&data, path: path) { value in
      guard case .object = value, case .object = fields else { return false }
      merge(fields, into: &value)
      return true
    }
  }

  /// Appends elements to the list at `path`.
  ///
  /// - Returns: Whether there is a list.
  static func append(
    _ elements: [JSONValue], to data: inout JSONValue, at path: ArraySlice<PathStep>
  ) -> Bool {
    ResultMerge(keepsValues: false).change(&data, path: path) { value in
      guard case .array(var list) = value else { return false }
      // Without a second reference, appending does not copy the list.
      value = .null
      list += elements
      value = .array(list)
      return true
    }
  }

  // Each container is taken out of its parent while it changes: with a second reference, as in a tuple that is
  // matched, every part would copy the whole list.

  private func merge(_ new: JSONValue, into old: inout JSONValue) {
    if case .object(let fields) = new, case .object(var object) = old {
      old = .null
      for member in fields {
        guard var value = object[member.key] else {
          object[member.key] = member.value
          continue
        }
        object[member.key] = .null
        merge(member.value, into: &value)
        object[member.key] = value
      }
      old = .object(object)
    } else if case .array(let elements) = new, case .array(var list) = old,
      list.count == elements.count
    {
      old = .null
      for (index, element) in elements.enumerated() {
        var value = list[index]
        list[index] = .null
        merge(element, into: &value)
        list[index] = value
      }
      old = .array(list)
    } else if !new.isNull || !keepsValues {
      old = new
    }
  }

  private func change(
    _ value: inout JSONValue, path: ArraySlice<PathStep>,
    body: (inout JSONValue) -> Bool
  ) -> Bool {
    switch path.first {
    case nil: return body(&value)
    case .field(let key)?:
      guard case .object(var object) = value, var member = object[key] else { return false }
      value = .null
      object[key] = .null
      defer {
        object[key] = member
        value = .object(object)
      }
      return change(&member, path: path.dropFirst(), body: body)
    case .element(let index)?:
      guard case .array(var list) = value, list.indices.contains(index) else { return false }
      value = .null
      var element = list[index]
      list[index] = .null
      defer {
        list[index] = element
        value = .array(list)
      }
      return change(&element, path: path.dropFirst(), body: body)
    }
  }
}

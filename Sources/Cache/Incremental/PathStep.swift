package import GQLRunJSON

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
  /// The new fields as a JSON object, or the new elements as a list; `nil` if the fragment failed.
  public var data: ResultBody?
}

package import GQLRunJSON

// Paths of uploads in variables, as the multipart request specification writes them, without
// `variables.`: names and list indices, separated by dots.

extension JSONValue {
  /// The value at a path such as `input.attachments.0`; `nil` if there is none.
  package func value(at path: String) -> JSONValue? {
    path.uploadSteps.reduce(self) { value, step in
      switch value {
      case .array(let elements):
        Int(step).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
      default: value?[String(step)]
      }
    }
  }
}

extension JSONObject {
  /// The variables with null at each path, in objects and lists that are created where they are
  /// missing.
  ///
  /// - Returns: The variables, and the paths as error messages write them: `input.attachments[0]`.
  func reserving(
    _ uploads: some Collection<String>
  ) throws(CacheError) -> (variables: JSONObject, shown: Set<String>) {
    var value = JSONValue.object(self)
    var shown: Set<String> = []
    // Elements of a list in their order, so that each extends it by one.
    let paths = uploads.map(\.uploadSteps).sorted { left, right in
      let pair = zip(left, right).first { $0 != $1 }
      guard let pair else { return left.count < right.count }
      guard let first = Int(pair.0), let second = Int(pair.1) else { return pair.0 < pair.1 }
      return first < second
    }
    for steps in paths { shown.insert(try value.reserve(steps[...], "")) }
    return (value.objectValue ?? self, shown)
  }
}

extension JSONValue {
  /// Puts null at the path `steps`, below the path `shown`; returns the whole path.
  fileprivate mutating func reserve(
    _ steps: ArraySlice<Substring>, _ shown: String
  ) throws(CacheError) -> String {
    func problem(_ text: String) -> CacheError {
      CacheError(
        .invalidVariables,
        "the upload \(shown.isEmpty ? steps.joined(separator: ".") : shown): \(text)",
        path: "variables.\(shown)")
    }
    guard let step = steps.first else {
      guard isNull else { throw problem("the variables already have \(shape) there") }
      return shown
    }
    let rest = steps.dropFirst()
    guard !step.isEmpty else {
      throw problem("write the path of a variable, such as input.attachments.0")
    }
    if let index = Int(step), index >= 0, isNull || arrayValue != nil {
      var elements = arrayValue ?? []
      guard index <= elements.count else {
        throw problem(
          "the list has \(elements.count) elements; give element \(elements.count), too")
      }
      if index == elements.count { elements.append(.null) }
      let path = try elements[index].reserve(rest, "\(shown)[\(index)]")
      self = .array(elements)
      return path
    }
    guard isNull || objectValue != nil else {
      throw problem("the variables have \(shape) there, which has no member \"\(step)\"")
    }
    var object = objectValue ?? JSONObject()
    var member = object[String(step)] ?? .null
    let path = try member.reserve(rest, shown.isEmpty ? String(step) : "\(shown).\(step)")
    object[String(step)] = member
    self = .object(object)
    return path
  }
}

extension String {
  fileprivate var uploadSteps: [Substring] {
    split(separator: ".", omittingEmptySubsequences: false)
  }
}

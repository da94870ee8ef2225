package import GQLRunJSON

/// The path of a variable or of a part of it: names and list indices, such as `input.attachments.0`.
///
/// The multipart request specification separates them by dots; `input.attachments[0]`, as in error
/// messages, is the same path.
package struct VariablePath: Sendable, Hashable, Comparable {
  /// The name of the variable, then names of fields and indices of elements.
  package let steps: [String]

  /// The name of the variable.
  package var name: String { steps[0] }
  /// Whether the path is that of a whole variable.
  package var isWhole: Bool { steps.count == 1 }
  /// The steps, separated by dots.
  package var text: String { steps.joined(separator: ".") }

  /// Parses a path. A bracket that is not closed is part of a name.
  package init(_ text: String) {
    var steps: [String] = []
    for part in text.split(separator: ".", omittingEmptySubsequences: false) {
      guard part.last == "]", let open = part.firstIndex(of: "["),
        case let indices = part[part.index(after: open)...].dropLast().split(
          separator: "][", omittingEmptySubsequences: false),
        !indices.contains(where: { $0.isEmpty || $0.contains("[") || $0.contains("]") })
      else {
        steps.append(String(part))
        continue
      }
      steps.append(String(part[..<open]))
      steps += indices.map { String($0) }
    }
    self.steps = steps
  }

  /// The index of an element that a step is; `nil` for a name.
  static func index(of step: String) -> Int? {
    step.utf8.allSatisfy { (48...57).contains($0) } ? Int(step) : nil
  }

  /// In the order in which parts are created: elements of a list by their index, so that each extends the
  /// list by one.
  package static func < (left: Self, right: Self) -> Bool {
    guard let (one, other) = zip(left.steps, right.steps).first(where: { $0 != $1 }) else {
      return left.steps.count < right.steps.count
    }
    guard let first = index(of: one), let second = index(of: other) else { return one < other }
    return first < second
  }
}

extension JSONValue {
  /// The value at a path such as `input.attachments.0`; `nil` if there is none.
  package func value(at path: String) -> JSONValue? {
    VariablePath(path).steps.reduce(self) { value, step in
      switch value {
      case .array(let elements):
        VariablePath.index(of: step).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
      default: value?[step]
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
    for path in uploads.map({ VariablePath($0) }).sorted() {
      let change = PartChange(subject: "the upload ", value: nil)
      shown.insert(try change.apply(to: &value, path.steps[...], below: ""))
    }
    return (value.objectValue ?? self, shown)
  }

  /// Sets a part of a variable, in objects and lists that are created where they are missing.
  ///
  /// - Throws: ``CacheError`` with code `invalidVariables` if the variable has another value in between, or
  ///   the list has too few elements.
  package mutating func set(_ new: JSONValue, at path: VariablePath) throws(CacheError) {
    var value = JSONValue.object(self)
    _ = try PartChange(subject: "variables.", value: new).apply(
      to: &value, path.steps[...], below: "")
    self = value.objectValue ?? self
  }
}

/// Puts a value into variables.
private struct PartChange {
  /// The beginning of messages, which the path follows.
  var subject: String
  /// The new value; `nil` puts null where there is no value yet.
  var value: JSONValue?

  /// Changes the value at `steps`, below the path `shown`; returns the whole path.
  func apply(
    to target: inout JSONValue, _ steps: ArraySlice<String>, below shown: String
  ) throws(CacheError) -> String {
    func problem(_ text: String) -> CacheError {
      CacheError(
        .invalidVariables,
        "\(subject)\(shown.isEmpty ? steps.joined(separator: ".") : shown): \(text)",
        path: "variables.\(shown)")
    }
    guard let step = steps.first else {
      guard value != nil || target.isNull else {
        throw problem("the variables already have \(target.shape) there")
      }
      target = value ?? .null
      return shown
    }
    let rest = steps.dropFirst()
    guard !step.isEmpty else {
      throw problem("write the path of a variable, such as input.attachments.0")
    }
    if let index = VariablePath.index(of: step), target.isNull || target.arrayValue != nil {
      var elements = target.arrayValue ?? []
      guard index <= elements.count else {
        throw problem(
          "the list has \(elements.count) elements; give element \(elements.count), too")
      }
      if index == elements.count { elements.append(.null) }
      let path = try apply(to: &elements[index], rest, below: "\(shown)[\(index)]")
      target = .array(elements)
      return path
    }
    guard target.isNull || target.objectValue != nil else {
      throw problem("the variables have \(target.shape) there, which has no member \"\(step)\"")
    }
    var object = target.objectValue ?? JSONObject()
    var member = object[step] ?? .null
    let path = try apply(to: &member, rest, below: shown.isEmpty ? step : "\(shown).\(step)")
    object[step] = member
    target = .object(object)
    return path
  }
}

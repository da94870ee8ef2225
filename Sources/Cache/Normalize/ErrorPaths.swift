import GQLRunJSON

/// The paths of a response's errors as a tree, so that one traversal follows all of them.
struct ErrorPaths: Sendable {
  typealias Step = PathStep

  /// The steps after each node of the tree; node 0 is the root. Empty without paths.
  private var children: [[Step: Int]] = []
  /// Whether the paths exceed a limit. Then no null of the response can be trusted.
  private(set) var isTooLong = false
  /// The errors of the response.
  let errors: [JSONValue]
  /// The numbers of the errors whose paths end at each node; `nil` for a path that was not followed to its end.
  private var ends: [Int: [Int?]] = [:]

  /// The maximum number of steps and the maximum depth of a path; responses are not nested deeper.
  static let maxSteps = 1 << 20
  static let maxDepth = 1024

  init(_ errors: [JSONValue]) {
    self.errors = errors
    for (number, error) in errors.enumerated() {
      guard let path = error["path"]?.arrayValue else { continue }
      add(path, of: number)
      if children.count > Self.maxSteps {
        isTooLong = true
        return
      }
    }
  }

  /// The paths of the errors that are inside the value at `base`, relative to it.
  ///
  /// - Parameter firstIndex: The index of the first element, if the value is the end of a list.
  init(_ errors: [JSONValue], below base: [PathStep], firstIndex: Int?) {
    self.errors = errors
    for (number, error) in errors.enumerated() {
      guard let path = error["path"].flatMap({ PathStep.path($0) }), path.starts(with: base) else {
        continue
      }
      var rest = Array(path.dropFirst(base.count))
      if let firstIndex {
        guard case .element(let index)? = rest.first, index >= firstIndex else { continue }
        rest[0] = .element(index - firstIndex)
      }
      add(rest, of: number)
    }
  }

  private mutating func add(_ path: [JSONValue], of number: Int) {
    // What precedes a malformed step counts.
    let isStep = { (value: JSONValue) in
      value.stringValue != nil || value.intValue.map { $0 >= 0 } == true
    }
    let steps = PathStep.path(.array(Array(path.prefix(while: isStep)))) ?? []
    add(steps, of: steps.count == path.count ? number : nil)
  }

  private mutating func add(_ path: [Step], of number: Int?) {
    if children.isEmpty { children.append([:]) }
    var position = 0
    for step in path.prefix(Self.maxDepth) {
      if let known = children[position][step] {
        position = known
        continue
      }
      children[position][step] = children.count
      position = children.count
      children.append([:])
    }
    ends[position, default: []].append(path.count > Self.maxDepth ? nil : number)
  }

  /// The errors at a node and below it, in the order of the response, with the steps from the node to the end of each
  /// path; `nil` if one of the paths was not followed to its end, or if they are too long to be stored.
  func errors(below position: Int) -> [(steps: [Step], number: Int)]? {
    var found: [(steps: [Step], number: Int)] = []
    var open: [(position: Int, steps: [Step])] = [(position, [])]
    var visited = 0
    while let (position, steps) = open.popLast() {
      visited += 1
      if visited > StoredErrors.maxBytes { return nil }
      for number in ends[position] ?? [] {
        guard let number else { return nil }
        found.append((steps, number))
      }
      for (step, next) in self.steps(after: position) { open.append((next, steps + [step])) }
    }
    return found.sorted { $0.number < $1.number }
  }

  private func steps(after position: Int) -> [Step: Int] {
    children.isEmpty ? [:] : children[position]
  }

  var isEmpty: Bool { isEnd(0) }

  func isEnd(_ position: Int) -> Bool { steps(after: position).isEmpty }

  /// The fields after a node, by response key.
  func fields(after position: Int) -> [(key: String, position: Int)] {
    steps(after: position).compactMap { step, next in
      if case .field(let key) = step { (key, next) } else { nil }
    }.sorted { $0.key < $1.key }
  }

  /// The list elements after a node, in order.
  func elements(after position: Int) -> [(index: Int, position: Int)] {
    steps(after: position).compactMap { step, next in
      if case .element(let index) = step { (index, next) } else { nil }
    }.sorted { $0.index < $1.index }
  }
}

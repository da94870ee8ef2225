import GQLRunJSON

/// The paths of a response's errors as a tree, so that one traversal follows all of them.
struct ErrorPaths: Sendable {
  enum Step: Hashable, Sendable {
    case field(String)
    case element(Int)
  }

  /// The steps after each node of the tree; node 0 is the root.
  private var children: [[Step: Int]] = [[:]]
  /// Whether the paths exceed a limit. Then no null of the response can be trusted.
  private(set) var isTooLong = false

  /// The maximum number of steps and the maximum depth of a path; responses are not nested deeper.
  static let maxSteps = 1 << 20
  static let maxDepth = 1024

  init(_ errors: [JSONValue]) {
    for error in errors {
      guard let path = error["path"]?.arrayValue else { continue }
      add(path)
      if children.count > Self.maxSteps {
        isTooLong = true
        return
      }
    }
  }

  private mutating func add(_ path: [JSONValue]) {
    var position = 0
    for value in path.prefix(Self.maxDepth) {
      let step: Step
      if let key = value.stringValue {
        step = .field(key)
      } else if let index = value.intValue, index >= 0 {
        step = .element(index)
      } else {
        return
      }
      if let known = children[position][step] {
        position = known
        continue
      }
      children[position][step] = children.count
      position = children.count
      children.append([:])
    }
  }

  var isEmpty: Bool { children[0].isEmpty }

  func isEnd(_ position: Int) -> Bool { children[position].isEmpty }

  /// The fields after a node, by response key.
  func fields(after position: Int) -> [(key: String, position: Int)] {
    children[position].compactMap { step, next in
      if case .field(let key) = step { (key, next) } else { nil }
    }.sorted { $0.key < $1.key }
  }

  /// The list elements after a node, in order.
  func elements(after position: Int) -> [(index: Int, position: Int)] {
    children[position].compactMap { step, next in
      if case .element(let index) = step { (index, next) } else { nil }
    }.sorted { $0.index < $1.index }
  }
}

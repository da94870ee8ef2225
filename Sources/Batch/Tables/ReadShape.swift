import GQLRunCache
import GQLRunJSON
import GQLRunPipeline

/// How one object in a response is read: what follows from each of its response keys.
///
/// Made of a ``TableShape``, whose paths it has step by step, so that each object is read once, in the order of its
/// members.
final class ReadShape: Sendable {
  /// What a response key leads to.
  enum Target: Sendable {
    /// A cell of the row, by the index of its column.
    case cell(Int)
    /// An object that belongs to the same row, a connection, or an object that is a row.
    case object(ReadShape)
    case list(ReadList)
  }

  /// The response keys, in the order of the document.
  let entries: [(key: String, target: Target)]
  /// The index of the connection that the object is; `nil` for other objects.
  let connection: Int?
  /// The table that has a row for the object, and how its key is found; `nil` for an object without a row.
  let row: (table: Int, shape: TableShape)?

  /// Whether rows have something from the object beside the list of the connection that it is.
  var hasOthers: Bool {
    entries.contains {
      switch $0.target {
      case .cell: true
      case .object(let shape): shape.row == nil && (shape.connection != nil || shape.hasOthers)
      case .list(let list): connection == nil || list.connection != connection
      }
    }
  }

  fileprivate init(_ draft: Draft) {
    entries = draft.steps.map { ($0.key, Target($0.draft)) }
    connection = draft.connection
    row = draft.row
  }

  convenience init(_ shape: TableShape) {
    let draft = Draft()
    draft.add(shape, below: [])
    self.init(draft)
  }

  /// The shape of a connection in a page, with its list.
  convenience init(_ connection: TableConnection, index: Int) {
    let draft = Draft()
    var list = connection.list
    list.connection = index
    draft.at(list.keys.suffix(1)[...]).list = list
    draft.connection = index
    self.init(draft)
  }
}

/// How the elements of a list are read.
final class ReadList: Sendable {
  let table: Int
  /// The index of its connection; `nil` for a list without pages.
  let connection: Int?
  /// The response key in each element that has the object of the row; `nil` if the element is the object.
  let node: String?
  let shape: TableShape
  let element: ReadShape

  init(_ list: TableShape.List) {
    table = list.table
    connection = list.connection
    node = list.node
    shape = list.element
    element = ReadShape(list.element)
  }
}

extension ReadShape.Target {
  fileprivate init(_ draft: ReadShape.Draft) {
    if let column = draft.column {
      self = .cell(column)
    } else if let list = draft.list {
      self = .list(ReadList(list))
    } else {
      self = .object(ReadShape(draft))
    }
  }
}

extension ReadShape {
  /// A shape that is being made.
  fileprivate final class Draft {
    private(set) var steps: [(key: String, draft: Draft)] = []
    var column: Int?
    var list: TableShape.List?
    var connection: Int?
    var row: (table: Int, shape: TableShape)?

    /// Adds what a shape has, whose object is at these response keys.
    func add(_ shape: TableShape, below keys: [String]) {
      for cell in shape.cells { at((keys + cell.keys)[...]).column = cell.column }
      for list in shape.lists {
        at((keys + list.keys)[...]).list = list
        if let connection = list.connection {
          at((keys + list.keys.dropLast())[...]).connection = connection
        }
      }
      for object in shape.objects {
        at((keys + object.keys)[...]).row = (object.table, object.shape)
        add(object.shape, below: keys + object.keys)
      }
    }

    func at(_ keys: ArraySlice<String>) -> Draft {
      guard let key = keys.first else { return self }
      let known = steps.first { $0.key == key }?.draft
      let next = known ?? Draft()
      if known == nil { steps.append((key, next)) }
      return next.at(keys.dropFirst())
    }
  }
}

/// The connections of a response that errors make unusable, as a tree of the steps to them.
final class FailedPlaces {
  private(set) var isFailed = false
  private var inner: [GraphQLError.PathElement: FailedPlaces] = [:]

  func add(_ path: some Collection<GraphQLError.PathElement>) {
    guard let first = path.first else {
      isFailed = true
      return
    }
    let next = inner[first] ?? FailedPlaces()
    inner[first] = next
    next.add(path.dropFirst())
  }

  subscript(key: String) -> FailedPlaces? { inner[.key(key)] }
  subscript(index: Int) -> FailedPlaces? { inner[.index(index)] }
}

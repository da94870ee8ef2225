import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline

/// The tables behind an operation: one for each list in its results, and how all pages of each connection are
/// requested.
///
/// Derived from the document, and from the schema if there is one:
///
/// ```
/// { customers(first: 50) { nodes { id name orders(first: 50) { nodes { id total } } } } }
///
/// customers         _key  _parent  _position  id  name
/// customers_orders  _key  _parent  _position  id  total
/// ```
struct TablePlan: Sendable {
  /// The operation that is sent first: that of the caller with what continuations need: `pageInfo`, `__typename` and
  /// the fields of keys.
  let template: OperationTemplate
  /// The tables, each after its parent. After their own columns, those of the first level have the values of the manifest's
  /// row that `columns` of the operation lists.
  var tables: [TableDefinition]
  /// The connections, each after the one that it is in.
  let connections: [TableConnection]
  /// How the data of the operation is read.
  let root: TableShape
  /// What the user should know before the first request, such as fields of the result that no table has.
  let notes: [String]
  /// The texts of `_key`; see ``key(of:in:)``.
  let keys: ObjectKeys
  /// GitHub's `rateLimit` as the document selects it, which each page selects, too: it is no table, and tells what requests
  /// cost.
  var rateLimit: [Selection] = []
  /// The response keys of ``root`` that no directive leaves out.
  var required: [String] = []
}

extension TablePlan {
  /// The number of connections that each connection is in.
  var depths: [Int] {
    connections.reduce(into: []) { depths, connection in
      depths.append(connection.parent.map { depths[$0] + 1 } ?? 0)
    }
  }

  /// The `_key` of an object by the key rules; `nil` if it has no identity.
  ///
  /// - Parameter object: That of a row: in `edges`, the node.
  func key(of object: JSONObject, in shape: TableShape) -> String? {
    guard let identity = shape.identity, let type = object[identity.typename]?.stringValue else {
      return nil
    }
    return keys.key(of: type) { name in identity.fields[name].flatMap { object[$0] } }
  }
}

/// Why a document has no plan of tables: everything that is wrong, in the order of the document.
struct TablePlanError: Error {
  /// One problem.
  struct Problem: Sendable, Equatable {
    /// What was found: "`customers.orders` has more pages …".
    var message: String
    /// What would work.
    var hint: String?
    /// Where in the document; `nil` for a problem of an option.
    var location: SourceLocation?
    /// Where in `tables` of the manifest; `nil` for a problem of the document.
    var option: FileLocation?
  }

  var problems: [Problem]
}

/// One table.
struct TableDefinition: Sendable, Equatable {
  /// The response keys of the list without `edges`, `nodes` and `node`, joined with `_`, or the name that `as` gives
  /// it.
  var name: String
  /// The index of the table whose rows have those of this one; `nil` for the first level.
  var parent: Int?
  /// Whether it has one row: a single object, such as `order` of `{ order(id: 1) { total } }`.
  var isSingle = false
  /// Whether an object may be in the lists of several parents, so that `_key` and `_parent` identify a row.
  var isShared = false
  /// The columns after `_key`, `_parent` and `_position`.
  var columns: [TableColumn]
  /// The schema coordinate of the list, such as `Query.customers`; `nil` without a schema.
  var coordinate: String?
  /// The response keys from the row above, joined with `_`: `orders` of `customers_orders`. Part of the `_key` of a
  /// row whose object has no key: `Customer:7.orders.0`.
  var path: String

  /// The columns that each table has before its own.
  static let ownColumns = ["_key", "_parent", "_position"]
}

/// One column of a table.
struct TableColumn: Sendable, Equatable {
  enum Kind: String, Sendable {
    case integer, real, boolean, text
    /// A list, as JSON text.
    case json
    /// A custom scalar, or a leaf without a schema: a string, a number or a Boolean as it is, other values as JSON
    /// text.
    case any
  }

  /// The response keys from the object of the row to the leaf, joined with `_`.
  var name: String
  var kind: Kind
  /// The schema coordinate of the field, such as `Customer.name`; `nil` without a schema.
  var coordinate: String?
}

/// How an object in a result is read: what follows from each of its response keys.
///
/// Absent response keys are no errors: of a union, each type has its own, and `@include` leaves some out.
struct TableShape: Sendable {
  /// What a response key leads to.
  indirect enum Target: Sendable {
    /// A cell of the row, by the index of its column.
    case cell(Int)
    /// An object that belongs to the same row, a connection, or an object that is a row.
    case object(TableShape)
    case list(List)
  }

  /// A list of objects.
  struct List: Sendable {
    /// The response key in each element that has the object of the row: that of `node` in `edges`; `nil` if the
    /// element is the object.
    var node: String?
    /// The index of the table whose rows its elements are.
    var table: Int
    /// The index of its connection; `nil` for a list without pages.
    var connection: Int?
    /// How its elements are read.
    var element = TableShape()
  }

  /// The response keys of what identifies the object of the row; in `edges`, the node has them.
  struct Identity: Sendable, Equatable {
    /// That of `__typename`.
    var typename: String
    /// Those of key fields, by the name of the field. An object has those of its own type.
    var fields: [String: String]
  }

  /// The response keys, in the order of the document.
  var entries: [(key: String, target: Target)] = []
  /// The index of the connection that the object is; `nil` for other objects.
  var connection: Int?
  /// The index of the table that has a row for the single object, as for `order` in `{ order(id: 1) { total } }`; `nil`
  /// for other objects.
  var table: Int?
  /// `nil` for objects without a row, and for those that nothing identifies.
  var identity: Identity?

  /// Whether rows have something from the object beside the list of the connection that it is.
  var hasOthers: Bool {
    entries.contains {
      switch $0.target {
      case .cell: true
      case .object(let shape): shape.table == nil && (shape.connection != nil || shape.hasOthers)
      case .list(let list): connection == nil || list.connection != connection
      }
    }
  }

  /// The lists in the object that no other list is above.
  var lists: [List] {
    entries.flatMap { entry -> [List] in
      switch entry.target {
      case .cell: []
      case .object(let shape): shape.lists
      case .list(let list): [list]
      }
    }
  }
}

/// A connection, whose pages after the first are requested by themselves.
struct TableConnection: Sendable {
  /// How a page finds the object that the ``steps`` begin from.
  enum Holder: Sendable, Hashable {
    /// They begin from the data: no list is above the connection.
    case path
    /// Through a field of the query type, as an object of this type; `nil` for the value `__typename` of the
    /// continuation's holder. The value of `nodes(ids:)` is a list of one.
    case field(name: String, type: String?, isList: Bool = false)
    /// There is no way, which `allow_partial` accepts: a connection with more pages is a continuation with this
    /// problem.
    case none(reason: String)

    /// Through `node(id:)`.
    static func node(type: String?) -> Self { .field(name: "node", type: type) }
  }

  /// An argument that finds the holder.
  struct HolderValue: Sendable, Equatable {
    /// The name of the argument, which is also that in ``Continuation/holder``.
    var argument: String
    /// The response keys to the value, from the element of the list that the connection is in: from the edge of
    /// `edges`.
    var keys: [String]
    /// The type of a variable for it.
    var type: TypeReference
  }

  /// A field between the holder's object and the connection; the last is the connection itself.
  struct Step: Sendable, Equatable {
    /// The type conditions around the field, the outermost first.
    var conditions: [String]
    /// With the response key and the arguments of the document. Only that of the connection has a selection set: its
    /// list and its `pageInfo`, with all that is inserted, and without fragment spreads.
    var field: Field
    /// The directives of the fragments around the field, if there are several ways: the first page may lack some of them.
    var directives: [[Directive]] = []
  }

  /// The response keys from the data to the connection, without indices of lists.
  let keys: [String]
  /// The index of the connection that it is in; `nil` if none is above it.
  let parent: Int?
  /// The index of the table with its rows.
  let table: Int
  var holder: Holder
  /// The arguments of the holder; empty for a path.
  let values: [HolderValue]
  /// The ways from the holder's object to the connection, all with the same response keys: several only where
  /// fragments on several types select it.
  var steps: [[Step]]
  /// The arguments for the cursor and the size: `after` and `first`, or `before` and `last`.
  let cursorArgument: String
  let sizeArgument: String?
  /// The types of variables for them.
  let cursorType: TypeReference
  let sizeType: TypeReference
  /// The size of a page as the document gives it; `nil` if that is a variable without a known value, or the server's
  /// choice.
  let pageSize: Int?
  /// The response key of its list.
  let listKey: String
  let list: TableShape.List
  /// The response keys below the connection of `hasNextPage`, or `hasPreviousPage`, and of the cursor.
  let hasMoreKeys: [String]
  let cursorKeys: [String]
  /// The response key of `totalCount`, if the document selects it.
  let totalKey: String?

  /// The keys in messages: `customers.nodes.orders`.
  var path: String { keys.joined(separator: ".") }
  /// Its selection in the document; `nil` without one.
  var field: Field? { steps.first?.last?.field }

  /// The arguments that find the object of a page.
  var finders: [HolderValue] { values.filter { $0.argument != "__typename" } }

  /// The response keys from the holder's object to the connection.
  var holderKeys: [String] { (steps.first ?? []).map(\.field.responseKey) }
}

/// One row of a table.
struct TableRow: Sendable {
  /// The index of the table.
  var table: Int
  var key: String
  var parent: String?
  var position: Int
  /// The values by index of the column; `nil` for an absent one.
  var cells: [JSONValue?]
}

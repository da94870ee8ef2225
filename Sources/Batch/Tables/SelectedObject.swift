import GQLRunCache
import GQLRunLanguage

/// What an operation selects of an object in its results: its fields by response key, through all fragments.
///
/// The planner adds what continuations need; ``selections(of:only:)`` is the selection set again, without fragment
/// spreads.
final class SelectedObject {
  /// One selection of the object: where fragments on several types select a field, its object has a part for each.
  struct Part {
    /// The type that the field declares; `nil` without a schema.
    var type: String?
    /// Has the location.
    var maker: SyntaxMaker
    /// What is added to the document.
    var added: [Selection] = []
  }

  fileprivate(set) var parts: [Part]
  fileprivate(set) var fields: [SelectedField] = []
  /// The response keys of added fields, by name.
  private var addedKeys: [String: String] = [:]

  fileprivate init(_ parts: [Part]) { self.parts = parts }

  /// The fields with one of these names.
  func fields(named names: String...) -> [SelectedField] {
    fields.filter { names.contains($0.name) }
  }

  /// Adds a leaf field to a part that does not select it; returns its response key, which is the same in all parts.
  ///
  /// - Parameters:
  ///   - condition: The type condition to add it with; `nil` if the type of the part has the field.
  ///   - type: The type of the field; `nil` without a schema.
  func add(
    _ name: String, to part: Int, on condition: String? = nil, type: TypeReference? = nil
  ) -> String {
    let key = key(of: name, type: type)
    let known = fields.first { $0.key == key }
    if known?.uses.contains(where: { $0.part == part && $0.isCertain }) == true { return key }
    let field = parts[part].maker.field(name, as: key)
    append(condition.map { parts[part].maker.fragment(on: $0, [field]) } ?? field, to: part)
    return key
  }

  /// Adds a field with leaves to a part, except what it selects; returns the response keys of the field and the leaves.
  func add(_ name: String, leaves: [String], to part: Int) -> (key: String, leaves: [String]) {
    let key = key(of: name, type: nil)
    let known = fields.first { $0.key == key }
    let use = known?.uses.firstIndex { $0.part == part && $0.isCertain }
    if let inner = known?.object, let use {
      return (key, leaves.map { inner.add($0, to: use) })
    }
    let maker = parts[part].maker
    let keys = leaves.map { known?.object?.key(of: $0, type: nil) ?? $0 }
    append(maker.field(name, as: key, zip(leaves, keys).map { maker.field($0, as: $1) }), to: part)
    return (key, keys)
  }

  private func append(_ selection: Selection, to part: Int) {
    if !parts[part].added.contains(selection) { parts[part].added.append(selection) }
  }

  /// The response key for an added field: its name, or an alias if another field has that key.
  private func key(of name: String, type: TypeReference?) -> String {
    if let known = addedKeys[name] { return known }
    var key = name
    while let taken = fields.first(where: { $0.key == key }) {
      let isSame = taken.uses.allSatisfy { use in
        let isSameType = type == nil || use.type.map { $0.printed() == type?.printed() } ?? true
        return use.field.name.value == name && use.field.arguments.isEmpty && isSameType
      }
      if isSame { break }
      key = ObjectKeys.alias(of: key)
    }
    addedKeys[name] = key
    return key
  }

  /// The selection set of a part.
  ///
  /// - Parameter keys: The response keys of the fields that it has, beside what is added; `nil` for all.
  func selections(of part: Int, only keys: Set<String>? = nil) -> SelectionSet {
    var groups = [(conditions: [SelectionTree.Condition](), selections: parts[part].added)]
    for field in fields where keys?.contains(field.key) ?? true {
      for (index, use) in field.uses.enumerated() where use.part == part {
        let selection = Selection.field(field.selected(index))
        if let group = groups.firstIndex(where: { $0.conditions == use.conditions }) {
          groups[group].selections.append(selection)
        } else {
          groups.append((use.conditions, [selection]))
        }
      }
    }
    let maker = parts[part].maker
    return maker.set(
      groups.flatMap { group in
        group.conditions.reversed().reduce(group.selections) { inner, condition in
          [maker.fragment(on: condition.type?.value, directives: condition.directives, inner)]
        }
      })
  }
}

/// A response key of an object in the results of an operation, with all fields that have it.
final class SelectedField {
  /// A field of the document.
  struct Use {
    /// The index of the part of the enclosing object that selects it.
    var part: Int
    /// The fragments around the field that say something of the type or have directives, the outermost first.
    var conditions: [SelectionTree.Condition]
    /// The field without its selection set.
    var field: Field
    /// The type that has the field; `nil` without a schema.
    var parent: String?
    /// `nil` without a schema.
    var type: TypeReference?

    /// Whether every object of the part has the field.
    var isCertain: Bool {
      conditions.isEmpty && field.directives.isEmpty && field.arguments.isEmpty
    }
  }

  let key: String
  /// At least one.
  let uses: [Use]
  /// The value if it has a selection set, or the elements of the list; its parts are those of ``uses``.
  fileprivate(set) var object: SelectedObject?

  fileprivate init(key: String, uses: [Use]) {
    self.key = key
    self.uses = uses
  }

  /// The name of the field in its first use.
  var name: String { uses[0].field.name.value }
  var location: SourceLocation { uses[0].field.location }
  /// The schema coordinate of the first use.
  var coordinate: String? { uses[0].parent.map { "\($0).\(name)" } }

  /// The field of a use with its selection set.
  func selected(_ use: Int, only keys: Set<String>? = nil) -> Field {
    var field = uses[use].field
    field.selectionSet = object?.selections(of: use, only: keys)
    return field
  }
}

/// Reads the selections of an operation by response key.
struct SelectionReading {
  private let tree: SelectionTree
  private var count = 0
  /// The maximum number of fields, each as often as fragments select it.
  static let maxFields = 50_000
  /// The maximum depth of fields in each other.
  static let maxDepth = 256

  init(_ tree: SelectionTree) { self.tree = tree }

  /// The data of the operation.
  mutating func data() throws(TablePlanError) -> SelectedObject {
    try object([Source(scopes: [tree.root], type: tree.root.type)], depth: 0)
  }

  /// A part of an object, and the selection sets that have it.
  private struct Source {
    var scopes: [SelectionTree.Scope]
    var type: String?
  }

  /// The uses of a field, with the selection sets of each.
  private typealias Uses = [(use: SelectedField.Use, scopes: [SelectionTree.Scope])]

  private mutating func object(
    _ sources: [Source], depth: Int
  ) throws(TablePlanError) -> SelectedObject {
    var keys: [String] = []
    var found: [String: Uses] = [:]
    for (part, source) in sources.enumerated() {
      for entry in tree.fields(of: source.scopes) {
        try count(entry)
        if found[entry.key] == nil { keys.append(entry.key) }
        add(entry, of: part, to: &found[entry.key, default: []])
      }
    }
    let object = SelectedObject(
      sources.map { source in
        let start = SourceLocation(line: 1, column: 1, offset: 0)
        return SelectedObject.Part(
          type: source.type,
          maker: SyntaxMaker(at: source.scopes.first?.set.location ?? start))
      })
    for key in keys {
      let uses = found[key] ?? []
      let field = SelectedField(key: key, uses: uses.map(\.use))
      if uses.contains(where: { !$0.scopes.isEmpty }) {
        guard depth < Self.maxDepth else {
          throw TablePlanError(
            "the fields of the document are in each other more than \(Self.maxDepth) levels deep",
            hint: "select less, or in several operations", at: field.location)
        }
        field.object = try self.object(
          uses.map { Source(scopes: $0.scopes, type: $0.use.type?.namedType.value) },
          depth: depth + 1)
      }
      object.fields.append(field)
    }
    return object
  }

  private mutating func count(_ entry: SelectionTree.Entry) throws(TablePlanError) {
    count += 1
    guard count > Self.maxFields else { return }
    throw TablePlanError(
      "the document has more than \(Self.maxFields) fields with those of its fragments",
      hint: "select less, or in several operations", at: entry.field.location)
  }

  /// Adds a field to the uses of its response key.
  private func add(_ entry: SelectionTree.Entry, of part: Int, to uses: inout Uses) {
    let scopes = tree.below([entry])
    let same = uses.firstIndex { known in
      known.use.part == part && known.use.conditions == entry.conditions
        && known.use.field.directives.isEmpty && entry.field.directives.isEmpty
    }
    if let same {
      uses[same].scopes += scopes
      return
    }
    var use = SelectedField.Use(
      part: part, conditions: entry.conditions, field: entry.field, parent: entry.parent,
      type: tree.type(of: entry))
    use.field.selectionSet = nil
    if tree.schema == nil { use.parent = nil }
    uses.append((use, scopes))
  }
}

extension TablePlanError {
  init(_ message: String, hint: String?, at location: SourceLocation?) {
    self.init(problems: [Problem(message: message, hint: hint, location: location)])
  }
}

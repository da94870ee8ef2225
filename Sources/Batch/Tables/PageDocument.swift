import GQLRunCache
import GQLRunJSON
import GQLRunLanguage

/// The document that requests further pages of one connection, each with its own cursor.
struct PageDocument {
  /// The name of the variable with the size of all pages, or of those of the connection with this index.
  static func sizeVariable(_ connection: Int?) -> String { own("gqlrunSize", connection) }

  /// The name of the variable with an argument that finds the object of a page.
  static func variable(_ argument: String, _ number: Int?) -> String {
    own(argument == "id" ? "gqlrunID" : "gqlrun_\(argument)", number)
  }

  /// The name of the variable with the cursor of a page.
  static func cursorVariable(_ number: Int?) -> String { own("gqlrunAfter", number) }

  private static func own(_ name: String, _ number: Int?) -> String {
    name + (number.map { "_\($0)" } ?? "")
  }

  /// The operation of the caller, whose variables and fragments the pages use.
  let template: OperationTemplate
  let connection: TableConnection
  /// The type that the object of each page is requested as; `nil` for that of the document.
  let types: [String?]
  /// Whether the size of the pages is a variable, instead of that of the document.
  let hasSize: Bool
  /// What the document selects of the data beside the pages; see ``TablePlan/rateLimit``.
  let rateLimit: [Selection]

  private var maker: SyntaxMaker { SyntaxMaker(at: template.definition.location) }

  private var size: (argument: String, variable: VariableDefinition)? {
    guard hasSize, let argument = connection.sizeArgument else { return nil }
    return (argument, maker.variable(Self.sizeVariable(nil), of: connection.sizeType))
  }

  /// The document.
  var document: Document {
    let root = maker.set(types.indices.flatMap { selections($0) } + rateLimit)
    var own = types.indices.flatMap { index in
      let number = connection.number(of: index)
      return connection.finders.map {
        maker.variable(Self.variable($0.argument, number), of: $0.type)
      } + [maker.variable(Self.cursorVariable(number), of: connection.cursorType)]
    }
    if let size { own.append(size.variable) }
    let fragments = template.callerDocument.fragments + [fragment].compactMap { $0 }
    var used = UsedVariables(fragments)
    used.add(root)
    let operation = OperationDefinition(
      type: .query, name: maker.name((template.name ?? "") + "NextPage"),
      variables: own
        + template.definition.variables.filter { used.names.contains($0.name.value) },
      directives: [], selectionSet: root, location: maker.location)
    return Document(definitions: [.operation(operation)] + fragments.map { .fragment($0) })
  }

  // MARK: Parts

  /// The selections of the data that have one page.
  private func selections(_ index: Int) -> [Selection] {
    let number = connection.number(of: index)
    let pages = connection.steps.map { way in
      let selection = selection(way[...], number)
      guard let type = types[index], way.first?.conditions.isEmpty == true else {
        return selection
      }
      return maker.fragment(on: type, [selection])
    }
    guard case .field(let field, _, let isList) = connection.holder else { return pages }
    let arguments = connection.finders.map { value in
      var argument = maker.argument(
        value.argument, variable: Self.variable(value.argument, number))
      if isList { argument.value = .list([argument.value], maker.location) }
      return argument
    }
    let id =
      connection.selectsID(template.schema) ? [maker.field("id", as: TableConnection.idKey)] : []
    return [maker.field(field, as: TableConnection.alias(index), arguments: arguments, id + pages)]
  }

  /// The fields of a way, each in the one before it, and in their type conditions.
  private func selection(_ steps: ArraySlice<TableConnection.Step>, _ number: Int?) -> Selection {
    let step = steps[steps.startIndex]
    var field = step.field
    if steps.count > 1 {
      field.selectionSet = maker.set([selection(steps.dropFirst(), number)])
    } else {
      let cursor = connection.cursorArgument
      field.arguments.removeAll { [cursor, size?.argument].contains($0.name.value) }
      field.arguments.append(maker.argument(cursor, variable: Self.cursorVariable(number)))
      if let size {
        field.arguments.append(
          maker.argument(size.argument, variable: size.variable.name.value))
      }
      if connection.steps.count == 1 { field.directives = [] }
      if let fragment {
        let spread = FragmentSpread(
          name: fragment.name, directives: [], location: maker.location)
        field.selectionSet = maker.set([.fragmentSpread(spread)])
      }
    }
    let included = step.directives.reduce(Selection.field(field)) { inner, directives in
      maker.fragment(directives: directives, [inner])
    }
    return step.conditions.reversed().reduce(included) { maker.fragment(on: $1, [$0]) }
  }

  /// The selection of the connection, which several pages have; `nil` to repeat it.
  private var fragment: FragmentDefinition? {
    guard types.count > 1, let schema = template.schema, let type = connection.pageType(schema),
      let selected = connection.field?.selectionSet
    else { return nil }
    return FragmentDefinition(
      name: maker.name("gqlrunPage"), typeCondition: maker.name(type), directives: [],
      selectionSet: selected, location: maker.location)
  }
}

extension TableConnection {
  /// The number in the names of a page's variables; `nil` for the only page of a document.
  func number(of page: Int) -> Int? { holder == .path ? nil : page }

  /// The type of the connection; `nil` if it is not the same on all ways.
  fileprivate func pageType(_ schema: Schema) -> String? {
    guard let way = steps.first, steps.count == 1 else { return nil }
    var type: String? =
      switch holder {
      case .path: schema.rootType(for: .query)?.name
      case .field(_, let type, _): type
      case .none: nil
      }
    for step in way {
      guard let object = step.conditions.last ?? type else { return nil }
      type = schema.field(step.field.name.value, on: object)?.type.namedType.value
    }
    return type
  }
}

extension SelectionSet {
  /// Changes the fields at any depth, those in others first. The set has no fragment spreads.
  ///
  /// - Parameter change: Gets a field, and the response keys to it; returns `nil` to remove it.
  mutating func change(below keys: [String] = [], _ change: (Field, [String]) -> Field?) {
    selections = selections.compactMap { selection in
      switch selection {
      case .field(var field):
        let keys = keys + [field.responseKey]
        field.selectionSet?.change(below: keys, change)
        // Nothing is left of it.
        if field.selectionSet?.selections.isEmpty == true { return nil }
        return change(field, keys).map { .field($0) }
      case .inlineFragment(var fragment):
        fragment.selectionSet.change(below: keys, change)
        return fragment.selectionSet.selections.isEmpty ? nil : .inlineFragment(fragment)
      case .fragmentSpread: return selection
      }
    }
  }
}

extension OperationDefinition {
  /// Removes the variables that the operation, which has no fragment spreads, does not use. Returns the values of the others.
  mutating func removeUnusedVariables(_ given: JSONObject) -> JSONObject {
    var used = UsedVariables([])
    used.add(selectionSet)
    used.add(directives)
    variables.removeAll { !used.names.contains($0.name.value) }
    return given.values(of: variables)
  }
}

extension JSONObject {
  /// The members that are values of variables.
  func values(of variables: [VariableDefinition]) -> JSONObject {
    var values = JSONObject()
    for name in variables.map(\.name.value) { values[name] = self[name] }
    return values
  }
}

/// The variables that a part of a document uses, also in fragments.
struct UsedVariables {
  /// Their names.
  private(set) var names: Set<String> = []
  /// The fragments that are not yet searched.
  private var fragments: [String: FragmentDefinition]

  /// - Parameter known: The fragments of the document.
  init(_ known: [FragmentDefinition]) {
    fragments = Dictionary(known.map { ($0.name.value, $0) }) { first, _ in first }
  }

  /// Adds the variables of a selection set, at any depth.
  mutating func add(_ set: SelectionSet) {
    set.forEachSelection { selection in
      add(selection.directives)
      if case .field(let field) = selection { add(field.arguments) }
      guard case .fragmentSpread(let spread) = selection,
        let fragment = fragments.removeValue(forKey: spread.name.value)
      else { return }
      add(fragment.directives)
      add(fragment.selectionSet)
    }
  }

  /// Adds the variables of directives.
  mutating func add(_ directives: [Directive]) { add(directives.flatMap(\.arguments)) }

  private mutating func add(_ arguments: [Argument]) {
    names.formUnion(arguments.flatMap(\.value.variables).map(\.value))
  }
}

import GQLRunCache
import GQLRunLanguage

extension TablePlanner {
  /// How the object of a connection is found again.
  struct Finding {
    var holder: TableConnection.Holder
    var values: [TableConnection.HolderValue] = []
    /// The index in the chain of the object that the holder finds.
    var start = 0
  }

  /// A selection of a connection, from an object that has it below itself.
  private struct Way {
    /// The fields to the connection, which is the last; at least that.
    var uses: [(field: SelectedField, index: Int)]
    /// The part of the object that they begin in.
    var part: Int

    var steps: [SelectedField.Use] { uses.map { $0.field.uses[$0.index] } }
    /// The types around the first field.
    var conditions: [String] { steps[0].conditions.compactMap { $0.type?.value } }
  }

  /// The ways to a connection from the object with an index in its chain.
  private func ways(to field: SelectedField, _ chain: [Link], from start: Int) -> [Way] {
    field.uses.indices.map { index in
      var way = Way(uses: [(field, index)], part: field.uses[index].part)
      for link in chain[(start + 1)...].reversed() {
        guard let outer = link.field else { continue }
        way.uses.insert((outer, way.part), at: 0)
        way.part = outer.uses[way.part].part
      }
      return way
    }
  }

  /// The fields from the holder's object to a connection.
  func steps(of connection: Connection) -> [[TableConnection.Step]] {
    let finding = connection.finding
    let chain = connection.place.chain.dropLast()
    let object = chain[finding.start].object
    var isByType = false
    if case .field(let name, _, _) = finding.holder { isByType = ["node", "nodes"].contains(name) }
    let only = Set([connection.list.key, connection.pageInfo.key])
    let ways = ways(to: connection.field, Array(chain), from: finding.start)
    return ways.map { way in
      var steps = way.uses.map { field, index in
        let conditions = field.uses[index].conditions
        return TableConnection.Step(
          conditions: conditions.compactMap { $0.type?.value }, field: field.uses[index].field,
          directives: ways.count == 1 ? [] : conditions.map(\.directives).filter { !$0.isEmpty })
      }
      if isByType, steps[0].conditions.isEmpty, let type = object.parts[way.part].type {
        steps[0].conditions = [type]
      }
      if let last = way.uses.last {
        var field = last.field.selected(last.index, only: only)
        // A connection with more pages is included.
        if ways.count == 1 { field.directives = [] }
        steps[steps.count - 1].field = field
      }
      return steps
    }
  }

  /// Decides how the pages of a connection are requested, and adds what identifies its object.
  ///
  /// The innermost object comes first: it has the same connection even if the objects above have another one by then.
  mutating func finding(of field: SelectedField, _ place: Place, problem: String?) -> Finding {
    let chain = Array(place.chain.dropLast())
    guard problem == nil else { return Finding(holder: .none(reason: problem ?? "")) }
    guard place.isListed else { return Finding(holder: .path) }
    for start in chain.indices.reversed() {
      let ways = ways(to: field, chain, from: start)
      let found =
        schema.map { find(chain[start], ways, schema: $0) } ?? findWithoutSchema(chain[start], ways)
      if var found {
        found.start = start
        return found
      }
    }
    let (reason, hint) = refusal(field, chain)
    let path = place.path.joined(separator: ".")
    failOrAllow(
      "the pages of `\(path)` after the first cannot be requested: \(reason)", hint: hint,
      at: field.location)
    return Finding(holder: .none(reason: reason))
  }

  // MARK: By the schema

  /// An object that may be found again.
  private struct Candidate {
    var link: Link
    var ways: [Way]
    /// The name of the query type.
    var query: String
    var schema: Schema

    /// Adds a field, which the type or interface `owner` has, to the selections of the object; returns its keys.
    func add(_ name: String, of owner: String) -> [String] {
      var key = name
      for way in ways {
        let declared = link.object.parts[way.part].type
        let hasField = declared.flatMap { schema.field(name, on: $0) } != nil
        key = link.object.add(
          name, to: way.part, on: hasField ? nil : owner,
          type: hasField ? nil : schema.field(name, on: owner)?.type)
      }
      return link.keys + [key]
    }
  }

  private func find(_ link: Link, _ ways: [Way], schema: Schema) -> Finding? {
    let types = Set(ways.flatMap { concreteTypes($0, of: link.object, schema) })
    guard !types.isEmpty, let query = schema.rootType(for: .query)?.name else { return nil }
    let candidate = Candidate(link: link, ways: ways, query: query, schema: schema)
    if let found = findNode(candidate, types: types) { return found }
    let declared = Set(ways.map { link.object.parts[$0.part].type })
    var candidates = types.count == 1 ? types.sorted() : []
    if declared.count == 1, let type = declared.first ?? nil, !candidates.contains(type) {
      candidates.append(type)
    }
    for type in candidates {
      if let found = findByField(candidate, type: type) { return found }
    }
    return nil
  }

  /// The object types that have a connection at a way.
  private func concreteTypes(
    _ way: Way, of object: SelectedObject, _ schema: Schema
  ) -> Set<String> {
    guard let declared = object.parts[way.part].type else { return [] }
    return way.conditions.reduce(Set(schema.possibleTypes(of: declared))) {
      $0.intersection(schema.possibleTypes(of: $1))
    }
  }

  /// Through `node(id:)` or `nodes(ids:)`, if all of the types implement the interface that they return.
  private func findNode(_ candidate: Candidate, types: Set<String>) -> Finding? {
    let schema = candidate.schema
    for (name, argumentName, depth) in [("node", "id", 0), ("nodes", "ids", 1)] {
      guard let field = schema.field(name, on: candidate.query), field.type.listDepth == depth,
        let argument = field.argument(named: argumentName), argument.type.listDepth == depth,
        field.arguments.allSatisfy({ !$0.isRequired || $0.name.value == argumentName })
      else { continue }
      let interface = field.type.namedType.value
      guard types.allSatisfy({ schema.isSubtype($0, of: interface) }),
        schema.field("id", on: interface) != nil
      else { continue }
      let way = candidate.ways[0]
      let type =
        way.conditions.last ?? candidate.link.object.parts[way.part].type ?? interface
      let element: TypeReference = .nonNull(.named(argument.type.namedType))
      return Finding(
        holder: .field(name: name, type: type, isList: depth > 0),
        values: [
          TableConnection.HolderValue(
            argument: argumentName, keys: candidate.add("id", of: interface),
            type: depth == 0 ? argument.type : element)
        ])
    }
    return nil
  }

  /// Through a field that a redirect of the key rules declares, or that returns the type and whose only required argument
  /// has the name of the key field.
  private func findByField(_ candidate: Candidate, type: String) -> Finding? {
    let schema = candidate.schema
    let fields = keys.fields(of: type)
    var finders: [(field: FieldDefinition, arguments: [String])] = []
    for (name, redirect) in (rules.redirects[candidate.query] ?? [:]).sorted(by: { $0.key < $1.key }
    ) {
      guard let field = schema.field(name, on: candidate.query),
        (redirect.type ?? field.type.namedType.value) == type
      else { continue }
      finders.append((field, redirect.arguments))
    }
    if fields.count == 1, let key = schema.field(fields[0], on: type)?.type.namedType.value,
      let all = schema.type(named: candidate.query)?.fields
    {
      let returning = all.filter { field in
        guard field.type.namedType.value == type, let argument = field.argument(named: fields[0])
        else { return false }
        return argument.type.listDepth == 0 && (argument.isRequired || field.arguments.count == 1)
          && Self.accepts(argument.type.namedType.value, key)
      }
      // `order` before `deletedOrder`.
      let named = returning.filter { $0.name.value.lowercased() == type.lowercased() }
      finders += (named + returning).map { ($0, fields) }
    }
    for (field, names) in finders {
      let arguments = names.compactMap { field.argument(named: $0) }
      guard field.type.listDepth == 0, names.count == fields.count,
        arguments.count == fields.count,
        field.arguments.allSatisfy({ !$0.isRequired || names.contains($0.name.value) }),
        fields.allSatisfy({ schema.field($0, on: type) != nil })
      else { continue }
      let values = zip(arguments, fields).map { argument, name in
        TableConnection.HolderValue(
          argument: argument.name.value, keys: candidate.add(name, of: type), type: argument.type)
      }
      return Finding(holder: .field(name: field.name.value, type: type), values: values)
    }
    return nil
  }

  /// Whether an argument takes the value of a field as it is in a result.
  private static func accepts(_ argument: String, _ field: String) -> Bool {
    argument == field || argument == "ID" && ["Int", "String"].contains(field)
      || argument == "String" && field == "ID"
  }

  // MARK: Without a schema

  /// By a redirect, or through `node(id:)` if the document selects `id`.
  private func findWithoutSchema(_ link: Link, _ ways: [Way]) -> Finding? {
    let conditions = Set(ways.map(\.conditions.last))
    let type = conditions.count == 1 ? conditions.first ?? nil : nil
    let idType: TypeReference = .nonNull(.named(Name("ID", at: ways[0].steps[0].field.location)))
    if let type {
      let fields = keys.fields(of: type)
      let redirects = rules.redirects[template.queryTypeName] ?? [:]
      for (name, redirect) in redirects.sorted(by: { $0.key < $1.key })
      where redirect.type == type && !redirect.isList && redirect.arguments.count == fields.count {
        let selected = fields.compactMap { name in selectedKey(name, of: link.object) }
        guard selected.count == fields.count else { continue }
        let values = zip(redirect.arguments, selected).map { argument, key in
          TableConnection.HolderValue(argument: argument, keys: link.keys + [key], type: idType)
        }
        return Finding(holder: .field(name: name, type: type), values: values)
      }
    }
    guard let id = selectedKey("id", of: link.object) else { return nil }
    var values = [
      TableConnection.HolderValue(argument: "id", keys: link.keys + [id], type: idType)
    ]
    if ways.contains(where: \.conditions.isEmpty) {
      var key = "__typename"
      for part in link.object.parts.indices { key = link.object.add("__typename", to: part) }
      values.append(
        TableConnection.HolderValue(argument: "__typename", keys: link.keys + [key], type: idType))
      return Finding(holder: .node(type: nil), values: values)
    }
    return Finding(holder: .node(type: type ?? ways[0].conditions.last), values: values)
  }

  /// The response key of a field without arguments that the document selects of an object, whatever its type.
  func selectedKey(_ name: String, of object: SelectedObject) -> String? {
    object.fields(named: name).first { field in
      field.object == nil
        && field.uses.allSatisfy { $0.field.name.value == name && $0.field.arguments.isEmpty }
    }?.key
  }

  // MARK: Nothing finds it

  /// Why the pages of a connection cannot be requested, and what would work.
  private func refusal(_ field: SelectedField, _ chain: [Link]) -> (reason: String, hint: String) {
    let foreach =
      "request one of the objects above for each row of `foreach`, so that its path finds it; "
      + "`allow_partial: true` accepts the first page"
    guard let schema else {
      return (
        "without a schema, its object is found by `id`, which the document does not select",
        "give the schema, or select `id` beside it"
      )
    }
    let query = schema.rootType(for: .query)?.name ?? "Query"
    var types: [String] = []
    if let link = chain.last {
      let ways = ways(to: field, chain, from: chain.count - 1)
      types = Set(ways.flatMap { concreteTypes($0, of: link.object, schema) }).sorted()
    }
    guard types.count == 1, let type = types.first else {
      let names = types.prefix(3).map { "`\($0)`" }.joined(separator: ", ")
      return ("nothing finds all of \(names)\(types.count > 3 ? ", …" : "")", foreach)
    }
    let fields = keys.fields(of: type)
    let missing = fields.first { schema.field($0, on: type) == nil }
    if fields.isEmpty || missing != nil {
      return (
        "`\(type)` has no key" + (missing.map { ": it has no field `\($0)`" } ?? ""),
        "name its key fields in the pipeline, `keys: { types: { \(type): [code] } }`, and a field that finds it; or "
          + foreach
      )
    }
    return (
      "neither `node(id:)` nor a field of `\(query)` with its key finds `\(type)`",
      "name a field that returns it by its key in the pipeline, `fields: { \(query).x: { key_args: "
        + "[\(fields.joined(separator: ", "))] } }`; or \(foreach)"
    )
  }
}

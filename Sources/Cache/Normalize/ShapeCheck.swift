import GQLRunJSON
import GQLRunLanguage

/// The state of a ``ResponseShape``: the expected type at the current position of the response.
final class ShapeCheck: JSONEventReceiver {
  private enum Event {
    case null, boolean
    case number(String)
    case string(String)

    var title: String {
      switch self {
      case .null: "null"
      case .boolean: "a boolean"
      case .number: "a number"
      case .string: "a string"
      }
    }
  }

  /// The expected value of a response key.
  private struct Field {
    var type: TypeReference
    var sets: [Int]
    var isTypename: Bool
    /// Whether the response must have it; not if fragments decide and the type is unknown.
    var isRequired = false
  }

  /// The fields of objects of one type under one selection.
  private struct Shape {
    var fields: [String: Field] = [:]
    var required: [String] = []
  }

  private struct ShapeKey: Hashable {
    var type: String
    var sets: [Int]
    var isConcrete: Bool
  }

  private enum Kind {
    case envelope, object, list, skipped
    /// The list `errors`, an error, and its path.
    case errors, error, errorPath
  }

  private struct Frame {
    var kind: Kind
    /// Objects: the known type, and whether it is the object's own.
    var type = ""
    var isConcrete = false
    var sets: [Int] = []
    var seen: Set<String> = []
    /// Lists: the type of the elements.
    var element: TypeReference?
    /// The expected next value; `nil` if it is ignored.
    var expected: Field?
    var key = ""
    var index = 0
  }

  private let plan: OperationPlan
  private let schema: Schema
  private var frames: [Frame] = []
  private var shapes: [ShapeKey: Shape] = [:]
  private(set) var failure: CacheError?
  private(set) var warnings: [String] = []
  private var warned: Set<String> = []
  /// The nulls at non-null types: a server leaves those of errors at their positions if a request has `onError: NULL`.
  private var nulls: [(path: String, type: TypeReference)] = []
  private static let maxNulls = 10_000
  /// The paths of errors, which may be before or after the data.
  private var errorPaths: Set<String> = []
  private static let maxErrorPaths = 10_000
  private var errorPath = ""

  init(plan: OperationPlan, schema: Schema) {
    self.plan = plan
    self.schema = schema
  }

  // MARK: - Events

  func receive(_ event: JSONEvent) -> Bool {
    switch event {
    case .null: value(.null)
    case .boolean: value(.boolean)
    case .number(let text): value(.number(String(decoding: text, as: UTF8.self)))
    // Only type names and enum values are used, which are short.
    case .string(let text): value(.string(String(decoding: text.prefix(256), as: UTF8.self)))
    case .key(let text): key(String(decoding: text, as: UTF8.self))
    case .start(let isObject): open(isObject: isObject)
    case .end: close()
    }
  }

  private func key(_ key: String) -> Bool {
    guard let last = frames.indices.last else { return true }
    frames[last].key = key
    if frames[last].kind == .object {
      frames[last].expected = shape(of: frames[last]).fields[key]
      frames[last].seen.insert(key)
    }
    return true
  }

  private func value(_ event: Event) -> Bool {
    guard let last = frames.indices.last else { return true }
    let frame = frames[last]
    switch frame.kind {
    case .envelope, .skipped, .errors, .error: break
    case .errorPath:
      switch event {
      case .string(let key): errorPath += (errorPath.isEmpty ? "" : ".") + key
      case .number(let index): errorPath += "[\(index)]"
      case .null, .boolean: break
      }
    case .object:
      if let field = frame.expected {
        if field.isTypename, case .string(let name) = event {
          noteType(name)
        } else if !check(event, field.type) {
          return false
        }
      }
    case .list:
      if let type = frame.element, !check(event, type) { return false }
      frames[last].index += 1
    }
    return true
  }

  private func open(isObject: Bool) -> Bool {
    guard let last = frames.indices.last else {
      return push(Frame(kind: isObject ? .envelope : .skipped))
    }
    let frame = frames[last]
    switch frame.kind {
    case .object:
      if let field = frame.expected { return open(isObject, type: field.type, sets: field.sets) }
    case .list:
      if let type = frame.element { return open(isObject, type: type, sets: frame.sets) }
    case .envelope where isObject && frame.key == "data":
      return push(
        Frame(kind: .object, type: plan.rootType, isConcrete: true, sets: [plan.rootSet]))
    case .envelope where !isObject && frame.key == "errors": return push(Frame(kind: .errors))
    case .errors where isObject: return push(Frame(kind: .error))
    case .error where !isObject && frame.key == "path": return push(Frame(kind: .errorPath))
    case .envelope, .errors, .error, .errorPath, .skipped: break
    }
    return push(Frame(kind: .skipped))
  }

  private func push(_ frame: Frame) -> Bool {
    frames.append(frame)
    return true
  }

  private func close() -> Bool {
    guard let frame = frames.popLast() else { return true }
    if frame.kind == .object {
      for key in shape(of: frame).required where !frame.seen.contains(key) {
        let missing = [path(), key].filter { !$0.isEmpty }.joined(separator: ".")
        return fail("the field is missing, but the operation selects it", at: missing)
      }
    }
    if frame.kind == .errorPath {
      if errorPaths.count < Self.maxErrorPaths { errorPaths.insert(errorPath) }
      errorPath = ""
    }
    if let last = frames.indices.last, frames[last].kind == .list { frames[last].index += 1 }
    return true
  }

  /// Checks at the end of the response that each null at a non-null type has an error.
  func checkNulls() {
    // With more errors than are remembered, any null may have one of the others.
    guard failure == nil, errorPaths.count < Self.maxErrorPaths,
      let null = nulls.first(where: { !errorPaths.contains($0.path) })
    else { return }
    _ = fail("expected \(null.type.printed()), found null", at: null.path)
  }

  // MARK: - Types

  private func open(_ isObject: Bool, type: TypeReference, sets: [Int]) -> Bool {
    switch type.nullable {
    case .list(let element, _):
      if isObject { return mismatch(type, "an object") }
      return push(Frame(kind: .list, sets: sets, element: element))
    case .named(let name):
      let declared = schema.type(named: name.value)
      switch declared {
      case .object?, .interface?, .union?:
        guard isObject else { return mismatch(type, "a list") }
        let isConcrete = if case .object? = declared { true } else { false }
        return push(Frame(kind: .object, type: name.value, isConcrete: isConcrete, sets: sets))
      case .scalar(let scalar)? where !scalar.isBuiltIn: return push(Frame(kind: .skipped))
      case .scalar?, .enumeration?, .inputObject?:
        return mismatch(type, isObject ? "an object" : "a list")
      case nil: return push(Frame(kind: .skipped))
      }
    case .nonNull:
      return true
    }
  }

  private func check(_ event: Event, _ type: TypeReference) -> Bool {
    if case .null = event {
      guard type.isNonNull else { return true }
      // Whether further ones have errors is unknown.
      guard nulls.count < Self.maxNulls else { return true }
      nulls.append((path(), type))
      return true
    }
    guard case .named(let name) = type.nullable else { return mismatch(type, event.title) }
    switch schema.type(named: name.value) {
    case .enumeration(let enumeration)?:
      guard case .string(let text) = event else { return mismatch(type, event.title) }
      if enumeration.values[text] == nil {
        warn(
          "the enum \(enumeration.name) has no value \"\(text.prefix(60))\" in the schema, which the "
            + "response has at \(path())", "\(enumeration.name).\(text)")
      }
      return true
    case .scalar(let scalar)?: return check(event, scalar: scalar, type: type)
    case .object?, .interface?, .union?: return mismatch(type, event.title)
    case .inputObject?, nil: return true
    }
  }

  private func check(_ event: Event, scalar: ScalarType, type: TypeReference) -> Bool {
    switch (scalar.name, event) {
    case ("Int", .number(let text)):
      // A server may write 1.0 or 1e3: the value is decisive.
      if let number = Double(text), number == number.rounded(),
        abs(number) < 2_147_483_648
          || number == -2_147_483_648
      {
        return true
      }
      return mismatch(type, "\(text.prefix(40)), which is not a 32-bit integer")
    case ("Float", .number), ("String", .string), ("Boolean", .boolean), ("ID", .string):
      return true
    case ("ID", .number(let text)):
      return text.utf8.contains { $0 == 46 || $0 == 101 || $0 == 69 }
        ? mismatch(type, text.prefix(40) + ", which is not an ID") : true
    case ("Int", _), ("Float", _), ("String", _), ("Boolean", _), ("ID", _):
      return mismatch(type, event.title)
    default: return true
    }
  }

  /// Sets the type of the object in the top frame.
  private func noteType(_ name: String) {
    guard let last = frames.indices.last, !frames[last].isConcrete || frames[last].type != name
    else { return }
    let declared = frames[last].type
    if schema.possibleTypes(of: declared).contains(name) {
      frames[last].type = name
      frames[last].isConcrete = true
      return
    }
    warn(
      "\(declared) cannot be a \(name.prefix(60)) in the schema, but is one in the response at "
        + "\(path())", "\(declared):\(name)")
  }

  // MARK: - Shapes

  private func shape(of frame: Frame) -> Shape {
    let key = ShapeKey(type: frame.type, sets: frame.sets, isConcrete: frame.isConcrete)
    if let known = shapes[key] { return known }
    var shape = Shape()
    for contribution in frame.sets.flatMap({ plan.sets[$0] }) {
      var applies = true
      var isCertain = true
      for condition in contribution.conditions where condition != frame.type {
        if frame.isConcrete {
          if plan.facts?.isPossible(frame.type, for: condition) != true { applies = false }
        } else {
          isCertain = false
        }
      }
      guard applies else { continue }
      // Before the object's type is known, the fragment's is used.
      let owner = isCertain ? frame.type : contribution.conditions.last ?? frame.type
      guard let type = schema.field(contribution.fieldName, on: owner)?.type else { continue }
      let name = contribution.responseKey
      if shape.fields[name] == nil {
        shape.fields[name] = Field(
          type: type, sets: [], isTypename: contribution.fieldName == "__typename")
      }
      if let child = contribution.childSet { shape.fields[name]?.sets.append(child) }
      // A field that only the cache adds may be missing if the response was fetched without it.
      // Deferred fields arrive later, in parts that are not checked.
      if isCertain, !contribution.isAdded, plan.deliveries.isEmpty,
        shape.fields[name]?.isRequired == false
      {
        shape.fields[name]?.isRequired = true
        shape.required.append(name)
      }
    }
    shapes[key] = shape
    return shape
  }

  // MARK: - Messages

  private func warn(_ message: String, _ thing: String) {
    if warned.count < 100, warned.insert(thing).inserted { warnings.append(message) }
  }

  private func mismatch(_ type: TypeReference, _ found: some StringProtocol) -> Bool {
    fail("expected \(type.printed()), found \(found)", at: path())
  }

  private func fail(_ problem: String, at path: String) -> Bool {
    failure = CacheError(
      .unexpectedShape, "the response does not match the schema at \(path): \(problem)", path: path
    )
    return false
  }

  /// `feed.edges[3].node`
  private func path() -> String {
    var text = ""
    for frame in frames {
      switch frame.kind {
      case .list: text += "[\(frame.index)]"
      case .object where !frame.key.isEmpty: text += (text.isEmpty ? "" : ".") + frame.key
      case .object, .envelope, .skipped, .errors, .error, .errorPath: continue
      }
    }
    return text
  }
}

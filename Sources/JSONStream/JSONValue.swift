/// A JSON value as a tree, for texts that fit into memory.
///
/// Strings and keys are equal if their UTF-8 bytes are, numbers if their texts are, and objects if
/// their members are, in any order.
public enum JSONValue: Sendable {
  /// `null`.
  case null
  /// `true` or `false`.
  case boolean(Bool)
  /// A number, with its text as sent.
  case number(JSONNumber)
  /// A string, unescaped.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object, with its members in order.
  case object(JSONObject)
}

extension JSONValue: Hashable {
  /// Whether both are equal, with strings compared byte for byte.
  public static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.boolean(let left), .boolean(let right)): left == right
    case (.number(let left), .number(let right)): left == right
    case (.string(let left), .string(let right)): utf8Equal(left, right)
    case (.array(let left), .array(let right)): left == right
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }

  /// Adds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .boolean(let value): hasher.combine(value ? 1 : 2)
    case .number(let number): hasher.combine(number)
    case .string(let text): utf8Hash(text, into: &hasher)
    case .array(let elements): hasher.combine(elements)
    case .object(let object): hasher.combine(object)
    }
  }
}

extension JSONValue {
  /// Whether the value is `null`.
  public var isNull: Bool {
    if case .null = self { true } else { false }
  }

  /// The value of a Boolean; nil for other values.
  public var boolValue: Bool? {
    if case .boolean(let value) = self { value } else { nil }
  }

  /// The number; nil for other values.
  public var numberValue: JSONNumber? {
    if case .number(let number) = self { number } else { nil }
  }

  /// The value of a whole number that fits an `Int`; nil for other values.
  public var intValue: Int? { numberValue?.intValue }

  /// The nearest `Double` of a number; nil if it is not finite, and for other values.
  public var doubleValue: Double? { numberValue?.doubleValue }

  /// The string; nil for other values.
  public var stringValue: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// The elements of an array; nil for other values. Setting replaces this value by an array;
  /// setting nil has no effect.
  public var arrayValue: [JSONValue]? {
    get { if case .array(let elements) = self { elements } else { nil } }
    set { if let newValue { self = .array(newValue) } }
  }

  /// The members of an object; nil for other values. Setting replaces this value by an object;
  /// setting nil has no effect.
  public var objectValue: JSONObject? {
    get { if case .object(let object) = self { object } else { nil } }
    set { if let newValue { self = .object(newValue) } }
  }

  /// The member with this key; nil if there is none or this is not an object.
  ///
  /// Setting adds or replaces the member, setting nil removes it; neither has an effect if this is
  /// not an object.
  public subscript(key: String) -> JSONValue? {
    get { objectValue?[key] }
    set { objectValue?[key] = newValue }
  }

  /// The element at this index; nil if there is none or this is not an array.
  ///
  /// Setting replaces an existing element, setting nil removes it; neither has an effect if there
  /// is none.
  public subscript(index: Int) -> JSONValue? {
    get {
      guard let elements = arrayValue, elements.indices.contains(index) else { return nil }
      return elements[index]
    }
    set {
      guard var elements = arrayValue, elements.indices.contains(index) else { return }
      if let newValue { elements[index] = newValue } else { elements.remove(at: index) }
      arrayValue = elements
    }
  }

  /// The name of the value's type, as in RFC 8259.
  public var kind: String {
    switch self {
    case .null: "null"
    case .boolean: "boolean"
    case .number: "number"
    case .string: "string"
    case .array: "array"
    case .object: "object"
    }
  }
}

extension JSONValue {
  /// A number with at most three decimals; null if it is not finite.
  package static func thousandths(_ number: Double) -> JSONValue {
    JSONNumber((number * 1000).rounded() / 1000).map { .number($0) } ?? .null
  }

  /// Merges the members of objects, and the elements of lists of the same length, at any depth. Other values are
  /// replaced.
  ///
  /// - Parameters:
  ///   - new: The value to merge into this one.
  ///   - keepsValues: Whether a null replaces no value.
  package mutating func merge(_ new: JSONValue, keepsValues: Bool = false) {
    // Each container is taken out of its parent while it changes: a second reference would copy it.
    if case .object(let fields) = new, case .object(var object) = self {
      self = .null
      for member in fields {
        guard var value = object[member.key] else {
          object[member.key] = member.value
          continue
        }
        object[member.key] = .null
        value.merge(member.value, keepsValues: keepsValues)
        object[member.key] = value
      }
      self = .object(object)
    } else if case .array(let elements) = new, case .array(var list) = self,
      list.count == elements.count
    {
      self = .null
      for (index, element) in elements.enumerated() {
        var value = list[index]
        list[index] = .null
        value.merge(element, keepsValues: keepsValues)
        list[index] = value
      }
      self = .array(list)
    } else if !new.isNull || !keepsValues {
      self = new
    }
  }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// The value `null`.
  public init(nilLiteral: ()) { self = .null }
  /// A boolean.
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  /// A number.
  public init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
  /// A string.
  public init(stringLiteral value: String) { self = .string(value) }
  /// An array.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  /// Creates a number. Precondition: the literal is finite.
  public init(floatLiteral value: Double) {
    guard let number = JSONNumber(value) else {
      preconditionFailure("JSON has no infinite numbers")
    }
    self = .number(number)
  }

  /// Creates an object in the order of the literal. Precondition: the keys are unique.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(JSONObject(literal: elements))
  }
}

extension JSONValue {
  /// What text is accepted when a value is parsed.
  public struct ParsingOptions: Hashable, Sendable {
    /// Limits of nesting depth and of strings, keys and numbers.
    public var limits: JSONLimits
    /// Whether the last of several members with the same key wins; otherwise they are an error.
    /// False by default.
    public var allowsDuplicateKeys: Bool

    /// Creates options.
    public init(limits: JSONLimits = JSONLimits(), allowsDuplicateKeys: Bool = false) {
      self.limits = limits
      self.allowsDuplicateKeys = allowsDuplicateKeys
    }
  }

  /// Parses a JSON text from its bytes.
  ///
  /// - Throws: ``JSONError`` if the text is not valid JSON or exceeds a limit.
  public init(
    parsing bytes: UnsafeRawBufferPointer, options: ParsingOptions = ParsingOptions()
  ) throws(JSONError) {
    var builder = try JSONValueBuilder(options: options)
    try builder.feed(bytes)
    self = try builder.finish()
  }

  /// Parses a JSON text from its bytes.
  ///
  /// - Throws: ``JSONError`` if the text is not valid JSON or exceeds a limit.
  public init(
    parsing bytes: [UInt8], options: ParsingOptions = ParsingOptions()
  ) throws(JSONError) {
    self = try bytes.withUnsafeBufferPointer { bytes throws(JSONError) in
      try Self(parsing: UnsafeRawBufferPointer(bytes), options: options)
    }
  }

  /// Parses a JSON text.
  ///
  /// - Throws: ``JSONError`` if the text is not valid JSON or exceeds a limit.
  public init(
    parsing text: String, options: ParsingOptions = ParsingOptions()
  ) throws(JSONError) {
    var text = text
    let result = text.withUTF8 { bytes in
      Result { () throws(JSONError) in
        try Self(parsing: UnsafeRawBufferPointer(bytes), options: options)
      }
    }
    self = try result.get()
  }
}

extension JSONValue: CustomStringConvertible {
  /// Appends this value to the output of a writer.
  public func write(to writer: inout JSONWriter) {
    write(to: &writer, sorted: false)
  }

  /// Serializes the value, with members in their order.
  ///
  /// - Parameter pretty: Whether to indent with two spaces per level; false writes no white space.
  public func jsonText(pretty: Bool = false) -> String {
    var writer = JSONWriter(layout: pretty ? .pretty : .compact)
    write(to: &writer)
    return writer.text
  }

  /// Serializes the value as UTF-8, with members in their order.
  ///
  /// - Parameter pretty: Whether to indent with two spaces per level; false writes no white space.
  public func jsonBytes(pretty: Bool = false) -> [UInt8] {
    var writer = JSONWriter(layout: pretty ? .pretty : .compact)
    write(to: &writer)
    return writer.bytes
  }

  /// The canonical JSON text: members sorted by the bytes of their keys, no white space.
  ///
  /// Two values are equal if and only if their canonical texts are.
  public var canonicalText: String {
    var writer = JSONWriter()
    write(to: &writer, sorted: true)
    return writer.text
  }

  /// The value as compact JSON text.
  public var description: String { jsonText() }

  private func write(to writer: inout JSONWriter, sorted: Bool) {
    switch self {
    case .null: writer.writeNull()
    case .boolean(let value): writer.writeBool(value)
    case .number(let number): writer.writeNumber(number)
    case .string(let text): writer.writeString(text)
    case .array(let elements):
      writer.beginArray()
      for element in elements { element.write(to: &writer, sorted: sorted) }
      writer.endArray()
    case .object(let object):
      writer.beginObject()
      let members =
        sorted
        ? object.members.sorted { UTF8Text($0.key) < UTF8Text($1.key) } : object.members
      for member in members {
        writer.key(member.key)
        member.value.write(to: &writer, sorted: sorted)
      }
      writer.endObject()
    }
  }
}

/// Builds a ``JSONValue`` from a text that arrives in chunks.
public struct JSONValueBuilder: ~Copyable {
  private var parser: JSONParser
  private let context: UnsafeMutablePointer<TreeContext>

  /// Creates a builder for one text.
  ///
  /// - Throws: ``JSONError/Code/outOfMemory`` if the parser cannot be allocated.
  public init(
    options: JSONValue.ParsingOptions = JSONValue.ParsingOptions()
  ) throws(JSONError) {
    let context = UnsafeMutablePointer<TreeContext>.allocate(capacity: 1)
    context.initialize(to: TreeContext(options: options))
    do throws(JSONError) {
      parser = try JSONParser(handlers: .tree, context: context)
    } catch {
      context.deinitialize(count: 1)
      context.deallocate()
      throw error
    }
    self.context = context
  }

  deinit {
    context.deinitialize(count: 1)
    context.deallocate()
  }

  /// Parses the next chunk of the text.
  ///
  /// - Throws: The first error of the text; every further call throws it again.
  public mutating func feed(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
    try parser.feed(bytes)
  }

  /// Ends the text and returns its value.
  ///
  /// - Throws: ``JSONError/Code/unexpectedEnd`` if the text is incomplete, or another error of the
  ///   text.
  public mutating func finish() throws(JSONError) -> JSONValue {
    try parser.finish()
    guard let value = context.pointee.values.last else {
      preconditionFailure("a complete text has a value")
    }
    return value
  }
}

/// The containers under construction. Starts with the scope, like every handler context.
private struct TreeContext {
  var scope: JSONEventScope
  let allowsDuplicateKeys: Bool
  /// Complete values whose container is still open, with their keys at the same indices in `keys`.
  var values: [JSONValue] = []
  var keys: [String] = []
  /// The index of the first value and key of each open container.
  var starts: [(values: Int, keys: Int)] = []

  init(options: JSONValue.ParsingOptions) {
    scope = JSONEventScope(limits: options.limits)
    allowsDuplicateKeys = options.allowsDuplicateKeys
  }

  /// Adds a value that has no limit.
  mutating func add(_ value: JSONValue) -> Int32 {
    scope.count()
    values.append(value)
    return 1
  }

  mutating func start() -> Int32 {
    guard scope.enter() else { return 0 }
    starts.append((values.count, keys.count))
    return 1
  }

  mutating func endArray() -> Int32 {
    scope.leave()
    let start = starts.removeLast().values
    let elements = Array(values[start...])
    values.removeSubrange(start...)
    values.append(.array(elements))
    return 1
  }

  mutating func endObject() -> Int32 {
    scope.leave()
    let start = starts.removeLast()
    let members = zip(keys[start.keys...], values[start.values...]).map {
      JSONObject.Member(key: $0, value: $1)
    }
    values.removeSubrange(start.values...)
    keys.removeSubrange(start.keys...)
    let object = JSONObject(members: members)
    if object.count < members.count && !allowsDuplicateKeys {
      scope.fail(.duplicateKey)
      return 0
    }
    values.append(.object(object))
    return 1
  }
}

extension JSONEventHandlers {
  /// Handlers that build a ``JSONValue`` in a `TreeContext`.
  fileprivate static var tree: JSONEventHandlers {
    JSONEventHandlers(
      null: { treeContext($0).pointee.add(.null) },
      boolean: { treeContext($0).pointee.add(.boolean($1 != 0)) },
      number: { context, text, length in
        let tree = treeContext(context)
        guard tree.pointee.scope.checkNumber(length) else { return 0 }
        tree.pointee.values.append(.number(JSONNumber(verified: decoded(text, length))))
        return 1
      },
      string: { context, text, length in
        let tree = treeContext(context)
        guard tree.pointee.scope.checkString(length) else { return 0 }
        tree.pointee.values.append(.string(decoded(text, length)))
        return 1
      },
      startObject: { treeContext($0).pointee.start() },
      key: { context, text, length in
        let tree = treeContext(context)
        guard tree.pointee.scope.checkKey(length) else { return 0 }
        tree.pointee.keys.append(decoded(text, length))
        return 1
      },
      endObject: { treeContext($0).pointee.endObject() },
      startArray: { treeContext($0).pointee.start() },
      endArray: { treeContext($0).pointee.endArray() })
  }
}

private func treeContext(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<TreeContext> {
  context.unsafelyUnwrapped.assumingMemoryBound(to: TreeContext.self)
}

private func decoded(_ text: UnsafeRawPointer?, _ length: Int) -> String {
  String(decoding: UnsafeRawBufferPointer(start: text, count: length), as: UTF8.self)
}

extension [JSONValue] {
  /// The values as one JSON array with an element per line, and a line end.
  package var linePerElement: String {
    guard !isEmpty else { return "[]\n" }
    return "[\n" + map { "  " + $0.jsonText() }.joined(separator: ",\n") + "\n]\n"
  }
}

/// The members of a JSON object, in their written order.
///
/// Keys are compared as UTF-8 bytes. A lookup scans small objects and uses a hash table in large
/// ones. Two objects are equal if they have equal members, in any order.
public struct JSONObject: Sendable {
  /// One member of an object.
  public struct Member: Sendable {
    /// The key.
    public var key: String
    /// The value of the key.
    public var value: JSONValue

    /// Creates a member.
    public init(key: String, value: JSONValue) {
      self.key = key
      self.value = value
    }
  }

  /// The members in order. Their keys are unique.
  public private(set) var members: [Member]
  /// The index of each key; filled once the object has too many members for a scan.
  private var index: [UTF8Text: Int] = [:]

  private static let scanned = 12

  /// Creates an empty object.
  public init() {
    members = []
  }

  /// Creates an object; nil if two members have the same key.
  public init?(uniqueMembers members: [Member]) {
    self.init(members: members)
    if self.members.count != members.count { return nil }
  }

  /// Creates an object in which the last of several members with the same key wins, at the index of
  /// the first.
  init(members: [Member]) {
    self.members = members
    if members.count > Self.scanned {
      self.members.removeAll(keepingCapacity: true)
      index.reserveCapacity(members.count)
      for member in members {
        if let position = index[UTF8Text(member.key)] {
          self.members[position].value = member.value
        } else {
          index[UTF8Text(member.key)] = self.members.count
          self.members.append(member)
        }
      }
    } else if Self.hasDuplicates(members) {
      self.members.removeAll(keepingCapacity: true)
      for member in members { self[member.key] = member.value }
    }
  }

  /// The number of members.
  public var count: Int { members.count }
  /// Whether the object has no members.
  public var isEmpty: Bool { members.isEmpty }
  /// The keys, in the order of the members.
  public var keys: some Sequence<String> { members.lazy.map { $0.key } }
  /// The values, in the order of the members.
  public var values: some Sequence<JSONValue> { members.lazy.map { $0.value } }

  /// The value of a key. Setting a new key appends a member; setting nil removes it.
  public subscript(key: String) -> JSONValue? {
    get {
      position(of: key).map { members[$0].value }
    }
    set {
      switch (position(of: key), newValue) {
      case (let position?, let value?):
        members[position].value = value
      case (let position?, nil):
        members.remove(at: position)
        reindex()
      case (nil, let value?):
        members.append(Member(key: key, value: value))
        if !index.isEmpty {
          index[UTF8Text(key)] = members.count - 1
        } else if members.count > Self.scanned {
          reindex()
        }
      case (nil, nil):
        break
      }
    }
  }

  private func position(of key: String) -> Int? {
    if !index.isEmpty { return index[UTF8Text(key)] }
    return members.firstIndex { utf8Equal($0.key, key) }
  }

  private mutating func reindex() {
    index.removeAll(keepingCapacity: true)
    guard members.count > Self.scanned else { return }
    for (position, member) in members.enumerated() {
      index[UTF8Text(member.key)] = position
    }
  }

  private static func hasDuplicates(_ members: [Member]) -> Bool {
    for (position, member) in members.enumerated()
    where members[..<position].contains(where: { utf8Equal($0.key, member.key) }) {
      return true
    }
    return false
  }
}

extension JSONObject: RandomAccessCollection {
  /// The index of the first member: 0.
  public var startIndex: Int { 0 }
  /// The number of members.
  public var endIndex: Int { members.count }
  /// The member at an index from 0 to ``endIndex``, exclusive.
  public subscript(position: Int) -> Member { members[position] }
}

extension JSONObject: Hashable {
  /// Whether both are equal, with strings compared byte for byte.
  public static func == (left: Self, right: Self) -> Bool {
    guard left.count == right.count else { return false }
    for (mine, theirs) in zip(left.members, right.members) {
      if utf8Equal(mine.key, theirs.key) {
        if mine.value != theirs.value { return false }
      } else if right[mine.key] != mine.value {
        return false
      }
    }
    return true
  }

  /// Adds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    // The order of the members must not matter: combine their hashes with a commutative operation.
    var sum = 0
    for member in members {
      var own = hasher
      utf8Hash(member.key, into: &own)
      own.combine(member.value)
      sum = sum &+ own.finalize()
    }
    hasher.combine(sum)
    hasher.combine(members.count)
  }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  /// Creates an object in the order of the literal. Precondition: the keys are unique.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self.init(literal: elements)
  }

  fileprivate init(literal elements: [(String, JSONValue)]) {
    guard let object = Self(uniqueMembers: elements.map { Member(key: $0.0, value: $0.1) }) else {
      preconditionFailure("an object literal has two members with one key")
    }
    self = object
  }
}

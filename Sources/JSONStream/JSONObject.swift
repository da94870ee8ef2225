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
    self.init(members: members) { _ in }
    if self.members.count != members.count { return nil }
  }

  /// Creates an object in which the last of several members with the same key wins, at the index of
  /// the first.
  init(members: [Member], onDuplicate: (String) -> Void) {
    self.members = members
    if members.count > Self.scanned {
      self.members.removeAll(keepingCapacity: true)
      index.reserveCapacity(members.count)
      for member in members {
        if let position = index[UTF8Text(member.key)] {
          onDuplicate(member.key)
          self.members[position].value = member.value
        } else {
          index[UTF8Text(member.key)] = self.members.count
          self.members.append(member)
        }
      }
    } else if let duplicate = Self.firstDuplicate(members) {
      onDuplicate(duplicate)
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

  private static func firstDuplicate(_ members: [Member]) -> String? {
    for (position, member) in members.enumerated() {
      if members[..<position].contains(where: { utf8Equal($0.key, member.key) }) {
        return member.key
      }
    }
    return nil
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
    guard let object = Self(uniqueMembers: elements.map { Member(key: $0.0, value: $0.1) }) else {
      preconditionFailure("an object literal has two members with one key")
    }
    self = object
  }
}

/// The members of a JSON object, in the order they were written.
///
/// Keys are compared as UTF-8 bytes. Looking up a key is a short scan in small objects, and a hash look-up in
/// large ones. Two objects are equal when they have equal members, in any order.
public struct JSONObject: Sendable {
  /// One member of an object.
  public struct Member: Sendable {
    public var key: String
    public var value: JSONValue

    public init(key: String, value: JSONValue) {
      self.key = key
      self.value = value
    }
  }

  /// The members in order. No two have the same key.
  public private(set) var members: [Member]
  /// Where each key is, once there are more than a scan should look at.
  private var index: [UTF8Text: Int] = [:]

  private static let scanned = 12

  public init() {
    members = []
  }

  /// Creates an object; nil if two members have the same key.
  public init?(uniqueMembers members: [Member]) {
    self.init(members: members) { _ in }
    if self.members.count != members.count { return nil }
  }

  /// Creates an object where the last of several members with one key counts, in the place of the first.
  init(members: [Member], onDuplicate: (String) -> Void) {
    self.members = members
    if members.count > Self.scanned {
      self.members.removeAll(keepingCapacity: true)
      index.reserveCapacity(members.count)
      for member in members {
        if let place = index[UTF8Text(member.key)] {
          onDuplicate(member.key)
          self.members[place].value = member.value
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

  public var count: Int { members.count }
  public var isEmpty: Bool { members.isEmpty }
  public var keys: some Sequence<String> { members.lazy.map { $0.key } }
  public var values: some Sequence<JSONValue> { members.lazy.map { $0.value } }

  /// The value of a key. Setting a new key appends a member; setting nil removes it.
  public subscript(key: String) -> JSONValue? {
    get {
      place(of: key).map { members[$0].value }
    }
    set {
      switch (place(of: key), newValue) {
      case (let place?, let value?):
        members[place].value = value
      case (let place?, nil):
        members.remove(at: place)
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

  private func place(of key: String) -> Int? {
    if !index.isEmpty { return index[UTF8Text(key)] }
    return members.firstIndex { utf8Equal($0.key, key) }
  }

  private mutating func reindex() {
    index.removeAll(keepingCapacity: true)
    guard members.count > Self.scanned else { return }
    for (place, member) in members.enumerated() {
      index[UTF8Text(member.key)] = place
    }
  }

  private static func firstDuplicate(_ members: [Member]) -> String? {
    for (place, member) in members.enumerated() {
      if members[..<place].contains(where: { utf8Equal($0.key, member.key) }) { return member.key }
    }
    return nil
  }
}

extension JSONObject: RandomAccessCollection {
  public var startIndex: Int { 0 }
  public var endIndex: Int { members.count }
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
  /// Creates an object in the order of the literal; two equal keys are the programmer's mistake.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    guard let object = Self(uniqueMembers: elements.map { Member(key: $0.0, value: $0.1) }) else {
      preconditionFailure("an object literal has two members with one key")
    }
    self = object
  }
}

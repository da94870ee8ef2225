import GQLRunJSON
import Testing

@testable import GQLRunCache

/// Identities that a function computes.
@Suite("Key resolvers")
struct KeyResolverTests {
  /// Files are one, however their path is written; a draft has no identity; users have their id.
  static func keys(version: String = "1") -> KeyRules {
    var keys = KeyRules(types: ["File": ["path", "size"]])
    keys.resolve(version: version) { object in
      guard object.typename == "File" else { return .fields }
      guard let path = object["path"]?.stringValue else { return .none }
      return path.hasPrefix("draft") ? .none : .id(path.lowercased())
    }
    return keys
  }

  @Test("give records their keys while the response arrives", arguments: Way.allCases)
  func keys(way: Way) async throws {
    try await way.withCache { cache in
      try await cache.write(
        #"{"data":{"a":{"path":"A/B\"","size":1,"__typename":"File"},"b":{"__typename":"File","path":"a/b\"","size":2},"c":{"__typename":"File","path":"draft","size":3},"d":{"__typename":"File","path":null,"size":[4]},"u":{"__typename":"User","id":7}}}"#,
        "{ a { path size } b { path size } c { path size } d { path size } u { id } }",
        keys: Self.keys())
      try await cache.expectDump(
        #"{"key":"File:a/b\"","fields":{"__typename":"File","path":"a/b\"","size":2}}"#,
        #"{"key":"QUERY_ROOT","fields":{"a":{"$ref":"File:a/b\""},"b":{"$ref":"File:a/b\""},"c":{"__typename":"File","path":"draft","size":3},"d":{"__typename":"File","path":null,"size":[4]},"u":{"$ref":"User:7"}}}"#,
        #"{"key":"User:7","fields":{"__typename":"User","id":7}}"#)
    }
  }

  @Test("need not see all key fields, and escape what would join several")
  func partial() async throws {
    try await StoreKind.memory.withCache { cache, _ in
      try await cache.write(
        #"{"data":{"a":{"__typename":"File","path":"x+y"}}}"#, "{ a { path } }", keys: Self.keys())
      try await cache.expectDump(
        #"{"key":"File:x\\+y","fields":{"__typename":"File","path":"x+y"}}"#,
        #"{"key":"QUERY_ROOT","fields":{"a":{"$ref":"File:x\\+y"}}}"#)
    }
  }

  @Test("identify the records of redirects", arguments: StoreKind.allCases)
  func redirects(kind: StoreKind) async throws {
    var keys = Self.keys()
    keys.types["File"] = ["path"]
    keys.redirects = ["Query": ["file": CacheRedirect(["path"], type: "File")]]
    try await kind.withStore { [keys] store in
      let cache = CacheUnderTest(store: store)
      try await cache.write(
        #"{"data":{"a":{"__typename":"File","path":"A/B"}}}"#, "{ a { path } }", keys: keys)
      let found = try await store.read(prepare("{ file(path: \"a/B\") { path } }", keys: keys))
      #expect(found.hit != nil, "not found: \(found)")
      // What the resolver gives no identity is not redirected.
      let draft = try await store.read(prepare("{ file(path: \"draft\") { path } }", keys: keys))
      #expect(draft.miss != nil, "a draft was found")
    }
  }

  @Test(
    "have a version, which a store with records does not change", arguments: StoreKind.allCases)
  func versions(kind: StoreKind) async throws {
    try await kind.withStore { store in
      guard kind != .memory else { return try await store.adopt(keyResolver: "1") }
      // An empty store takes any version.
      for version in [nil, "1", "2", nil, "1"] { try await store.adopt(keyResolver: version) }
      let cache = CacheUnderTest(store: store)
      try await cache.write(
        #"{"data":{"a":{"__typename":"File","path":"A"}}}"#, "{ a { path } }", keys: Self.keys())
      try await store.adopt(keyResolver: "1")
      for other in ["2", nil] {
        let error = await #expect(throws: CacheError.self) {
          try await store.adopt(keyResolver: other)
        }
        let message = error?.message ?? ""
        #expect(error?.code == .otherKeys && message.contains("version \"1\" of a key resolver"))
      }
      try await store.clear()
      try await store.adopt(keyResolver: "2")
    }
  }
}

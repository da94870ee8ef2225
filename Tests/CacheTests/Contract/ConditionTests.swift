import Foundation
import Testing

@testable import GQLRunCache

/// `@skip` and `@include`, on write and on read.
@Suite("Skip and include")
struct ConditionTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var skip: Bool?
    var include: Bool?
    /// Whether the conditions are variables or literals.
    var isVariable: Bool
    var isSkipFirst: Bool

    var isIncluded: Bool { skip != true && include != false }
    var directives: String {
      let skip = skip.map { " @skip(if: \(isVariable ? "$s" : "\($0)"))" } ?? ""
      let include = include.map { " @include(if: \(isVariable ? "$i" : "\($0)"))" } ?? ""
      return isSkipFirst ? skip + include : include + skip
    }
    var variables: String {
      guard isVariable else { return "{}" }
      let values = [skip.map { #""s":\#($0)"# }, include.map { #""i":\#($0)"# }]
      return "{\(values.compactMap { $0 }.joined(separator: ","))}"
    }
    var declarations: String {
      guard isVariable, skip != nil || include != nil else { return "query" }
      return "query(" + (skip == nil ? "" : "$s: Boolean! ")
        + (include == nil ? ")" : "$i: Boolean!)")
    }
    var testDescription: String { "\(directives) \(variables)" }
  }

  static let cases: [Case] = {
    let values: [Bool?] = [nil, true, false]
    return values.flatMap { skip in
      values.flatMap { include in
        [true, false].flatMap { isVariable in
          [true, false].map {
            Case(skip: skip, include: include, isVariable: isVariable, isSkipFirst: $0)
          }
        }
      }
    }
  }()

  /// The places where directives may stand; `%` is replaced by them.
  static let paths = [
    "{ v { id name % email } }",
    "{ v { id ... % { name } email } }",
    "{ v { id ... on U % { name } email } }",
    "{ v { id ...F % email } } fragment F on U { name }",
    "{ v { id ... on U { ...F % } email } } fragment F on U { name }",
    "{ v { id nick: name % email } }",
  ]

  @Test("an excluded field is neither written nor missed", arguments: cases, paths)
  func exclusion(test: Case, path: String) async throws {
    let key = path.contains("nick") ? "nick" : "name"
    let text = path.replacingOccurrences(of: "%", with: test.directives)
    let operation = try prepare(test.declarations + text, variables: test.variables)
    let cache = CacheUnderTest(store: MemoryStore(collectsChanges: true))
    // The server sends the field in any case: what was not asked for does not count.
    let written = try await cache.write(
      #"{"data":{"v":{"__typename":"U","id":"1","\#(key)":"Ada","email":"a@x"}}}"#, operation)
    let name = test.isIncluded ? #","name":"Ada""# : ""
    try await cache.expectDump(
      #"{"key":"QUERY_ROOT","fields":{"v":{"$ref":"U:1"}}}"#,
      #"{"key":"U:1","fields":{"__typename":"U","email":"a@x","id":"1"\#(name)}}"#)
    let asked = test.isIncluded ? #""\#(key)":"Ada","# : ""
    let expected = #"{"v":{"id":"1",\#(asked)"email":"a@x"}}"#
    #expect(written.data == expected)
    #expect(try await cache.read(operation) == expected)
    #expect(written.response.statistics.unknownFields == (test.isIncluded ? 0 : 1))
    let everything = try await cache.read("{ v { name } }")
    #expect(everything == (test.isIncluded ? #"{"v":{"name":"Ada"}}"# : "miss at v.name"))
  }

  @Test("an excluded root field is neither written nor missed", arguments: StoreKind.allCases)
  func root(kind: StoreKind) async throws {
    try await kind.withCache { cache, _ in
      let operation = try prepare(
        "query($s: Boolean = true) { a @skip(if: $s) b @include(if: $s) { id } c @skip(if: $s) { id } }"
      )
      try await cache.write(
        #"{"data":{"a":1,"b":{"__typename":"B","id":1},"c":{"__typename":"C","id":1}}}"#, operation)
      try await cache.expectDump(
        #"{"key":"B:1","fields":{"__typename":"B","id":1}}"#,
        #"{"key":"QUERY_ROOT","fields":{"b":{"$ref":"B:1"}}}"#)
      #expect(try await cache.read(operation) == #"{"b":{"id":1}}"#)
    }
  }

  @Test("a field excluded in one place is included by another", arguments: StoreKind.allCases)
  func bothWays(kind: StoreKind) async throws {
    try await kind.withCache { cache, _ in
      let operation = try prepare(
        """
        { v { id @skip(if: true) name @skip(if: true) ...F @skip(if: true) ...F name
              a { x @include(if: false) y } a { x } } }
        fragment F on U { email }
        """)
      let written = try await cache.write(
        #"{"data":{"v":{"__typename":"U","id":"1","email":"e","name":"n","a":{"__typename":"A","x":1,"y":2}}}}"#,
        operation)
      // The id is known, and not shown.
      #expect(written.data == #"{"v":{"email":"e","name":"n","a":{"x":1,"y":2}}}"#)
      #expect(
        try await cache.read(operation) == #"{"v":{"email":"e","name":"n","a":{"y":2,"x":1}}}"#)
    }
  }

  @Test(
    "a condition that is not a Boolean is refused before anything is sent",
    arguments: [
      ("{ v @skip(if: 1) }", "{}", CacheError.Code.invalidOperation),
      ("{ v @skip }", "{}", .invalidOperation),
      ("{ v @include(if: null) }", "{}", .invalidOperation),
      ("query($x: Boolean) { v @skip(if: $x) }", "{}", .invalidVariables),
      ("query($x: Boolean) { v @skip(if: $x) }", #"{"x":null}"#, .invalidVariables),
      ("{ v @skip(if: $x) }", "{}", .invalidOperation),
    ])
  func wrongConditions(document: String, variables: String, expected: CacheError.Code) async throws
  {
    #expect(try await code { _ = try prepare(document, variables: variables) } == expected)
  }
}

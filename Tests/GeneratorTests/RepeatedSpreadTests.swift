import GQLRunGenerator
import Testing

@Suite("Fragments that an object spreads several times")
struct RepeatedSpreadTests {
  @Test(
    "the property is as optional as the response",
    arguments: [
      ("...F ...F @include(if: $c)", "F"), ("...F @include(if: $c) ...F", "F"),
      ("...F @defer ...F", "F"), ("...F ...F @defer", "F"),
      ("...F @include(if: $c) ...F @defer", "Deferred<F>"),
      ("...F @defer ...F @include(if: $c)", "Deferred<F>"),
      ("...F @include(if: $c) ...F @skip(if: $d)", "F?"),
    ])
  func repeated(spreads: String, type: String) throws {
    let sdl = """
      directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
      type Query { me: User }
      type User { id: ID! name: String }
      """
    let document = """
      query Q($c: Boolean! = true, $d: Boolean! = false) { me { id @skip(if: $d) @include(if: $c) \(spreads) } }
      fragment F on User { name }
      """
    let files = try generate(document, sdl: sdl)
    #expect(files.contains { $0.text.contains("let f: \(type)\n") })
  }
}

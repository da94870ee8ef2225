// Measures decoding of a response that is in memory: the fastest of several rounds, in milliseconds.
// bench.py compiles this file with the generated types.
import Foundation
import GQLRunJSON
import GQLRunTyped

struct Response: GraphQLObject {
  let data: FeedQuery.Data

  static func read(from object: inout ObjectReader) throws -> Self {
    Self(data: try object.read("data", "Query!"))
  }
  func write(to object: inout ObjectWriter) { object.write("data", data) }
}

@main
struct Decode {
  static func main() throws {
    let bytes = Array(try Data(contentsOf: URL(filePath: CommandLine.arguments[1])))
    let posts = try TokenIndex(checked: bytes).root(as: Response.self).data.feed.edges.count
    try measure("index") { _ = try TokenIndex(checked: bytes) }
    try measure("decode") { _ = try TokenIndex(checked: bytes).root(as: Response.self) }
    try measure("tree") { _ = try JSONValue(parsing: bytes) }
    print("posts", posts)
  }

  private static func measure(_ name: String, _ body: () throws -> Void) throws {
    let clock = ContinuousClock()
    var best = Duration.seconds(3600)
    for _ in 0..<7 { best = min(best, try clock.measure(body)) }
    print(name, Double(best.components.attoseconds) / 1e15 + Double(best.components.seconds) * 1e3)
  }
}

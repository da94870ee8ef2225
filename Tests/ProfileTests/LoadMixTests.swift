import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import Testing

@testable import GQLRunProfile

@Suite("Several operations of a load")
struct LoadMixTests {
  private func operation(_ name: String, weight: Double, rows: Int = 1) throws -> LoadMix.Operation
  {
    let document = try Document(parsing: "query Q($n: Int) { n(n: $n) }")
    return LoadMix.Operation(
      name: name, weight: weight,
      requests: try (0..<rows).map { row in
        GraphQLRequest(
          try PreparedOperation(document: document, variables: ["n": .number(JSONNumber(row))]))
      })
  }

  @Test(
    "after any number of requests, each operation is at most one request per operation from its share"
  )
  func shares() throws {
    for weights in [[1.0], [1, 1], [3, 1], [5, 2, 1], [0.5, 0.25, 10], [1, 1, 1, 1, 7]] {
      let mix = LoadMix(try weights.map { try operation("\($0)", weight: $0) })
      let total = weights.reduce(0, +)
      var sent = [Double](repeating: 0, count: weights.count)
      for number in 1...500 {
        sent[mix.next().operation] += 1
        for (index, weight) in weights.enumerated() {
          let share = Double(number) * weight / total
          #expect(abs(sent[index] - share) <= Double(weights.count), "\(weights) after \(number)")
        }
      }
    }
  }

  @Test("the rows of an operation are sent in turn, whatever the others do")
  func rows() throws {
    let mix = LoadMix([
      try operation("a", weight: 2, rows: 3), try operation("b", weight: 1, rows: 2),
    ])
    var rows: [[Int]] = [[], []]
    for _ in 0..<9 {
      let choice = mix.next()
      let row = choice.request.operation?.variables["n"]?.intValue
      rows[choice.operation].append(try #require(row))
    }
    #expect(rows == [[0, 1, 2, 0, 1, 2], [0, 1, 0]])
  }

  @Test("with the numbers of rows as weights, each row has its turn once")
  func eachRowOnce() throws {
    let counts = [1, 9, 4]
    let mix = LoadMix(
      try counts.map { try operation("\($0)", weight: Double($0), rows: $0) })
    var sent = counts.map { _ in 0 }
    for _ in 0..<14 { sent[mix.next().operation] += 1 }
    #expect(sent == counts)
  }
}

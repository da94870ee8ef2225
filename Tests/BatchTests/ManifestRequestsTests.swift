import GQLRunCache
import GQLRunJSON
import GQLRunPipeline
import Testing

@testable import GQLRunBatch

@Suite("The requests of a manifest")
struct ManifestRequestsTests {
  private func requests(
    _ operations: String, isStored: Bool = false, maxRows: Int = 10_000
  ) throws -> ManifestRequests {
    let location = try Place()
    try location.write(
      "query C($code: ID!) { country(code: $code) { name } }\nsubscription S { countdown(from: 3) }\n"
        + "mutation M { reset }",
      to: "q.graphql")
    try location.write("code\nPT\nDE\nFR\n", to: "codes.csv")
    let manifest = try Bench.load("version: 1\noperations:\n\(operations)", in: location)
    return try ManifestRequests(manifest, isStored: isStored, maxRows: maxRows)
  }

  private static let countries = """
      - id: C
        document: q.graphql#C
        foreach: { csv: codes.csv }
        variables: { code: "{{row.code}}" }
    """

  @Test("each row is a request with its variables, and `expect` belongs to the operation")
  func rows() throws {
    let found = try requests(
      Self.countries + "\n    expect: [\"data.country != null\"]\n    timeout: 3s")
    let operation = try #require(found.operations.first)
    #expect(found.operations.count == 1 && found.shortened.isEmpty)
    #expect(operation.id == "C" && operation.expectations.texts == ["data.country != null"])
    #expect(
      operation.requests.map { $0.operation?.variables["code"] } == [
        .string("PT"), .string("DE"), .string("FR"),
      ])
    #expect(operation.requests.allSatisfy { $0.timeout == .seconds(3) })
  }

  @Test("rows share a plan unless their responses are stored", arguments: [false, true])
  func stored(_ isStored: Bool) throws {
    let found = try requests(Self.countries, isStored: isStored)
    let plans = try #require(found.operations.first).requests.map { $0.operation?.plan }
    #expect(plans.count == 3 && (plans[0] === plans[1]) != isStored)
  }

  @Test("mutations are named")
  func mutations() throws {
    #expect(try requests(Self.countries).mutations == [])
    let found = try requests(
      Self.countries + """

          - id: M
            document: q.graphql#M
        """)
    #expect(found.mutations == ["M"])
  }

  @Test("more rows than a load keeps are left out, and reported")
  func manyRows() throws {
    let found = try requests(Self.countries, maxRows: 2)
    #expect(found.operations.first?.requests.count == 2)
    #expect(found.shortened == ["C"])
    #expect(try requests(Self.countries, maxRows: 3).shortened.isEmpty)
  }

  @Test("operations that are no requests by themselves are all reported")
  func refused() throws {
    let error = try #require(throws: RowProblems.self) {
      try requests(
        Self.countries + """

            - id: D
              document: q.graphql#C
              needs: [C]
              variables: { code: PT }
            - id: E
              document: q.graphql#C
              variables: { code: PT }
              expect: ["count(emit) >= 1"]
          """)
    }
    #expect(error.problems.count == 2, "\(error)")
    let reasons = ["`D` needs the results of others", "counts records"]
    for (problem, reason) in zip(error.problems, reasons) {
      #expect(problem.contains(reason), "\(problem)")
      #expect(problem.contains("m.batch.yaml:"), "\(problem)")
    }
  }

  @Test("subscriptions are beside the requests, and alone no load")
  func subscriptions() throws {
    let subscription = """
        - id: S
          document: q.graphql#S
          foreach: { inline: [{}, {}] }
          until: { events: 1 }
      """
    let found = try requests(Self.countries + "\n" + subscription)
    #expect(found.operations.map(\.id) == ["C"] && found.subscriptions.map(\.id) == ["S"])
    #expect(found.subscriptions.first?.requests.count == 2)
    let error = try #require(throws: RowProblems.self) { try requests(subscription) }
    #expect(error.problems.count == 1)
    #expect(error.problems.first?.hasPrefix("all operations are subscriptions") == true)
  }

  @Test("a row that cannot be sent is an error with its number")
  func unusableRow() throws {
    let error = try #require(throws: RowProblems.self) {
      try requests(
        """
            - id: C
              document: q.graphql#C
              foreach: { inline: [{ code: PT }, { other: 1 }] }
              variables: { code: "{{row.code}}" }
        """)
    }
    #expect(error.problems.count == 1)
    #expect(error.problems.first?.hasPrefix("`C`: row 2: ") == true, "\(error)")
  }
}

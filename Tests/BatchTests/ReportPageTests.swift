import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import Testing

@testable import GQLRunBatch

@Suite("The page of a batch report")
struct ReportPageTests {
  private let location: Place

  init() throws { location = try Place(ids: 5) }

  private func page(lost: Set<Int> = [], failing: Set<Int> = []) async throws -> (
    page: String, manifest: Manifest
  ) {
    let manifest = try Bench.load(TaskResolutionTests.likes, in: location)
    let transport = RowTransport(lost: lost, failing: failing, message: "a < b & c")
    let summary = try await Bench.run(manifest, transport: transport)
    let journal = try Journal(path: summary.journal, isReadOnly: true)
    defer { journal.close() }
    return (try ReportData(journal, manifest: manifest).page(manifest), manifest)
  }

  @Test("reasons come first, unknown mutations apart, each with the commands that continue")
  func reasons() async throws {
    let (page, manifest) = try await page(lost: [2], failing: [3, 4])
    let titles = page.split(separator: "<h2>").dropFirst().map { $0.prefix { $0 != "<" } }
    #expect(
      titles.prefix(4) == [
        "Tasks", "Why tasks failed", "Mutations with an unknown outcome", "Tasks over time",
      ], "\(titles)")
    let sections = page.split(separator: "<section ")
    let (failed, unknown) = (sections[2], sections[3])
    let file = QuotedText.shellPath(manifest.file)
    func has(_ section: Substring, command: String) -> Bool {
      section.replacing("<span>", with: "").replacing("</span>", with: "")
        .contains("<code>gqlrun batch \(command)</code>")
    }
    #expect(has(failed, command: "run \(file) --only failed"), "\(failed)")
    #expect(failed.contains("a &lt; b &amp; c") && !failed.contains("U_2"), "\(failed)")
    #expect(has(unknown, command: "resolve \(file) --done KEY…"), "\(unknown)")
    #expect(has(unknown, command: "resolve \(file) --retry KEY…"), "\(unknown)")
    #expect(has(unknown, command: "run \(file) --resume"), "\(unknown)")
    #expect(unknown.contains("U_2") && !unknown.contains("U_3"), "\(unknown)")
  }

  @Test("a run without failures has neither reasons nor commands, and a bar for each task")
  func success() async throws {
    let (page, _) = try await page()
    #expect(!page.contains("Why tasks failed") && !page.contains("<code>gqlrun batch"))
    let drawing = try #require(
      page.split(separator: "<svg ").first { $0.contains("aria-label=\"Waterfall") })
    #expect(drawing.split(separator: "<rect ").count - 1 == 5, "\(drawing)")
    #expect(drawing.contains("<desc>5 done</desc>"), "\(drawing)")
  }

  @Test(
    "times of a damaged journal have a place on the page",
    arguments: [
      "UPDATE tasks SET ended = 9e999", "UPDATE tasks SET ms = 9e999",
      "UPDATE meta SET value = '-inf' WHERE name = 'started'",
    ])
  func endlessTimes(_ damage: String) async throws {
    let manifest = try Bench.load(TaskResolutionTests.likes, in: location)
    let summary = try await Bench.run(manifest, transport: RowTransport())
    try location.execute(damage, in: summary.journal)
    let journal = try Journal(path: summary.journal, isReadOnly: true)
    defer { journal.close() }
    let page = try ReportData(journal, manifest: manifest).page(manifest)
    #expect(page.contains("<desc>5 done</desc>"))
  }

  @Test("the data of the page are those of the JSON report")
  func data() async throws {
    let (page, manifest) = try await page(lost: [2], failing: [3])
    let start = "id=\"gqlrun-data\">"
    let block = page.split(separator: start)[1].prefix { $0 != "<" }
    #expect(
      try JSONValue(parsing: String(block)) == JSONValue(parsing: RunInspection(manifest).report()))
  }
}

import GQLRunJSON
import Testing

@testable import GQLRunBatch

/// The files of tasks, from templates.
@Suite struct UploadTemplateTests {
  private func upload(_ path: String, _ state: JSONObject) throws -> TaskUpload? {
    var scope = Scope()
    scope.state = state
    return try UploadTemplate(path: TextTemplate(path)).upload(in: scope, for: "input.files[0]")
  }

  @Test func `an empty or missing path leaves the variable out`() throws {
    #expect(try upload("{{state.path}}", ["path": ""]) == nil)
    #expect(try upload("{{state.path}}", [:]) == nil)
    let file = try #require(try upload("{{state.path}}", ["path": "a.txt"]))
    #expect(file.path == "a.txt" && file.variable == "input.files.0")
  }

  @Test func `a missing part of a path is an error`() {
    let error = #expect(throws: TaskProblem.self) { try upload("scans/{{state.name}}.pdf", [:]) }
    #expect(error?.message == "`{{state.name}}` has no value here, and text needs one")
  }
}

import GQLRunGeneratedTypes
import GQLRunTyped
import Testing

/// Files in the variables of operations with generated types.
@Suite("Files in variables")
struct UploadTests {
  @Test("files are found at any depth, and null is in their place")
  func paths() {
    let (a, b, c) = (
      GraphQLUpload(path: "a.pdf"), GraphQLUpload(bytes: [1, 2]),
      GraphQLUpload(path: "c", fileName: "c.txt", contentType: "text/plain")
    )
    let mutation = SendFilesMutation(
      file: .value(a), more: [b, nil, c],
      input: .value(
        FilesInput(cover: c, attachments: .value([a, b]), nested: .value([.init(cover: b)]))))
    #expect(
      mutation.uploadsByPath == [
        "file": a, "more.0": b, "more.2": c, "input.cover": c, "input.attachments.0": a,
        "input.attachments.1": b, "input.nested.0.cover": b,
      ])
    #expect(
      JSONValue.object(mutation.variables).canonicalText
        == #"{"file":null,"input":{"attachments":[null,null],"cover":null,"nested":[{"cover":null}]},"more":[null,null,null]}"#
    )
  }

  @Test("absent files and operations without files have none")
  func absent() {
    #expect(SendFilesMutation(file: nil).uploadsByPath.isEmpty)
    #expect(SendFilesMutation(file: nil).variables == ["file": .null])
    #expect(GraphQLUpload(bytes: []).json == .null)
  }
}

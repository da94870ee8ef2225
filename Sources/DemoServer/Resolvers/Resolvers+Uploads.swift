extension Resolvers {
  static let uploadedFileFields: [String: FieldBehaviour] = [
    "filename": file { .string($0.fileName) },
    "contentType": file { .string($0.contentType) },
    "size": file { .int($0.size) },
    "sha256": file { .string($0.sha256) },
  ]

  private static func file(
    _ body: @escaping @Sendable (UploadedFile) -> Resolved
  ) -> FieldBehaviour {
    FieldBehaviour(of: { if case .uploadedFile(let file) = $0 { file } else { nil } }) {
      file, _, _ in
      body(file)
    }
  }
}

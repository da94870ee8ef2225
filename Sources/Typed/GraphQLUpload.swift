public import GQLRunJSON

/// A file as a variable, or as a part of one, of the scalar `Upload`.
///
/// ```swift
/// try await client.perform(AttachMutation(report: GraphQLUpload(path: "report.pdf")))
/// ```
/// The client sends it as the GraphQL multipart request specification defines. A file is read while it is sent, and again
/// by retries; it must not change until then.
///
/// https://github.com/jaydenseric/graphql-multipart-request-spec
public struct GraphQLUpload: Sendable, Hashable {
  /// Where the contents are.
  package enum Contents: Sendable, Hashable {
    case file(path: String)
    case bytes([UInt8])
  }

  package let contents: Contents
  /// The file name that the server receives; `nil` is the last part of the path, or `blob`.
  public var fileName: String?
  /// The media type that the server receives; `nil` derives it from the end of the file name.
  public var contentType: String?

  /// Creates an upload of a regular file, which is opened when the operation is executed.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - fileName: The file name that the server receives; `nil`, the default, is the last part of the path.
  ///   - contentType: The media type; `nil`, the default, derives it from the end of the file name.
  public init(path: String, fileName: String? = nil, contentType: String? = nil) {
    contents = .file(path: path)
    self.fileName = fileName
    self.contentType = contentType
  }

  /// Creates an upload of bytes in memory.
  ///
  /// - Parameters:
  ///   - bytes: The contents.
  ///   - fileName: The file name that the server receives; `nil`, the default, is `blob`.
  ///   - contentType: The media type; `nil`, the default, derives it from the end of the file name.
  public init(bytes: [UInt8], fileName: String? = nil, contentType: String? = nil) {
    contents = .bytes(bytes)
    self.fileName = fileName
    self.contentType = contentType
  }
}

extension GraphQLUpload: GraphQLEncodable {
  /// Null: the contents are beside the variables.
  public var json: JSONValue { .null }
  /// The upload itself.
  public var uploadsByPath: [String: GraphQLUpload] { ["": self] }
}

extension GraphQLUpload: GraphQLDecodable {
  /// Always throws: responses contain no files.
  public init(from value: ValueReader) throws {
    throw value.mismatch("a file, which a response cannot contain")
  }
}

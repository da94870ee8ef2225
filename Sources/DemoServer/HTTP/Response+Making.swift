import HTTPTypes
import Hummingbird
import NIOCore

extension Response {
  init(_ status: HTTPResponse.Status, contentType: String, _ body: [UInt8]) {
    self.init(
      status: status, headers: [.contentType: contentType],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
  }

  init(_ status: HTTPResponse.Status, contentType: String, _ body: String) {
    self.init(status, contentType: contentType, Array(body.utf8))
  }

  init(json: String) {
    self.init(.ok, contentType: ResponseMediaType.json.contentType, json)
  }

  /// A response with a single GraphQL error.
  init(
    _ status: HTTPResponse.Status, error: RequestError, _ type: ResponseMediaType = .json
  ) {
    self.init(status, contentType: type.contentType, RequestError.response([error]))
  }

  static func methodNotAllowed(_ message: String, allowed: String) -> Self {
    var response = Self(.methodNotAllowed, error: .badRequest(message))
    response.headers[.allow] = allowed
    return response
  }
}

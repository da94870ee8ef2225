import HTTPTypes
import Hummingbird
import NIOCore

extension DemoResponder {
  /// Applies the misbehaviour in the order documented at ``Misbehaviour``.
  func misbehave(
    _ wish: Misbehaviour, _ context: Context, for request: Request, answer: () -> Response
  ) -> Response {
    if let token = wish.auth, request.headers[.authorization] != "Bearer \(token)" {
      return .unauthorized
    }
    var response = failure(wish) ?? answer()
    if let status = wish.status { response.status = HTTPResponse.Status(code: status) }
    if let seconds = wish.retryAfter, response.status.code >= 300 {
      response.headers[.retryAfter] = String(seconds)
    }
    if let type = wish.contentType { response.headers[.contentType] = type }
    if [204, 205, 304].contains(response.status.code) { response.body = ResponseBody() }
    if let limit = wish.truncate { response = truncated(response, limit, context.channel) }
    return counted(response)
  }

  /// The response that replaces the regular one; `nil` if none does.
  private func failure(_ wish: Misbehaviour) -> Response? {
    if wish.html {
      return Response(.badGateway, contentType: "text/html; charset=utf-8", Self.proxyPage)
    }
    if let code = wish.status ?? wish.retryAfter.map({ _ in 503 }), code >= 300 {
      let error = RequestError(code: "DEMO_STATUS", "The request asked for status \(code).")
      return Response(HTTPResponse.Status(code: code), error: error)
    }
    if wish.empty {
      return Response(.ok, contentType: ResponseMediaType.json.contentType, "")
    }
    if wish.garbage {
      return Response(
        .ok, contentType: ResponseMediaType.json.contentType, "{\"data\": oops, this is no JSON")
    }
    return nil
  }

  /// The response with its body cut off after `limit` bytes, although its head promises all of
  /// them.
  private func truncated(
    _ response: Response, _ limit: Int, _ channel: any Channel
  ) -> Response {
    let body = response.body
    return Response(
      status: response.status, headers: response.headers,
      body: ResponseBody(contentLength: body.contentLength) { writer in
        let cut = CuttingWriter(base: writer, remaining: limit)
        do {
          try await body.write(cut)
        } catch let cut as CuttingWriter.Cut {
          // Written bytes are still sent before the connection's outgoing half closes.
          try await channel.close(mode: .output)
          throw cut
        }
      })
  }

  /// The response, with the bytes of its body counted in the log.
  private func counted(_ response: Response) -> Response {
    let log = state.log
    var response = response
    if let count = response.body.contentLength {
      log.noteWritten(count)
    } else {
      response.body = response.body.map { buffer in
        log.noteWritten(buffer.readableBytes)
        return buffer
      }
    }
    return response
  }

  private static let proxyPage = """
    <!DOCTYPE html>
    <html>
    <head><title>502 Bad Gateway</title></head>
    <body>
    <center><h1>502 Bad Gateway</h1></center>
    <hr><center>demo-proxy</center>
    </body>
    </html>

    """
}

extension Response {
  fileprivate static var unauthorized: Self {
    var response = Self(
      .unauthorized,
      error: RequestError(.unauthenticated, "The bearer token is missing or not the right one."))
    response.headers[.wwwAuthenticate] = "Bearer realm=\"demo\""
    return response
  }
}

/// Passes a number of bytes of a body on, then throws.
private struct CuttingWriter: ResponseBodyWriter {
  struct Cut: Error {}

  var base: any ResponseBodyWriter
  var remaining: Int

  mutating func write(_ buffer: ByteBuffer) async throws {
    var buffer = buffer
    if let head = buffer.readSlice(length: min(remaining, buffer.readableBytes)) {
      remaining -= head.readableBytes
      try await base.write(head)
    }
    if buffer.readableBytes > 0 { throw Cut() }
  }

  consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
    try await base.finish(trailingHeaders)
  }
}

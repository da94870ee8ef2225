import GQLRunJSON
import GQLRunLanguage
import HTTPTypes
import Hummingbird
import NIOCore

extension DemoResponder {
  /// The response to a request whose body is an array: an array of the operations' responses, in the
  /// same order.
  ///
  /// The response is written during execution, one operation after the other.
  func batch(_ body: [UInt8], _ wish: Misbehaviour, _ type: ResponseMediaType) -> Response {
    let limit = configuration.maxBatch
    guard limit > 0 else {
      return Response(
        .badRequest, error: .badRequest("Operation batching is disabled: send one operation."), type
      )
    }
    guard let elements = (try? JSONValue(parsing: body))?.arrayValue else {
      return Response(.badRequest, error: .badRequest("The request body is not valid JSON."), type)
    }
    guard (1...limit).contains(elements.count) else {
      let message = "A request has 1 to \(limit) operations; it has \(elements.count)."
      return Response(.badRequest, error: .badRequest(message), type)
    }
    let responder = self
    let stream = ResponseBody { writer in
      for (index, element) in elements.enumerated() {
        try await writer.write(ByteBuffer(string: index == 0 ? "[" : ","))
        switch responder.prepared(element, wish) {
        case .refused(let errors):
          try await writer.write(ByteBuffer(bytes: RequestError.response(errors)))
        case .ready(let operation):
          var execution = responder.executor.start(operation)
          while let piece = execution.next() {
            try await writer.write(ByteBuffer(bytes: piece))
          }
        }
      }
      try await writer.write(ByteBuffer(string: "]"))
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: [.contentType: type.contentType], body: stream)
  }

  private func prepared(_ element: JSONValue, _ wish: Misbehaviour) -> Preparation {
    do throws(RequestError) {
      var request = try OperationRequest(payload: element)
      request.query = try state.persistedQueries.document(of: request)
      let preparation = executor.prepare(request, failing: wish.errors)
      guard case .ready(let operation) = preparation, operation.type == .subscription else {
        return preparation
      }
      return .refused([DemoExecutor.needsEvents])
    } catch {
      return .refused([error])
    }
  }
}

extension UInt8 {
  /// Whether the byte is white space between JSON tokens.
  var isJSONSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}

extension HTTPResponse.Status {
  /// 294: data with errors.
  static let partial = Self(code: 294, reasonPhrase: "Partial Success")
}

import GQLRunCache
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import HTTPTypes

/// Sends requests until there is a response that is not a refusal.
extension TaskRunner {
  func request(
    _ item: TaskItem, _ operation: BatchOperation, _ variables: JSONObject
  ) throws -> GraphQLRequest {
    let template = operation.template
    // A task's variables are already coerced; later pages change them.
    let coerced =
      operation.pagination == nil
      ? variables : try template.coerce(variables, uploads: item.uploads.map(\.variable))
    var uploads: [String: Upload] = [:]
    for file in item.uploads { uploads[file.variable] = try manifest.upload(file) }
    var request = GraphQLRequest(
      try template.prepared(coerced: coerced, isStored: runner.services.store != nil),
      cachePolicy: operation.policy, uploads: uploads)
    request.timeout = operation.timeout
    if operation.idempotency != nil { request.isIdempotent = true }
    return request
  }

  /// Sends a request until it is answered; `nil` if the run stops before that.
  func send(_ request: GraphQLRequest, _ operation: BatchOperation) async throws -> Page? {
    while true {
      if stop.reason != nil { return nil }
      let pass = try await governor.enter(operation.id)
      // A delay of the server may have taken longer than a lease.
      if stop.reason != nil || !feed.maySend {
        _ = governor.leave(pass, nil)
        return nil
      }
      let page: Page
      do {
        page = try await attempt(request, operation)
      } catch {
        _ = governor.leave(pass, nil)
        throw error
      }
      guard page.error != nil else {
        _ = governor.leave(pass, .answered, page.response)
        return page
      }
      let head = (page.error as? ChainError)?.http.map {
        HTTPResponse(status: .init(code: $0.status), headerFields: $0.headers)
      }
      switch page.kind {
      case .refused(let wish):
        let outage = governor.leave(pass, .refused(after: wish), head: head, page.response)
        if let outage { stop.stop(.throttled, page.error.map { "\($0)" }, outage) }
      case .unreachable:
        let outage = governor.leave(pass, .unreachable)
        if let outage { stop.stop(.unreachable, page.error.map { "\($0)" }, outage) }
      case .unauthorized:
        _ = governor.leave(pass, nil)
        stop.stop(.unauthorized, page.error.map { "\($0)" })
        return nil
      case .unknown, .failed, .tooCostly:
        _ = governor.leave(pass, .answered, head: head)
        return page
      }
      try Task.checkCancellation()
    }
  }

  /// Runs the request through the chain once.
  private func attempt(_ request: GraphQLRequest, _ operation: BatchOperation) async throws -> Page
  {
    let clock = ContinuousClock()
    let start = clock.now
    var time: Double { runner.services.secondsSince1970() }
    var page = Page()
    do {
      // Data without another reference grows in place with the parts of a response.
      for try await response in runner.execute(request) {
        page.response = response.isComplete ? response : nil
      }
      page.milliseconds = (clock.now - start).milliseconds
      guard let response = page.response else {
        page.error = ChainError(.chain, .noResult, "the chain returned no result")
        return page
      }
      if let message = FailureKind.refusal(in: response) {
        // A rate limit error with status 200, handled like 429.
        page.error = ChainError(.transport, .rateLimited, message)
        page.kind = .refused(after: FailureKind.wish(response.http?.headerFields ?? [:], time))
      }
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      if Task.isCancelled { throw CancellationError() }
      page.response = nil
      page.milliseconds = (clock.now - start).milliseconds
      page.error = error
      page.kind = FailureKind(error, mayRepeat: operation.mayRepeat, now: time)
    }
    return page
  }
}

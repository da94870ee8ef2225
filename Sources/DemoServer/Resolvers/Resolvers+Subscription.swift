import GQLRunJSON

extension Resolvers {
  static let subscriptionFields: [String: FieldBehaviour] = [
    "likesChanged": event { event, _ in
      guard case .liked(let post, _) = event else { return nil }
      return .object(.post(post))
    },
    "countdown": event { event, arguments in
      guard case .count(let number) = event else { return nil }
      return arguments["failAt"]?.intValue == number
        ? .failure(RequestError(code: "DEMO_ERROR", "The number \(number) fails.")) : .int(number)
    }.failing(badCountdown),
  ]

  @Sendable private static func badCountdown(_ arguments: Arguments) -> RequestError? {
    if let from = arguments["from"]?.intValue, from < 0 {
      return RequestError(.badUserInput, "Argument \"from\" must be at least 0; it is \(from).")
    }
    if let delay = arguments["delay"]?.intValue, !(0...60_000).contains(delay) {
      return RequestError(
        .badUserInput, "Argument \"delay\" must be from 0 to 60000; it is \(delay).")
    }
    return nil
  }

  private static func event(
    _ body: @escaping @Sendable (SourceEvent, Arguments) -> Resolved?
  ) -> FieldBehaviour {
    FieldBehaviour(of: { if case .event(let event) = $0 { event } else { nil } }) {
      event, arguments, _ in
      body(event, arguments)
        ?? .failure(RequestError(.internalServerError, "The event is one of another field."))
    }
  }
}

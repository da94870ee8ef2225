import GQLRunJSON

extension Resolvers {
  static let troubleFields: [String: FieldBehaviour] = [
    "ok": trouble { _ in .string("ok") },
    "error": trouble(fail).failing(),
    "requiredError": trouble(fail).failing(),
    "items": trouble(items).failing(badSize),
    "requiredItems": trouble(items).failing(badSize),
    "nested": trouble { _ in .object(.trouble) },
    "requiredNested": trouble { _ in .object(.trouble) },
  ]

  private static let maxItems = 10_000

  @Sendable private static func fail(_ arguments: Arguments) -> Resolved {
    let message = arguments["message"]?.stringValue ?? "This field always fails."
    return .failure(
      RequestError(code: arguments["code"]?.stringValue ?? "DEMO_ERROR", message))
  }

  @Sendable private static func items(_ arguments: Arguments) -> Resolved {
    let failEvery = arguments["failEvery"]?.intValue ?? 0
    return .list(
      ResolvedList(count: arguments["size"]?.intValue ?? 0) { index in
        failEvery > 0 && (index + 1) % failEvery == 0
          ? .failure(RequestError(code: "DEMO_ERROR", "Element \(index) fails."))
          : .int(index)
      })
  }

  @Sendable private static func badSize(_ arguments: Arguments) -> RequestError? {
    guard let size = arguments["size"]?.intValue, !(0...maxItems).contains(size) else { return nil }
    return RequestError(
      .badUserInput, "Argument \"size\" must be from 0 to \(maxItems); it is \(size).")
  }

  private static func trouble(
    _ body: @escaping @Sendable (Arguments) -> Resolved
  ) -> FieldBehaviour {
    FieldBehaviour(of: { if case .trouble = $0 { true } else { nil } }) { _, arguments, _ in
      body(arguments)
    }
  }
}

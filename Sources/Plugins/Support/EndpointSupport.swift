import GQLRunPipeline
import GQLRunSupport

/// Whether an endpoint supports a feature, as far as its answers have shown.
final class EndpointSupport: Sendable {
  private let supported = Locked(Bool?.none)

  /// `nil` before the first answer.
  var isSupported: Bool? { supported.withLock { $0 } }

  /// The support of a feature by the pipeline's endpoint, which all chains with the same services share.
  static func of(_ feature: String, _ context: ChainContext) -> EndpointSupport {
    context.services.shared.value(
      EndpointSupport.self, named: "\(feature) of \(context.endpoint?.shownURL ?? "")",
      make: { EndpointSupport() })
  }

  /// A refusal stays.
  func note(isSupported: Bool) {
    supported.withLock { if $0 != false { $0 = isSupported } }
  }
}

import GQLRunCache
import GQLRunPipeline

/// When the first part of a response, or a deferred fragment or streamed list of it, was complete.
package struct DeliveryTime: Codable, Sendable {
  /// `first part`, the label of the fragment or list, or its path without indices.
  package var name: String
  /// Since the start of the request, in seconds.
  package var seconds: Double
}

extension [DeliveryTime] {
  /// Adds what a part delivers. A fragment in several objects, or a list, is complete with its last delivery.
  mutating func add(_ part: ResponsePart, at seconds: Double) {
    for delivered in part.delivered {
      let path = delivered.path.filter { if case .field = $0 { true } else { false } }
      let name =
        part.index == 0 && delivered.path.isEmpty
        ? "first part" : delivered.label ?? PathStep.text(path)
      if let known = firstIndex(where: { $0.name == name }) {
        self[known].seconds = seconds
      } else {
        append(DeliveryTime(name: name, seconds: seconds))
      }
    }
  }
}

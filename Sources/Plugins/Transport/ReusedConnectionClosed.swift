/// The cause of a failure that may only mean that the server closed an idle connection while the
/// request was sent on it, or that the connection was closed because of what the server had sent before.
///
/// https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1
struct ReusedConnectionClosed: Error, CustomStringConvertible {
  var description: String { "the connection was reused" }
}

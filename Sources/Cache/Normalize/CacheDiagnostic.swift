/// A notice about a response that is not an error: objects without identity.
public struct CacheDiagnostic: Sendable, Hashable, CustomStringConvertible {
  /// The type of the objects; empty if it is unknown.
  public var typename: String
  /// The key field that is missing or null.
  public var keyField: String

  /// The notice as a sentence.
  public var description: String {
    if typename.isEmpty {
      return
        "some objects have no \"__typename\", so they have no identity and are stored in their "
        + "parent; select it to store them as records"
    }
    return "objects of type \(typename) have no \"\(keyField)\", so they have no identity and are "
      + "stored in their parent; declare their key fields with keys: { types: { \(typename): [field] } }"
  }
}

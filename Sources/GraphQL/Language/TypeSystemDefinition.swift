/// A definition or extension of the type system language (SDL).
public struct TypeSystemDefinition: Sendable, Hashable {
  public var location: SourceLocation
}

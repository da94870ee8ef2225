import GraphQL

struct DocumentValidator {
  static func validate(_ document: Document, against schema: Schema) -> [RequestError] { [] }
}

/// The behaviour of every field of the schema, by type and field name.
enum Resolvers {
  static let all: [String: [String: FieldBehaviour]] = [
    "Query": queryFields,
    "Mutation": mutationFields,
    "Subscription": subscriptionFields,
    "Continent": continentFields,
    "Country": countryFields,
    "Language": languageFields,
    "State": stateFields,
    "Subdivision": subdivisionFields,
    "PostConnection": postPageFields,
    "PostEdge": postEdgeFields,
    "Post": postFields,
    "CommentConnection": commentPageFields,
    "CommentEdge": commentEdgeFields,
    "Comment": commentFields,
    "PageInfo": pageInfoFields,
    "User": userFields,
    "Tag": tagFields,
    "UploadedFile": uploadedFileFields,
    "Trouble": troubleFields,
    "__Schema": schemaFields,
    "__Type": typeFields,
    "__Field": fieldFields,
    "__InputValue": inputValueFields,
    "__EnumValue": enumValueFields,
    "__Directive": directiveFields,
  ]

  /// The field `__typename`, which every object has.
  static let typeName = FieldBehaviour(of: { $0 }) { entity, _, _ in .string(entity.typeName) }

  static func behaviour(of field: String, in type: String) -> FieldBehaviour? {
    field == "__typename" ? typeName : all[type]?[field]
  }
}

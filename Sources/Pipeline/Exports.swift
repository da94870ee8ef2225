// The API of `GQLRunPipeline` has types of `GQLRunConfiguration`: option descriptions, diagnostics.
@_exported public import GQLRunConfiguration
// `GraphQLError` is in `GQLRunTyped`, because the types that `gqlrun generate` writes have it.
@_exported public import GQLRunTyped

// The API of `GQLRunPipeline` has types of `GQLRunConfiguration`: option descriptions, diagnostics.
@_exported public import GQLRunConfiguration

// A plugin describes its options and reports diagnostics: both belong to what `GQLRunPipeline` offers.
@_exported public import GQLRunConfiguration

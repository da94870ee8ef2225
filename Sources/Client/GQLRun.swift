// `import GQLRun` is the only import that users of the library need.
@_exported public import GQLRunCache
@_exported public import GQLRunJSON
@_exported public import GQLRunLanguage
@_exported public import GQLRunPipeline
@_exported public import GQLRunPlugins
@_exported public import GQLRunTyped
@_exported public import HTTPTypes
@_exported public import Logging

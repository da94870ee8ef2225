// What users of the library need beside the client: `import GQLRun` is the only import.
@_exported public import GQLRunCache
@_exported public import GQLRunJSON
@_exported public import GQLRunLanguage
@_exported public import GQLRunPipeline
@_exported public import GQLRunPlugins
@_exported public import HTTPTypes
@_exported public import Logging

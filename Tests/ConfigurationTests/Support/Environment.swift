import GQLRunConfiguration

/// An environment with one variable, and without files and commands.
let testEnvironment = PipelineFileEnvironment(variable: { ["TOKEN": "hunter2"][$0] })

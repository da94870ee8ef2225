import Cache
import GQLRun
import GraphQL
import Pipeline

let client = try await PipelineClient(file: CommandLine.arguments[1])
let result = try await client.fetch("{ country(code: \"FR\") { name } }", as: GraphQL.Data.self)
// `Pipeline.pipelineName` would be looked up in the type `Pipeline` of gqlrun: a type hides a module of its name.
print(result.data?.country?.name ?? "none", Cache.name, pipelineName)
try await client.shutdown()

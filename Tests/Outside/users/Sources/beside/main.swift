import Cache
import GQLRun
import GraphQL
import Pipeline

let client = try await PipelineClient(file: CommandLine.arguments[1])
let result = try await client.fetch("{ country(code: \"FR\") { name } }", as: GraphQL.Data.self)
print(result.data?.country?.name ?? "none", Cache.name, Pipeline.name)
try await client.shutdown()

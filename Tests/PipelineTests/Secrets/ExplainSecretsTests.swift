import GQLRunCache
import GQLRunLanguage
import Testing

@testable import GQLRunPipeline

@Suite struct ExplainSecretsTests {
  private static let file = """
    version: 1
    endpoint:
      url: "https://api.example.com/hooks/${env:HOOK}?key=${env:KEY}"
      headers:
        X-Team: "${env:TEAM}"
        X-Short: "${env:SHORT}"
        X-Auth-Key: "${env:KEY}"
        X-Lang: "pt"
        X-Default: "${env:UNSET:-open-default}"
        X-Command: "${exec:printf abc}"
    chain: [fetch, parse]
    """

  private static let variables = [
    "HOOK": "hook-secret-1", "KEY": "key-secret-2", "TEAM": "team-secret-3", "SHORT": "ab1",
  ]

  private func explanation(_ environment: PipelineFileEnvironment) throws -> String {
    let pipeline = try PipelineFile.load(
      Array(Self.file.utf8), file: "t.pipeline.yaml", registry: TestPlugins.registry,
      environment: environment
    ).pipeline
    let operation = try PreparedOperation(document: Document(parsing: "{ a }"))
    return pipeline.explanation(of: GraphQLRequest(operation))
  }

  @Test func `what comes from outside of the file is hidden whatever its field is called`() throws {
    let variables = Self.variables
    let text = try explanation(
      PipelineFileEnvironment(variable: { variables[$0] }, execute: { _ in "abc-from-command" }))
    for secret in variables.values { #expect(!text.contains(secret), "\(text)") }
    #expect(!text.contains("abc-from-command"), "\(text)")
    for name in ["X-Team", "X-Short", "X-Auth-Key", "X-Command"] {
      #expect(text.contains("\(name): •••"), "\(text)")
    }
    #expect(text.contains("POST https://api.example.com/hooks/•••"), "\(text)")
  }

  @Test func `what the file has itself is shown, and a command that is not run as it is written`()
    throws
  {
    let variables = Self.variables
    let text = try explanation(
      PipelineFileEnvironment(variable: { variables[$0] }).withPlaceholders)
    #expect(text.contains("X-Lang: pt") && text.contains("X-Default: open-default"), "\(text)")
    #expect(text.contains("X-Command: ${exec:printf abc}"), "\(text)")
  }
}

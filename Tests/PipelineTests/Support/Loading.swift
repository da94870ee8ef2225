import GQLRunPipeline

/// A place for pipeline files without a disk.
let testEnvironment = PipelineFileEnvironment(
  variable: {
    [
      "GQL_URL": "https://api.example.com/graphql?key=hunter2", "TOKEN": "hunter2", "EMPTY": "",
      "TIMEOUT": "45s", "BAD": "hunter2",
    ][$0]
  },
  readFile: {
    switch $0 {
    case "dir/token.txt": Array("hunter2\n".utf8)
    case "dir/marked.txt": Array("\u{FEFF}hunter2\n".utf8)
    case "dir/binary": [0xFF, 0xFE]
    default: throw PipelineFileEnvironment.Failure("there is no such file")
    }
  },
  execute: {
    guard $0 == "print {hunter2}" else {
      throw PipelineFileEnvironment.Failure("it ended with status 1")
    }
    return "hunter2\n"
  })

func check(_ yaml: String, file: String = "dir/x.pipeline.yaml") -> PipelineDiagnostics {
  PipelineFile.check(
    Array(yaml.utf8), file: file, registry: TestPlugins.registry, environment: testEnvironment)
}

func load(
  _ yaml: String, file: String = "dir/x.pipeline.yaml"
) throws(PipelineDiagnostics) -> Pipeline {
  try PipelineFile.load(
    Array(yaml.utf8), file: file, registry: TestPlugins.registry, environment: testEnvironment
  ).pipeline
}

/// A complete file with the given entries in its chain.
func file(chain: String, settings: String = "") -> String {
  """
  version: 1
  endpoint: { url: "https://api.example.com/graphql" }
  store: { kind: memory }
  \(settings.isEmpty ? "name: test" : settings)
  chain:
  \(chain)
  """
}

import Foundation
import GQLRunDemoServer
import Testing

/// Programs that files start: only when their user has allowed them.
@Suite("A file that starts programs", .timeLimit(.minutes(10)))
struct TrustTests {
  private func run(
    _ line: String, _ folder: Folder, _ url: String, _ environment: [String: String] = [:]
  ) async throws -> RunResult {
    try await Program.run(
      line.split(separator: " ").map { $0 == "URL" ? url : String($0) }, in: folder,
      environment: [
        "XDG_STATE_HOME": folder.path + "/state", "HOME": folder.path,
        "TMPDIR": folder.path + "/folder",
      ].merging(environment) { $1 })
  }

  /// A pipeline that writes to a path, which a shell would execute as a part of a profile.
  private static func writing(_ option: String) -> String {
    """
    version: 1
    name: writing
    endpoint: { url: "${env:GQL_URL}" }
    store: \(option.hasPrefix("path") ? "{ kind: sqlite, \(option) }" : "{ kind: none }")
    chain:
    \(option.hasPrefix("audit") ? "  - \(option)" : "")
      - max-retry: { max_retries: 1 }
    \(option.hasPrefix("oauth2") ? "  - token-refresh: { \(option) }" : "")
    \(option.hasPrefix("path") ? "  - cache-read" : "")
    \(option.hasPrefix("record") ? "  - \(option)" : "")
      - fetch
      - response-code
      - parse
    \(option.hasPrefix("path") ? "  - cache-write" : "")
    tests:
      - name: a test
        document: "{ country(code: \\"DE\\") { name } }"
        upstream: [{ body: { data: { country: { __typename: Country, name: Germany } } } }]
        expect: { succeeded: 1 }

    """
  }

  @Test(
    "writes outside of its repository only if it is trusted",
    arguments: [
      "audit: { file: HOME/.profile, values: ['$(touch ran-line)'] }",
      "audit: { file: sub/../../.profile }", "audit: { file: link/.profile }",
      "audit: { file: dangling }", "audit: { file: HOME/folder/link/.profile }",
      "audit: { file: HOME/.cache/prompt.zsh }", "audit: { file: .git/hooks/post-checkout }",
      "audit: { file: \"${env:TMPDIR}/../.profile\" }",
      "audit: { file: \"${env:NAME:-../.profile}\" }",
      "record-replay: { file: ../.profile, mode: auto }",
      "path: ../.profile",
      "oauth2: { token_url: 'http://127.0.0.1:1/', client_id: c, store: ../.profile }",
    ])
  func outputs(_ option: String) async throws {
    let folder = try Folder()
    for name in ["repository/.git/hooks", ".cache"] {
      try FileManager.default.createDirectory(
        atPath: folder.file(name), withIntermediateDirectories: true)
    }
    for (link, target) in [
      ("repository/link", folder.path), ("repository/dangling", "../.profile"),
      ("folder/link", folder.path),
    ] {
      try FileManager.default.createSymbolicLink(
        atPath: folder.file(link), withDestinationPath: target)
    }
    let text = Self.writing(option).replacing("HOME", with: folder.path)
    let file = "repository/p.pipeline.yaml"
    try folder.write(text, to: file)
    try await DemoServer.withServer { server in
      for line in [
        "run germany.graphql -p \(file) -e URL", "logout -p \(file)",
        "profile -p \(file) -e URL -d germany.graphql --rate 5 --duration 1s",
      ] {
        let refused = try await run(line, folder, server.url)
        #expect(refused.status == 78, "\(line): \(refused)")
        #expect(
          refused.errors.contains("writes files outside of its repository, and it is not trusted"),
          "\(line): \(refused)")
        #expect(!folder.exists(".profile"), "\(line)")
      }
      #expect(server.log.requests.isEmpty)
      for command in ["test", "check", "show", "graph"] {
        let read = try await run(
          "pipeline \(command) \(file)", folder, "", ["GQL_URL": server.url])
        #expect(read.status == 0 && !folder.exists(".profile"), "\(command): \(read)")
      }
      let trusted = try await run("pipeline trust \(file)", folder, "")
      #expect(trusted.status == 0 && trusted.errors.contains(" writes "), "\(trusted)")
      let result = try await run("run germany.graphql -p \(file) -e URL", folder, server.url)
      #expect(result.status != 78, "\(result)")
    }
  }

  @Test(
    "writes inside of its repository, to paths that are the user's variables, and to temporary files, without trust",
    arguments: [
      ("../audit.ndjson", ""), ("a/../audit.ndjson", ""), ("/dev/null", ""),
      ("${env:AUDIT_LOG}", "FOLDER/elsewhere.ndjson"), ("${env:HOME}/.cache/gqlrun/a.ndjson", ""),
      ("${env:HOME}/folder/a.ndjson", ""),
    ])
  func ownOutputs(_ path: String, _ variable: String) async throws {
    let folder = try Folder()
    for name in ["repository/.git", "repository/pipelines/a", ".cache/gqlrun"] {
      try FileManager.default.createDirectory(
        atPath: folder.file(name), withIntermediateDirectories: true)
    }
    let file = "repository/pipelines/p.pipeline.yaml"
    try folder.write(Self.writing("audit: { file: \"\(path)\" }"), to: file)
    try await DemoServer.withServer { server in
      let result = try await run(
        "run germany.graphql -p \(file) -e URL", folder, server.url,
        ["AUDIT_LOG": variable.replacing("FOLDER", with: folder.path)])
      #expect(result.status == 0, "\(result)")
    }
  }

  @Test("is trusted, also if many are trusted and others are not any more at the same time")
  func manyAtOnce() async throws {
    let folder = try Folder()
    let result = try await Program.shell(
      #"""
      export XDG_STATE_HOME="$PWD/state"
      for i in $(seq 30); do
        echo 'version: 1' > $i.pipeline.yaml
        echo 'endpoint: { url: "http://127.0.0.1:1/", headers: { X-A: "${exec:false}" } }' >> $i.pipeline.yaml
        echo 'chain: [fetch, response-code, parse]' >> $i.pipeline.yaml
      done
      for i in $(seq 15); do "$GQLRUN" pipeline trust $i.pipeline.yaml; done
      for i in $(seq 15); do
        "$GQLRUN" pipeline trust --revoke $i.pipeline.yaml &
        "$GQLRUN" pipeline trust $((i + 15)).pipeline.yaml &
      done
      wait
      grep -o '[0-9]*\.pipeline' state/gqlrun/trusted | sort -n
      """#, in: folder)
    #expect(
      result.output == (16...30).map { "\($0).pipeline\n" }.joined(), "\(result)")
  }

  @Test("is trusted with a list behind a symbolic link, which is locked where it is")
  func linkedList() async throws {
    let folder = try Folder()
    let result = try await Program.shell(
      #"""
      export XDG_STATE_HOME="$PWD/state"
      mkdir -p state/gqlrun lists
      ln -s ../../lists/mine state/gqlrun/trusted
      echo 'version: 1' > a.pipeline.yaml
      echo 'endpoint: { url: "http://127.0.0.1:1/", headers: { X-A: "${exec:false}" } }' >> a.pipeline.yaml
      echo 'chain: [fetch, response-code, parse]' >> a.pipeline.yaml
      "$GQLRUN" pipeline trust a.pipeline.yaml > /dev/null
      ls lists state/gqlrun
      grep -o 'a\.pipeline' lists/mine
      """#, in: folder)
    #expect(
      result.output
        == "lists:\nmine\nmine.lock\n\nstate/gqlrun:\ntrusted\na.pipeline\n", "\(result)")
  }
}

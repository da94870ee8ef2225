import Foundation
import GQLRunDemoServer
import Testing

/// Programs that files start: only when their user has allowed them.
@Suite("A file that starts programs", .timeLimit(.minutes(10)))
struct TrustTests {
  /// Each program leaves a file.
  private static let pipeline = """
    version: 1
    name: programs
    endpoint:
      url: "${env:GQL_URL}"
      headers: { X-Plain: "${exec:touch ran-expansion; echo abc-from-command}" }
    store: { kind: none }
    chain:
      - timeout: { total: "${exec:touch ran-option; echo 30s}" }
      - exec: { command: [sh, plugin.sh] }
      - max-retry: { max_retries: 1 }
      - token-refresh: { command: "touch ran-token; echo token-from-command" }
      - fetch
      - response-code
      - parse
    tests:
      - name: a test
        document: "{ country(code: \\"DE\\") { name } }"
        upstream: [{ body: { data: { country: { __typename: Country, name: Germany } } } }]
        expect: { succeeded: 1 }

    """

  private static let plugin = """
    touch ran-plugin
    read -r start
    while read -r line; do
      id=$(printf '%s' "$line" | sed 's/.*"id":\\([0-9]*\\)}$/\\1/')
      echo "{\\"id\\":$id,\\"action\\":\\"continue\\"}"
    done

    """

  private static let manifest = """
    version: 1
    name: programs
    pipeline: p.pipeline.yaml
    sinks: [{ ndjson: { path: "out/{{op}}.ndjson" } }]
    operations:
      - id: one
        query: "query One($code: ID!) { country(code: $code) { name } }"
        variables: { code: "${exec:touch ran-variable; echo DE}" }

    """

  private static let programs = [
    "ran-expansion", "ran-option", "ran-plugin", "ran-token", "ran-variable",
  ]

  private func folder() throws -> Folder {
    let folder = try Folder()
    try folder.write(Self.pipeline, to: "p.pipeline.yaml")
    try folder.write(
      "version: 1\nname: child\nextends: ./p.pipeline.yaml\n", to: "child.pipeline.yaml")
    try folder.write(Self.manifest, to: "m.batch.yaml")
    try folder.write(Self.plugin, to: "plugin.sh")
    return folder
  }

  private func ran(_ folder: Folder) -> [String] { Self.programs.filter { folder.exists($0) } }

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

  @Test("is run when it is trusted, until it or a file that it extends changes")
  func trusted() async throws {
    let folder = try folder()
    let line = "run germany.graphql -p child.pipeline.yaml -e URL"
    try await DemoServer.withServer { server in
      let trusted = try await run("pipeline trust child.pipeline.yaml", folder, "")
      #expect(
        trusted.status == 0 && trusted.errors.contains("exec runs `sh plugin.sh`"), "\(trusted)")
      let mode =
        try FileManager.default.attributesOfItem(
          atPath: folder.file("state/gqlrun/trusted"))[.posixPermissions] as? Int
      #expect(mode == 0o600)
      let result = try await run(line, folder, server.url)
      #expect(result.status == 0, "\(result)")
      #expect(ran(folder) == ["ran-expansion", "ran-option", "ran-plugin", "ran-token"])
      #expect(server.log.requests.last?.header("X-Plain") == "abc-from-command")
      // Trusting the child covers the file that it extends, as it was.
      #expect(
        try await run("run germany.graphql -p p.pipeline.yaml -e URL", folder, server.url).status
          == 0)
      try folder.write(Self.pipeline + "# changed\n", to: "p.pipeline.yaml")
      let changed = try await run(line, folder, server.url)
      #expect(changed.status == 78, "\(changed)")
      #expect(changed.errors.contains("has changed since it was trusted"), "\(changed)")
      #expect(try await run("pipeline trust child.pipeline.yaml", folder, "").status == 0)
      #expect(try await run(line, folder, server.url).status == 0)
      let revoked = try await run("pipeline trust --revoke p.pipeline.yaml", folder, "")
      #expect(revoked.errors.contains("no longer trusted"), "\(revoked)")
      #expect(try await run(line, folder, server.url).status == 78)
    }
  }

  @Test("is not trusted under another name, or by a copy of its text")
  func copies() async throws {
    let folder = try folder()
    #expect(try await run("pipeline trust p.pipeline.yaml", folder, "").status == 0)
    try folder.write(Self.pipeline, to: "copy.pipeline.yaml")
    let result = try await run(
      "run germany.graphql -p copy.pipeline.yaml -e URL", folder, "http://h/")
    #expect(result.status == 78 && result.errors.contains("it is not trusted"), "\(result)")
    // A symbolic link leads to the same file.
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("link.pipeline.yaml"), withDestinationPath: "p.pipeline.yaml")
    let linked = try await run(
      "run germany.graphql -p link.pipeline.yaml -e URL", folder, "http://127.0.0.1:1/")
    #expect(linked.status == 69, "\(linked)")
  }

  @Test("is run once with --allow-exec or GQLRUN_ALLOW_EXEC=1", arguments: [false, true])
  func allowed(_ byVariable: Bool) async throws {
    let folder = try folder()
    try await DemoServer.withServer { server in
      for line in [
        "run germany.graphql -p p.pipeline.yaml -e URL", "batch run m.batch.yaml -e URL",
      ] {
        let result = try await run(
          line + (byVariable ? "" : " --allow-exec"), folder, server.url,
          byVariable ? ["GQLRUN_ALLOW_EXEC": "1"] : [:])
        #expect(result.status == 0, "\(result)")
      }
      #expect(ran(folder) == Self.programs)
      #expect(!folder.exists("state/gqlrun/trusted"))
    }
  }

  @Test("that is a manifest covers its pipeline, and standard input is never trusted")
  func manifests() async throws {
    let folder = try folder()
    try await DemoServer.withServer { server in
      #expect(try await run("batch trust m.batch.yaml", folder, "").status == 0)
      let result = try await run("batch run m.batch.yaml -e URL", folder, server.url)
      #expect(result.status == 0, "\(result)")
      #expect(try folder.text("out/one.ndjson").contains("Germany"))
      let input = try await Program.run(
        ["batch", "run", "-", "-e", server.url], in: folder, input: Self.manifest,
        environment: ["XDG_STATE_HOME": folder.path + "/state"])
      #expect(input.status == 78, "\(input)")
      #expect(input.errors.contains("standard input cannot be trusted"), "\(input)")
    }
  }

  @Test("reports that there is nothing to allow, or that no list can be stored")
  func nothing() async throws {
    let folder = try folder()
    try folder.write(
      "version: 1\nendpoint: { url: \"http://h/\" }\nstore: { kind: none }\nchain: [fetch, response-code, parse]\n",
      to: "plain.pipeline.yaml")
    let plain = try await run("pipeline trust plain.pipeline.yaml", folder, "")
    #expect(plain.status == 0 && plain.errors.contains("starts no programs"), "\(plain)")
    #expect(!folder.exists("state"))
    let homeless = try await run(
      "pipeline trust p.pipeline.yaml", folder, "", ["XDG_STATE_HOME": "", "HOME": ""])
    #expect(homeless.status == 1 && homeless.errors.contains("--allow-exec"), "\(homeless)")
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

  @Test("shows no values of variables and files in the path of an output")
  func outputValues() async throws {
    let folder = try folder()
    try folder.write("hunter2", to: "secret")
    try folder.write(
      Self.writing("audit: { file: \"/${file:secret}/${env:WORD}\" }"), to: "p.pipeline.yaml")
    let refused = try await run(
      "run germany.graphql -p p.pipeline.yaml -e URL", folder, "http://127.0.0.1:1/",
      ["WORD": "hunter2"])
    #expect(refused.status == 78 && refused.errors.contains("writes /${file:secret}/${env:WORD}"))
    #expect(!"\(refused)".contains("hunter2"), "\(refused)")
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

  @Test("that names another file of this machine shows no lines of it")
  func elsewhere() async throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(
      atPath: folder.file("repository"), withIntermediateDirectories: true)
    try folder.write("machine x login y password hunter2\n", to: ".netrc")
    try folder.write("version: 1\nextends: ../.netrc\n", to: "repository/p.pipeline.yaml")
    for format in ["", " --format github", " --format json"] {
      let result = try await run(
        "pipeline check repository/p.pipeline.yaml\(format)", folder, "")
      #expect(result.status == 78 && "\(result)".contains(".netrc"), "\(result)")
      #expect(!"\(result)".contains("hunter2"), "\(result)")
    }
  }

  @Test(
    "that turns off the verification of servers has a warning", arguments: ["", " --allow-exec"])
  func insecure(_ flag: String) async throws {
    let folder = try Folder()
    let text = Self.writing("audit: { file: a.ndjson }")
    try folder.write(text, to: "p.pipeline.yaml")
    try folder.write(
      text.replacing("- fetch", with: "- fetch: { tls: { insecure: true } }"),
      to: "i.pipeline.yaml")
    try await DemoServer.withServer { server in
      for (name, warns) in [("i", true), ("p", false)] {
        let result = try await run(
          "run germany.graphql -p \(name).pipeline.yaml -e URL\(flag)", folder, server.url)
        #expect(result.status == 0, "\(result)")
        #expect(
          result.errors.contains("does not verify the certificates of servers") == warns,
          "\(result)")
      }
    }
  }
}

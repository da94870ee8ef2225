import Foundation
import GQLRunTestSupport
import Testing

@testable import gqlrun

@Suite("gqlrun run --upload", .timeLimit(.minutes(10)))
struct UploadTests {
  @Test("memory does not grow with the file, and the server receives what was sent", .needsPython)
  func memory() async throws {
    let script = Repository.root + "/Tests/Uploads/upload.py"
    let result = try await Program.shell(
      "python3 '\(script)' \"$GQLRUN\" \(256 << 20)", in: Folder())
    #expect(result.status == 0, "\(result)")
  }
}

@Suite("Uploads to a form server", .needsPython, .timeLimit(.minutes(10)))
struct FormUploadTests {
  private static let attach = "mutation Attach($i: In!) { attach(i: $i) }"
  private static let run =
    #""$GQLRUN" run attach.graphql -e $SERVER --quiet --jq .data.attach --raw-output"#

  private func folder() throws -> Folder {
    let folder = try Folder()
    try folder.write(Self.attach, to: "attach.graphql")
    try folder.write("one", to: "a.png")
    try folder.write("two", to: "b.txt")
    return folder
  }

  @Test("files in lists and input objects, next to other variables, one for several paths")
  func nested() async throws {
    let result = try await FormServer.shell(
      #"""
      \#(Self.run) --var i:='{"title":"t"}' --upload 'i.files.0=@a.png;type=image/x;filename=x.png' \
        --upload i.files.1=@b.txt --upload i.cover=@b.txt
      """#, in: folder())
    #expect(
      result.output == """
        {"i": {"title": "t", "cover": null, "files": [null, null]}}
        variables.i.cover variables.i.files.1: b.txt text/plain two
        variables.i.files.0: x.png image/x one

        """, "\(result)")
  }

  @Test("standard input, of which nothing is left behind")
  func standardInput() async throws {
    let folder = try folder()
    let result = try await FormServer.shell(
      "mkdir tmp; printf three | TMPDIR=tmp \(Self.run) --upload i.f=@-; ls tmp", in: folder)
    #expect(
      result.output == """
        {"i": {"f": null}}
        variables.i.f: stdin application/octet-stream three

        """, "\(result)")
  }

  @Test("a batch sends a file per row, of its folder and of folders that are allowed")
  func batch() async throws {
    let folder = try folder()
    for name in ["outside", "allowed", "batch"] {
      try FileManager.default.createDirectory(
        atPath: folder.file(name), withIntermediateDirectories: true)
    }
    try folder.write("secret", to: "outside/s.txt")
    try folder.write("allowed", to: "allowed/x.txt")
    try folder.write("", to: "batch/empty.bin")
    try folder.write("first", to: "batch/one.txt")
    try folder.write(
      """
      version: 1
      name: files
      run: { upload_folders: [../allowed] }
      sinks: [{ ndjson: { path: "out.ndjson" } }]
      operations:
        - id: attach
          query: "mutation Attach($file: Upload!, $name: String) { attach(file: $file, name: $name) }"
          foreach: { csv: rows.csv, key: "{{row.path}}" }
          variables:
            file: { upload: "{{row.path}}", filename: "{{row.name}}" }
            name: same
          emit: attach

      """, to: "batch/m.batch.yaml")
    try folder.write(
      """
      path,name
      one.txt,first.txt
      empty.bin,e
      ../allowed/x.txt,x
      ../outside/s.txt,s
      link.txt,l
      absent.txt,a

      """, to: "batch/rows.csv")
    let result = try await FormServer.shell(
      """
      ln -s ../outside/s.txt batch/link.txt
      "$GQLRUN" batch check batch/m.batch.yaml -e $SERVER 2> check; echo $?
      "$GQLRUN" batch run batch/m.batch.yaml -e $SERVER; echo $?
      "$GQLRUN" batch errors batch/m.batch.yaml
      sort batch/out.ndjson
      """, in: folder)
    let shown = result.output + result.errors
    #expect(result.output.hasPrefix("65\n1\n"), "\(result)")
    let check = try folder.text("check")
    #expect(check.contains("rows.csv:7: `attach`: $file: cannot open"), "\(check)")
    #expect(check.contains("3 problems in the rows or outputs"), "\(check)")
    for name in ["../outside/s.txt", "link.txt"] {
      #expect(shown.contains("the file \(name) is outside the manifest's folder"), "\(result)")
    }
    #expect(shown.contains("absent.txt: No such file"), "\(result)")
    let sent = try folder.text("batch/out.ndjson")
    for file in [
      "first.txt text/plain first", "e application/octet-stream ",
      "x application/octet-stream allowed",
    ] {
      #expect(sent.contains("variables.file: \(file)"), "\(sent)")
    }
    #expect(!sent.contains("secret"))
  }
}

/// A server that answers a form with a description of its parts.
private enum FormServer {
  private static let script = #"""
    import email, http.server, json
    class Form(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def log_message(self, *_): pass
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            form = email.message_from_bytes(b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + body)
            parts = {part.get_param("name", header="Content-Disposition"): part for part in form.get_payload()}
            text = lambda part: part.get_payload(decode=True).decode()
            lines = [json.dumps(json.loads(text(parts["operations"]))["variables"])]
            for name, paths in json.loads(text(parts["map"])).items():
                part = parts[name]
                lines.append(" ".join(paths) + f": {part.get_filename()} {part.get_content_type()} {text(part)}")
            answer = json.dumps({"data": {"attach": "\n".join(lines)}}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Form)
    print(server.server_port, flush=True)
    server.serve_forever()
    """#

  /// Runs shell lines next to a server; `$SERVER` is its URL.
  static func shell(_ lines: String, in folder: Folder) async throws -> RunResult {
    try await Program.shell(
      beside: script, lines: "SERVER=http://127.0.0.1:$PORT/graphql\n\(lines)", in: folder)
  }
}

/// Uploads to a server that is not ours; see ``RealServerTests``.
@Suite("Uploads to a real server", .timeLimit(.minutes(10)), .needsRealServer)
struct RealServerUploadTests {
  private static let one =
    "mutation One($file: Upload!) { uploadFile(file: $file) { filename contentType size sha256 } }"
  private static let several =
    "mutation Several($files: [Upload!]!) { uploadFiles(files: $files) { filename size sha256 } }"
  /// The SHA-256 of `abc`.
  private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
  private static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  private func run(
    _ document: String, _ options: String, path: String = "/graphql", in folder: Folder
  ) async throws -> RunResult {
    try folder.write(document, to: "d.graphql")
    return try await Program.shell(
      "\"$GQLRUN\" run d.graphql -e \(RealServer.origin ?? "")\(path) \(options)", in: folder)
  }

  @Test("a file, with its name and type", arguments: ["/graphql", "/ariadne"])
  func file(_ path: String) async throws {
    let folder = try Folder()
    try folder.write("abc", to: "report.pdf")
    let result = try await run(Self.one, "--upload file=@report.pdf", path: path, in: folder)
    #expect(
      result.output
        == #"{"data":{"uploadFile":{"filename":"report.pdf","contentType":"application/pdf","size":3,"#
        + #""sha256":"\#(Self.abc)"}}}"# + "\n", "\(result)")
  }

  @Test("standard input, type and name", arguments: ["/graphql", "/ariadne"])
  func standardInput(_ path: String) async throws {
    let result = try await run(
      Self.one, "--upload 'file=@-;type=image/png;filename=x;y=.png' < /dev/null", path: path,
      in: Folder())
    #expect(
      result.output
        == #"{"data":{"uploadFile":{"filename":"x;y=.png","contentType":"image/png","size":0,"#
        + #""sha256":"\#(Self.empty)"}}}"# + "\n", "\(result)")
  }

  @Test("a list, with one file twice")
  func list() async throws {
    let folder = try Folder()
    try folder.write("abc", to: "a.txt")
    try folder.write("", to: "b.txt")
    let result = try await run(
      Self.several,
      "--upload files.0=@a.txt --upload files.1=@b.txt --upload files.2=@a.txt --jq "
        + "'.data.uploadFiles[] | .filename + \" \" + .sha256' --raw-output", in: folder)
    #expect(
      // A file that is sent once is one stream for this server, which has been read before.
      result.output == "a.txt \(Self.abc)\nb.txt \(Self.empty)\na.txt \(Self.empty)\n",
      "\(result)")
  }

  @Test("hostile file names arrive without an effect on the rest")
  func hostileNames() async throws {
    let folder = try Folder()
    for (name, received) in [
      (#"a"b; name="operations".txt"#, #"a%22b; name=%22operations%22.txt"#),
      ("line\nbreak", "line%0Abreak"), ("naïve 名前.txt", "naïve 名前.txt"), ("100%.txt", "100%.txt"),
    ] {
      try folder.write("abc", to: name)
      try folder.write(name, to: "name")
      let result = try await run(
        Self.one,
        "--upload \"file=@$(cat name)\" --jq '.data.uploadFile | .filename, .sha256' --raw-output",
        in: folder)
      #expect(result.output == "\(received)\n\(Self.abc)\n", "\(name): \(result)")
    }
  }
}

import Foundation
import GQLRunDemoServer
import Testing

@testable import gqlrun

@Suite("The connection of gqlrun run", .needsPython, .timeLimit(.minutes(10)))
struct RunConnectionTests {
  private static let run = #""$GQLRUN" run germany.graphql --timeout 5m"#

  @Test("--cacert trusts the server's certificate, -k any; without them nothing is sent")
  func authority() async throws {
    let folder = try Folder()
    guard try await Front.certificates(in: folder) else { return }
    try await DemoServer.withServer { server in
      let result = try await Front.shell(
        "tls", port: server.port,
        """
        \(Self.run) -e https://127.0.0.1:$FRONT/graphql 2> refused; echo $?
        \(Self.run) -e https://127.0.0.1:$FRONT/graphql --cacert server.pem -vv 2> trusted
        \(Self.run) -e https://127.0.0.1:$FRONT/graphql -k -vv 2> unverified
        \(Self.run) -e 127.0.0.1:$FRONT/graphql 2> plain; echo $?
        """, in: folder)
      #expect(result.output == "69\n" + RunTests.germany + RunTests.germany + "69\n", "\(result)")
      #expect(server.requestCount == 2)
      let refused = try folder.text("refused")
      #expect(
        refused.contains("certificate with --cacert"))
      #expect(
        try folder.text("trusted").contains(
          "* TLS 1.3, the server's certificate is verified, valid"))
      #expect(try folder.text("unverified").contains("certificate is not verified"))
    }
  }

  @Test("--cert sends the client's certificate, with its key in the same file or in --key")
  func clientCertificate() async throws {
    let folder = try Folder()
    guard try await Front.certificates(in: folder) else { return }
    try await DemoServer.withServer { server in
      let run = Self.run + " -e https://127.0.0.1:$FRONT/graphql --cacert server.pem"
      let result = try await Front.shell(
        "tls-client", port: server.port,
        """
        \(run) 2> refused; echo $?
        \(run) --cert client.pem --key client.key
        \(run) -E both.pem
        \(run) --cert client.pem 2> keyless; echo $?
        """, in: folder)
      #expect(result.output == "69\n" + RunTests.germany + RunTests.germany + "69\n", "\(result)")
      let keyless = try folder.text("keyless")
      #expect(keyless.contains("the key client.pem, which --key"), "\(keyless)")
      #expect(server.requestCount == 2)
    }
  }

  @Test("--unix-socket, or unix_socket of fetch, connects to a socket instead of the host")
  func unixSocket() async throws {
    let folder = try Folder()
    try folder.write(
      """
      version: 1
      endpoint: { url: "http://api.example/graphql" }
      chain: [{ fetch: { unix_socket: server.sock } }, response-code, parse]

      """, to: "s.pipeline.yaml")
    try await DemoServer.withServer { server in
      let result = try await Front.shell(
        "unix", port: server.port,
        """
        \(Self.run) -e http://api.example/graphql --unix-socket $FRONT -vv 2> shown
        \(Self.run) -p s.pipeline.yaml
        \(Self.run) -p s.pipeline.yaml --unix-socket absent.sock 2> absent; echo $?
        : > stale.sock
        \(Self.run) -p s.pipeline.yaml --unix-socket stale.sock 2> stale; echo $?
        \(Self.run) -e https://api.example/ -k --unix-socket $FRONT 2> tls; echo $?
        http_proxy=http://127.0.0.1:1 \(Self.run) -p s.pipeline.yaml
        """, in: folder)
      #expect(
        result.output == RunTests.germany + RunTests.germany + "69\n69\n69\n" + RunTests.germany,
        "\(result)")
      let shown = try folder.text("shown")
      #expect(shown.contains("* Connected to server.sock, HTTP/1.1"), "\(shown)")
      #expect(shown.contains("> Host: api.example"), "\(shown)")
      let absent = try folder.text("absent")
      #expect(absent.contains("Unix domain socket absent.sock: no such file"), "\(absent)")
      let stale = try folder.text("stale")
      #expect(stale.contains("Unix domain socket stale.sock: connection refused"), "\(stale)")
      let tls = try folder.text("tls")
      #expect(tls.contains("no secure connection to https://api.example"), "\(tls)")
    }
  }

  @Test("https uses TLS on a Unix domain socket, with the URL's host as the server's name")
  func secureSocket() async throws {
    let folder = try Folder()
    guard try await Front.certificates(in: folder) else { return }
    try folder.write(
      """
      version: 1
      endpoint: { url: "https://127.0.0.1/graphql" }
      chain:
        - fetch: { unix_socket: server.sock, tls: { ca_file: server.pem, server_name: api.example } }
        - response-code
        - parse

      """, to: "s.pipeline.yaml")
    try await DemoServer.withServer { server in
      let run = Self.run + " --unix-socket $FRONT --cacert server.pem"
      let result = try await Front.shell(
        "tls-unix", port: server.port,
        """
        \(run) -e https://api.example/graphql -vv 2> shown
        \(Self.run) -p s.pipeline.yaml
        \(Self.run) --unix-socket $FRONT -e https://other.example/graphql -k
        \(run) -e https://other.example/graphql 2> other; echo $?
        \(Self.run) --unix-socket $FRONT -e https://api.example/graphql 2> unknown; echo $?
        \(run) -e https://127.0.0.1/graphql 2> address; echo $?
        """, in: folder)
      #expect(
        result.output
          == RunTests.germany + RunTests.germany + RunTests.germany + "69\n69\n65\n", "\(result)")
      #expect(server.requestCount == 3)
      let shown = try folder.text("shown")
      #expect(shown.contains("* TLS 1.3, the server's certificate is verified, valid"), "\(shown)")
      #expect(shown.contains("> Host: api.example"), "\(shown)")
      let other = try folder.text("other")
      #expect(other.contains("its certificate is for another name"), "\(other)")
      let unknown = try folder.text("unknown")
      #expect(unknown.contains("signed by an unknown authority"), "\(unknown)")
      let address = try folder.text("address")
      #expect(address.contains("tls.server_name"), "\(address)")
    }
  }

  @Test(
    "an endpoint without a scheme is http on this machine and https elsewhere",
    arguments: [
      ("localhost", "http://localhost"), ("LOCALHOST:80/g", "http://LOCALHOST:80/g"),
      ("127.0.0.1:4000/graphql", "http://127.0.0.1:4000/graphql"),
      ("[::1]:4000/", "http://[::1]:4000/"), ("api.localhost/x", "http://api.localhost/x"),
      ("api.example.com/graphql", "https://api.example.com/graphql"),
      ("build:8080/graphql", "https://build:8080/graphql"), ("nowhere", "nowhere"),
      ("http://a/", "http://a/"), ("localhost.example.com", "https://localhost.example.com"),
    ])
  func scheme(text: String, url: String) {
    #expect(EndpointArguments.withScheme(text) == url)
  }
}

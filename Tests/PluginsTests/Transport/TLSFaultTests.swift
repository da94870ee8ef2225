import GQLRunPipeline
import NIOSSL
import Testing

/// Fault 33 and what goes with it: certificates, names, authorities and versions.
@Suite(
  .timeLimit(.minutes(10)), .enabled(if: TestCertificates.shared != nil, "there is no openssl"))
struct TLSFaultTests {
  private let certificates: TestCertificates

  init() throws {
    certificates = try #require(TestCertificates.shared)
  }

  private func chain(_ tls: String) -> String {
    Bench.retrying.replacing("- fetch", with: "- fetch: { http2: false, tls: { \(tls) } }")
  }

  private var trusting: String { "ca_file: \(certificates.path("ca.pem"))" }

  /// Runs one operation against a TLS server.
  private func run(
    _ tls: TLSConfiguration, client: String, host: String = "localhost"
  ) async throws -> (outcome: Outcome, requests: Int, connections: Int) {
    try await RawServer.withServer([.request, .send(HTTPText.response())], tls: tls) { server in
      let url = "https://\(host):\(server.port)/graphql"
      return try await Bench.with(chain(client), url: url) { bench in
        try await bench.prime()
        let before = await bench.dump()
        let outcome = await bench.run(policy: .networkOnly)
        expectNoSecrets(outcome, bench)
        if outcome.error != nil { #expect(await bench.dump() == before) }
        return (outcome, await server.log.requests.count, await server.log.connections)
      }
    }
  }

  private func expectRefusal(
    _ result: (outcome: Outcome, requests: Int, connections: Int), _ part: String,
    connections: Int = 1, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(result.outcome.code == .tlsFailed, sourceLocation: sourceLocation)
    #expect(result.outcome.failure?.delivery == .notSent, sourceLocation: sourceLocation)
    #expect(
      result.outcome.message.contains(part), "\(result.outcome.message)",
      sourceLocation: sourceLocation)
    #expect(result.requests == 0, sourceLocation: sourceLocation)
    #expect(result.connections == connections, sourceLocation: sourceLocation)
  }

  @Test func `a server with a certificate of an authority of one's own is asked`() async throws {
    for host in ["localhost", "127.0.0.1"] {
      let result = try await run(try certificates.server(.good), client: trusting, host: host)
      #expect(result.outcome.texts == [Bench.answered], "\(result.outcome.message)")
    }
  }

  @Test(arguments: ["", "no TLS at all"])
  func `after the request, an end without that of TLS leaves open whether a mutation was executed`(
    _ garbage: String
  ) async throws {
    try await RawServer.withServer(
      [.request, .cut(after: garbage)], tls: try certificates.server(.good)
    ) { server in
      let url = "https://localhost:\(server.port)/graphql"
      let outcome = try await Bench.with(chain(trusting), url: url) { await $0.run(Bench.rename) }
      #expect(outcome.code == .connectionClosed, "\(outcome.message)")
      #expect(outcome.failure?.leavesOutcomeUnknown == true)
      #expect(await server.log.requests.count == 1)
    }
  }

  @Test func `fault 33: an expired certificate is reported with its day`() async throws {
    // The second connection is the look at the certificate.
    expectRefusal(
      try await run(try certificates.server(.expired), client: trusting),
      "its certificate expired on 2021-01-01", connections: 2)
  }

  @Test func `fault 33: a certificate for another name`() async throws {
    expectRefusal(
      try await run(try certificates.server(.other), client: trusting),
      "its certificate is for another name")
  }

  @Test func `server_name is requested, and the certificate must contain it`() async throws {
    let named = trusting + ", server_name: other.example"
    for host in ["localhost", "127.0.0.1"] {
      let result = try await run(try certificates.server(.other), client: named, host: host)
      #expect(result.outcome.texts == [Bench.answered], "\(result.outcome.message)")
    }
    expectRefusal(
      try await run(
        try certificates.server(.other), client: trusting + ", server_name: another.example"),
      "its certificate is for another name than another.example, the option tls.server_name")
    expectEntry("fetch: { tls: { server_name: \"a/b\" } }", refusedWith: "not a host name")
  }

  @Test func `with server_name the server still gets its own address`() async throws {
    let tls = try certificates.server(.other)
    try await RawServer.withServer([.request, .send(HTTPText.response())], tls: tls) { server in
      let chain = chain(trusting + ", server_name: other.example")
      try await Bench.with(chain, url: "https://localhost:\(server.port)/graphql") { bench in
        _ = await bench.run()
        let request = await server.log.requests.first?.lowercased() ?? ""
        #expect(request.contains("\r\nhost: localhost:\(server.port)\r\n"), "\(request)")
      }
    }
  }

  @Test func `fault 33: an unknown authority`() async throws {
    expectRefusal(
      try await run(try certificates.server(.good), client: ""),
      "signed by an unknown authority", connections: 2)
    expectRefusal(
      try await run(
        try certificates.server(.good), client: "ca_file: \(certificates.path("stranger.pem"))"),
      "tls.ca_file", connections: 2)
  }

  @Test func `fault 33: a version of TLS that is too old`() async throws {
    let old = try certificates.server(.good) {
      $0.minimumTLSVersion = .tlsv1
      $0.maximumTLSVersion = .tlsv11
    }
    expectRefusal(
      try await run(old, client: trusting), "does not support TLS 1.2 or newer")
    let newer = try certificates.server(.good) { $0.maximumTLSVersion = .tlsv12 }
    expectRefusal(
      try await run(newer, client: trusting + ", min_version: 1.3"),
      "does not support TLS 1.3 or newer; lower the option tls.min_version")
    #expect(try await run(newer, client: trusting).outcome.error == nil)
  }

  @Test func `a client certificate is sent if required, and its lack is reported`()
    async throws
  {
    let strict = try certificates.server(.good) {
      $0.certificateVerification = .noHostnameVerification
      $0.trustRoots = .file(certificates.path("ca.pem"))
      $0.maximumTLSVersion = .tlsv12
    }
    let own =
      "client_certificate: \(certificates.path("client.pem")), "
      + "client_key: \(certificates.path("client.key"))"
    let shown = try await run(strict, client: "\(trusting), \(own)")
    #expect(shown.outcome.texts == [Bench.answered], "\(shown.outcome.message)")
    expectRefusal(try await run(strict, client: trusting), "tls.client_certificate")
  }

  @Test func `files that cannot be used are named before anything is sent`() async throws {
    let server = try certificates.server(.good)
    expectRefusal(
      try await run(server, client: "ca_file: /nowhere/ca.pem"),
      "/nowhere/ca.pem, which --cacert or the option tls.ca_file of fetch names", connections: 0)
    let key = certificates.path("ca.cnf")
    expectRefusal(
      try await run(
        server,
        client: "client_certificate: \(certificates.path("client.pem")), client_key: \(key)"),
      "tls.client_key", connections: 0)
    let other = certificates.path("ca.key")
    expectRefusal(
      try await run(
        server,
        client: "client_certificate: \(certificates.path("client.pem")), client_key: \(other)"),
      "the key \(other) does not belong to the first certificate", connections: 0)
    #expect(
      Bench.findings(chain("client_key: a.pem")).first?.contains(
        "a certificate of this client needs its key") == true)
  }

  @Test func `fault 34: plain HTTP to a TLS port is reported, without a retry`()
    async throws
  {
    let tls = try certificates.server(.good)
    try await RawServer.withServer([.request], tls: tls) { server in
      try await Bench.with(url: server.url) { bench in
        let outcome = await bench.run()
        #expect(outcome.code == .connectionClosed || outcome.code == .malformedResponse)
        #expect(await server.log.requests.isEmpty)
        expectNoSecrets(outcome, bench)
      }
    }
  }
}

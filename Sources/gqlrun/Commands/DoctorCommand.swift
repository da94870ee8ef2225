import ArgumentParser
import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import HTTPTypes

struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Find out what an endpoint supports, and which rules of GraphQL over HTTP it keeps.",
    discussion: """
      Asks for media types and the status of errors, GET, introspection, empty selection sets, persisted \
      queries, arrays of operations, uploads, incremental delivery, transports of subscriptions, \
      compression, HTTP/2, the certificate, and limits on depth and size. Sends at most \
      \(EndpointProbe.maxRequests) requests, one after the other; none changes anything, and each has 10 \
      seconds, or --timeout. Exit code 1 if the URL is no GraphQL endpoint, 69 if it stops answering or \
      limits requests.

      --audit checks each MUST and SHOULD of \(Audit.edition), for servers, with \
      at most \(Audit.maxRequests) requests: a line for each rule, and what was sent and received where it \
      is not kept. Exit code 1 if a MUST is not kept.

      Header fields and connection settings are those of the options and of --pipeline, whose other \
      plugins are not used.

      EXAMPLES
        gqlrun doctor http://127.0.0.1:8080/graphql
        gqlrun doctor http://127.0.0.1:8080/graphql --json
        gqlrun doctor http://127.0.0.1:8080/graphql --write doctor.yaml
        gqlrun doctor http://127.0.0.1:8080/graphql --audit --junit audit.xml
      """)

  @Argument(
    help: ArgumentHelp(
      "URL of the endpoint, as with --endpoint; by default that of GQL_URL or --pipeline.",
      valueName: "URL"))
  var url: String?

  @Flag(help: "Check the rules of GraphQL over HTTP for servers instead of the features.")
  var audit = false

  @Flag(help: "Print the report as JSON.")
  var json = false

  @Option(
    help: ArgumentHelp("JUnit XML file to write the result of --audit to.", valueName: "file"))
  var junit: String?

  @Option(help: ArgumentHelp("Pipeline file to write that fits the endpoint.", valueName: "file"))
  var write: String?

  @OptionGroup var endpointOptions: EndpointArguments
  @OptionGroup var requestOptions: RequestOptions
  @OptionGroup var trustOptions: TrustOptions
  @OptionGroup var replaceOptions: ReplaceOptions

  func validate() throws {
    if junit != nil, !audit { throw ValidationError("--junit requires --audit") }
    if write != nil, audit {
      throw ValidationError("--write cannot be used with --audit, which asks for no features")
    }
  }

  func run() async throws {
    var options = endpointOptions
    if let url {
      guard options.endpoint == nil else {
        throw Failure(.usage, "name one URL, as the argument or with --endpoint")
      }
      options.endpoint = url
    }
    let pipeline = try options.load(request: requestOptions, trust: trustOptions)
    guard let endpoint = pipeline.endpoint else { return }
    guard !endpoint.isWebSocket else {
      throw Failure(
        .usage,
        "cannot examine \(endpoint.shownURL): the examination uses HTTP; name the endpoint for queries, "
          + "and see its line subscriptions-websocket")
    }
    // A server may repeat what it receives, and the URL is shown.
    let secrets = KnownSecrets()
    secrets.insert(of: pipeline)
    if audit { return try await check(endpoint, pipeline, hiding: secrets) }
    let replaced = replaceOptions.replacing(.unknown)
    if let write { try OutputFile.check(write, replacing: replaced) }
    let report = try await examine(endpoint, pipeline, hiding: secrets)
    try Terminal.write(secrets.hide(in: json ? report.json : report.table))
    if let reason = report.interruption {
      throw Failure(
        .unreachable, "the examination is incomplete: \(reason) (\(endpoint.shownURL))")
    }
    guard report.examination.isGraphQL else {
      throw notGraphQL(endpoint, refusesCredentials: report.examination.refusesCredentials)
    }
    if let write { try self.write(report, endpoint, to: write) }
  }

  /// Audits an endpoint.
  private func check(
    _ endpoint: Endpoint, _ pipeline: Pipeline, hiding secrets: KnownSecrets
  ) async throws {
    let replaced = replaceOptions.replacing(.junit)
    if let junit { try OutputFile.check(junit, replacing: replaced) }
    let (audit, requests) = try await withProbe(
      endpoint, pipeline, maxRequests: Audit.maxRequests, hiding: secrets
    ) { probe in (try await Audit.run(with: probe), await probe.count) }
    let report = AuditReport(
      url: endpoint.shownURL, requests: requests, findings: audit.findings)
    try Terminal.write(secrets.hide(in: json ? report.json : report.text))
    if let junit {
      try OutputFile.write(
        Array(secrets.hide(in: report.junit).utf8), to: junit, replacing: replaced)
    }
    if let reason = audit.interruption {
      throw Failure(
        .unreachable, "the audit of \(endpoint.shownURL) is incomplete: \(reason)")
    }
    guard audit.answersQueries else {
      throw notGraphQL(endpoint, refusesCredentials: audit.refusesCredentials)
    }
    guard !report.isBroken(.must) else {
      throw Failure(
        .failed, "\(endpoint.shownURL) does not keep every MUST of \(Audit.edition)")
    }
  }

  private func notGraphQL(_ endpoint: Endpoint, refusesCredentials: Bool) -> Failure {
    guard refusesCredentials else {
      return Failure(.failed, "\(endpoint.shownURL) is no GraphQL endpoint")
    }
    return Failure(
      .authentication,
      endpoint.headers[.authorization] == nil
        ? "\(endpoint.shownURL) needs credentials; send them with --header, --token-env or --netrc"
        : "\(endpoint.shownURL) rejects the credentials; correct them")
  }

  private func examine(
    _ endpoint: Endpoint, _ pipeline: Pipeline, hiding secrets: KnownSecrets
  ) async throws -> DoctorReport {
    let connection = Locked<NetworkConnection?>(nil)
    var report = try await withProbe(
      endpoint, pipeline, maxRequests: EndpointProbe.maxRequests, hiding: secrets,
      onEvent: { event in
        if case .connected(let new) = event { connection.withLock { $0 = new } }
      }
    ) { probe in
      let examination = try await Examination.run(with: probe)
      return DoctorReport(
        url: endpoint.shownURL, requests: await probe.count,
        interruption: await probe.interruption, examination: examination)
    }
    if report.examination.isGraphQL {
      report.examination.noteTLS(connection.withLock { $0 }, now: Services.timeOfDay())
    }
    return report
  }

  /// Calls a closure with a probe that has connections of its own, with the settings of a pipeline.
  private func withProbe<Result: Sendable>(
    _ endpoint: Endpoint, _ pipeline: Pipeline, maxRequests: Int, hiding secrets: KnownSecrets,
    onEvent: (@Sendable (NetworkEvent) -> Void)? = nil,
    body: @escaping @Sendable (EndpointProbe) async throws -> Result
  ) async throws -> Result {
    let fetch = pipeline.entries.lazy.compactMap { $0.plugin as? FetchPlugin }.first
    let limits = try fetch?.limits(
      PluginEnvironment(entryID: FetchPlugin.name, variable: Services.environment))
    let transport = AsyncHTTPTransport(meter: nil, traces: false, observer: onEvent)
    let probe = EndpointProbe(
      endpoint, transport: transport, limits: limits ?? HTTPLimits(),
      time: requestOptions.timeout?.duration ?? .seconds(10), maxRequests: maxRequests,
      hiding: secrets.hiding)
    do {
      let result = try await Interruption.run { try await body(probe) }
      await transport.shutdown()
      return result
    } catch {
      await transport.shutdown()
      throw error
    }
  }

  private func write(_ report: DoctorReport, _ endpoint: Endpoint, to path: String) throws {
    let file = DoctorPipeline(endpoint: endpoint, examination: report.examination)
    // What is written must be usable.
    _ = try PipelineFile.load(
      Array(file.text.utf8), file: path, registry: .builtIn,
      environment: PipelineFileEnvironment(variable: { _ in "http://127.0.0.1/" }))
    try OutputFile.write(
      Array(file.text.utf8), to: path, replacing: replaceOptions.replacing(.unknown))
    let names = file.variables.map { "$\($0)" }.joined(separator: ", ")
    Terminal.note(
      "wrote \(Terminal.safe(path))" + (names.isEmpty ? "" : "; it reads \(Terminal.safe(names))"))
  }
}

/// The result of an examination, for people and for programs.
struct DoctorReport: Sendable {
  var url: String
  var requests: Int
  /// Why no further requests were sent; `nil` if all were.
  var interruption: String?
  var examination: Examination

  /// Three columns: feature, verdict, detail.
  var table: String {
    var table = TextTable(minWidths: [0, 7])
    for finding in examination.findings {
      table.add(finding.feature.rawValue, finding.verdict.rawValue, Terminal.safe(finding.detail))
    }
    return table.text + "\(Quantity.count(requests, "request")) to \(Terminal.safe(url))\n"
  }

  /// An object with a member for each feature.
  var json: String {
    var features = JSONObject()
    for finding in examination.findings {
      let supported: JSONValue =
        switch finding.verdict {
        case .yes: true
        case .no: false
        case .unknown: .null
        }
      features[finding.feature.rawValue] = [
        "supported": supported, "detail": .string(finding.detail),
      ]
    }
    let report: JSONValue = [
      "endpoint": .string(url), "requests": .number(JSONNumber(requests)),
      "features": .object(features),
    ]
    return report.jsonText() + "\n"
  }
}

extension Examination {
  /// Notes the certificate of the connection.
  ///
  /// - Parameter now: The time of day, in seconds since 1970.
  mutating func noteTLS(_ connection: NetworkConnection?, now: Double) {
    guard let connection, let tls = connection.tls else {
      return note(.tls, verdict: .no, detail: "the connection is not encrypted")
    }
    let days = connection.certificateEnd.map { Int((($0 - now) / 86_400).rounded(.down)) }
    note(
      .tls, verdict: .yes,
      detail: tls
        + (days.map { ", the certificate is valid for \(Quantity.count($0, "day")) more" } ?? ""))
  }
}

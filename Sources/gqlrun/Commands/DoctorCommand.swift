import ArgumentParser
import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import HTTPTypes

struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Find out what an endpoint supports.",
    discussion: """
      Asks for media types and the status of errors, GET, introspection, persisted queries, arrays of \
      operations, uploads, incremental delivery, transports of subscriptions, compression, HTTP/2, the \
      certificate, and limits on depth and size. Sends at most \(EndpointProbe.maxRequests) requests, \
      one after the other; none changes anything, and each has 10 seconds, or --timeout. Exit code 1 if \
      the URL is no GraphQL endpoint, 69 if it stops answering.

      Header fields and connection settings are those of the options and of --pipeline, whose other \
      plugins are not used.

      EXAMPLES
        gqlrun doctor http://127.0.0.1:8080/graphql
        gqlrun doctor http://127.0.0.1:8080/graphql --json
        gqlrun doctor http://127.0.0.1:8080/graphql --write doctor.yaml
      """)

  @Argument(
    help: ArgumentHelp(
      "URL of the endpoint, as with --endpoint; by default that of GQL_URL or --pipeline.",
      valueName: "URL"))
  var url: String?

  @Flag(name: .long, help: "Print the report as JSON.")
  var json = false

  @Option(
    name: .long,
    help: ArgumentHelp("Pipeline file to write that fits the endpoint.", valueName: "file"))
  var write: String?

  @OptionGroup var endpointOptions: EndpointArguments
  @OptionGroup var requestOptions: RequestOptions
  @OptionGroup var trustOptions: TrustOptions

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
    if let write { try NewFile.checkAbsent(write) }
    let report = try await examine(endpoint, pipeline)
    try Terminal.write(json ? report.json : report.table)
    guard report.examination.isGraphQL else { throw notGraphQL(report, endpoint) }
    guard !report.isIncomplete else {
      throw Failure(
        .unreachable,
        "the examination is incomplete: \(endpoint.shownURL) did not answer several requests")
    }
    if let write { try self.write(report, endpoint, to: write) }
  }

  private func notGraphQL(_ report: DoctorReport, _ endpoint: Endpoint) -> Failure {
    guard report.examination.refusesCredentials else {
      return Failure(.failed, "\(endpoint.shownURL) is no GraphQL endpoint")
    }
    return Failure(
      .authentication,
      endpoint.headers[.authorization] == nil
        ? "\(endpoint.shownURL) needs credentials; send them with --header, --token-env or --netrc"
        : "\(endpoint.shownURL) rejects the credentials; correct them")
  }

  private func examine(_ endpoint: Endpoint, _ pipeline: Pipeline) async throws -> DoctorReport {
    let fetch = pipeline.entries.lazy.compactMap { $0.plugin as? FetchPlugin }.first
    let limits = try fetch?.limits(
      PluginEnvironment(entryID: FetchPlugin.name, variable: Services.environment))
    let connection = Locked<NetworkConnection?>(nil)
    let transport = AsyncHTTPTransport(meter: nil, traces: false) { event in
      if case .connected(let new) = event { connection.withLock { $0 = new } }
    }
    let probe = EndpointProbe(
      endpoint, transport: transport, limits: limits ?? HTTPLimits(),
      time: requestOptions.timeout?.duration ?? .seconds(10))
    var examination: Examination
    do {
      examination = try await Interruption.run { try await Examination.run(with: probe) }
    } catch {
      await transport.shutdown()
      throw error
    }
    await transport.shutdown()
    if examination.isGraphQL {
      examination.noteTLS(connection.withLock { $0 }, now: Services.timeOfDay())
    }
    return DoctorReport(
      url: endpoint.shownURL, requests: await probe.count,
      isIncomplete: await probe.hasGivenUp, examination: examination)
  }

  private func write(_ report: DoctorReport, _ endpoint: Endpoint, to path: String) throws {
    let file = DoctorPipeline(endpoint: endpoint, examination: report.examination)
    // What is written must be usable.
    _ = try PipelineFile.load(
      Array(file.text.utf8), file: path, registry: .builtIn,
      environment: PipelineFileEnvironment(variable: { _ in "http://127.0.0.1/" }))
    try NewFile.create(path, file.text)
    let names = file.variables.map { "$\($0)" }.joined(separator: ", ")
    Terminal.note(
      "wrote \(Terminal.safe(path))" + (names.isEmpty ? "" : "; it reads \(Terminal.safe(names))"))
  }
}

/// The result of an examination, for people and for programs.
struct DoctorReport {
  var url: String
  var requests: Int
  /// Whether requests were left out because others were not answered.
  var isIncomplete = false
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

import ArgumentParser
import Foundation
import GQLRunCache
import GQLRunDemoServer
import GQLRunJSON
import GQLRunProfile
import GQLRunReport
import GQLRunSupport

/// The reports of a profile, its budgets and its baseline.
struct ProfileOutputs: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "JSON report to write; - is standard output, also for the other reports.", valueName: "file"))
  var json: String?
  @Option(help: ArgumentHelp("HTML report to write, with plots.", valueName: "file"))
  var html: String?
  @Option(
    help: ArgumentHelp(
      "Trace to write, for Perfetto and chrome://tracing; not with --rate, --stages, --concurrency or --subscribe.",
      valueName: "file"))
  var trace: String?
  @Option(
    help: ArgumentHelp(
      "Folded stacks to write, for flame graph viewers; not with --rate, --stages, --concurrency or --subscribe.",
      valueName: "file"))
  var folded: String?
  @Option(help: ArgumentHelp("Prometheus metrics to write.", valueName: "file"))
  var prometheus: String?
  @Option(
    help: ArgumentHelp(
      "JUnit XML file to write, with a case for each --budget, and of requests one for their success.",
      valueName: "file"))
  var junit: String?
  @Option(
    help: ArgumentHelp(
      "Baseline: an earlier JSON report to compare with; --json may replace it.", valueName: "file")
  )
  var compare: String?
  @Option(
    help: ArgumentHelp(
      "With --compare: exit 1 if a figure is worse by more than this percentage, or is not in the earlier report.",
      valueName: "percent"))
  var failAbove: Double?
  @Option(
    help: ArgumentHelp(
      "Exit 1 if not met: total<=2s, peak<=64MiB, floor<=3x, parse>=300MB/s; of requests p99<=250ms, failed<=1%, "
        + "graphql_errors<=0, rate>=95/s; of subscriptions events>=1/s, lost<=0. May be repeated.",
      valueName: "bound"))
  var budget: [String] = []

  @OptionGroup var replace: ReplaceOptions

  /// The form of each report.
  private enum Form {
    static let json = OutputForm("a JSON report of gqlrun profile") { path, _ in
      (try? ProfileReport.load(path)) != nil
    }
    static let html = OutputForm("an HTML report of gqlrun profile") { _, beginning in
      beginning.contains("<title>Profileof")
    }
    static let trace = OutputForm("a trace of gqlrun profile", beginningWith: #"{"traceEvents":"#)
    static let folded = OutputForm("folded stacks of gqlrun profile", beginningWith: "gqlrun;")
    static let prometheus = OutputForm(
      "metrics of gqlrun profile", beginningWith: "#HELPgqlrun_profile_")
  }

  func validate() throws {
    guard files.count(where: { $0.path == "-" }) < 2 else {
      throw ValidationError(
        "only one report can go to - (standard output); name files for the others")
    }
    try requireDifferentFiles([
      ("--json", json), ("--html", html), ("--trace", trace), ("--folded", folded),
      ("--prometheus", prometheus), ("--junit", junit),
    ])
    if failAbove != nil, compare == nil {
      throw ValidationError("--fail-above needs an earlier report: --compare before.json")
    }
    if let failAbove, !(failAbove >= 0) {
      throw ValidationError("--fail-above is a percentage of at least 0")
    }
  }

  /// Validates the options before anything is measured.
  ///
  /// - Returns: The earlier report of --compare, which the file of --json may replace.
  func check() throws -> ProfileReport? {
    _ = try budgets()
    let earlier = try compare.map { try ProfileReport.load($0) }
    for (path, form, _) in files where path != "-" { try OutputFile.check(path, replacing: form) }
    return earlier
  }

  /// The reports to write, each with the form of files that it may replace.
  private var files: [(path: String, form: OutputForm, data: (ProfileReport) throws -> Data)] {
    let all: [(path: String?, form: OutputForm, data: (ProfileReport) throws -> Data)] = [
      (json, Form.json, { try $0.json() + Data("\n".utf8) }),
      (html, Form.html, { Data(try $0.html.utf8) }),
      (trace, Form.trace, { try $0.chromeTrace() }),
      (folded, Form.folded, { Data($0.foldedStacks.utf8) }),
      (prometheus, Form.prometheus, { Data($0.prometheus.utf8) }),
      (junit, .junit, { Data(try junit(of: $0).utf8) }),
    ]
    return all.compactMap { path, form, data in path.map { ($0, replace.replacing(form), data) } }
  }

  /// What is found for each budget, and for those that every load has.
  private func results(in report: ProfileReport) throws -> [BudgetResult] {
    BudgetResult.ofSuccess(report) + (try budgets().flatMap { $0.results(in: report) })
  }

  private func junit(of report: ProfileReport) throws -> String {
    JUnit.report(
      "gqlrun profile", suite: report.workload.operation,
      seconds: report.load?.seconds ?? report.subscription?.seconds ?? 0,
      cases: try results(in: report).map(\.testCase))
  }

  /// Standard output then carries only the machine-readable report.
  private var isQuiet: Bool { files.contains { $0.path == "-" } }

  private func budgets() throws -> [Budget] {
    try budget.map { text in
      do throws(ProfileError) { return try Budget(text) } catch {
        throw Failure(.usage, error.message)
      }
    }
  }

  /// Writes the reports, and throws if a budget is not met or a figure is worse than permitted.
  ///
  /// - Parameters:
  ///   - measured: The report.
  ///   - earlier: The report to compare with.
  func write(_ measured: ProfileReport, comparedWith earlier: ProfileReport?) throws {
    var report = measured
    // Those of every load are shown if they are not met.
    let defaults = BudgetResult.ofSuccess(report).filter(\.isMet)
    let results = try results(in: report).filter { !defaults.contains($0) }
    if !results.isEmpty { report.budgets = results }
    if !isQuiet { try Terminal.write(Terminal.safe(report.text)) }
    for file in files { try save(file.data(report), path: file.path, form: file.form) }
    var violations = results.compactMap(\.violation)
    if let earlier {
      let comparison = ReportComparison(before: earlier, after: report)
      let text = Terminal.safe(comparison.text(title: compare ?? ""))
      if isQuiet { Terminal.note(text) } else { try Terminal.write("\n" + text) }
      if let failAbove {
        violations += comparison.regressions(above: failAbove).map(\.regression)
        violations += comparison.missing.map {
          String(format: "--fail-above %g cannot be checked: ", failAbove) + $0
        }
      }
    }
    for violation in violations { Terminal.error(violation) }
    if report.load?.isInterrupted ?? report.subscription?.isInterrupted == true {
      let measured = report.load == nil ? "events" : "requests"
      throw Failure(.interrupted, "interrupted; the report has the \(measured) until then")
    }
    guard violations.isEmpty else { throw Failure(.failed, "") }
  }

  private func save(_ data: Data, path: String, form: OutputForm) throws {
    guard path != "-" else { return try data.withUnsafeBytes { try Terminal.write($0) } }
    try OutputFile.write(data, to: path, replacing: form)
  }
}

/// A reproducible response for profiling: posts with authors, tags and comments.
struct GeneratedFeed {
  var posts: Int

  init(_ text: String) throws {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == "feed", let posts = Int(parts[1]), posts > 0,
      posts <= 10_000_000
    else {
      throw Failure(
        .usage,
        "cannot read --generate \(text); write feed:N with N posts, 1 to 10000000, such as feed:25000"
      )
    }
    self.posts = posts
  }

  static let document = """
    query Feed($first: Int!) {
      feed(first: $first) {
        totalCount
        edges {
          cursor
          node {
            id title body publishedAt likeCount ratio isPinned
            author { ...UserFields }
            tags { id name color }
            comments(first: 10) {
              totalCount
              edges { cursor node { id body createdAt score author { ...UserFields } } }
              pageInfo { hasNextPage endCursor }
            }
          }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
    fragment UserFields on User { id login name bio avatarUrl followers reputation }

    """

  /// Writes the response to an operation on the demo server's schema.
  func write(_ operation: PreparedOperation, to path: String) throws {
    let file = try OutputFile(path, replacing: .anything)
    try DemoExecutor(feedSize: posts + 1).stream(
      operation.document, operationName: operation.name, variables: .object(operation.variables)
    ) { piece in
      try Task.checkCancellation()
      try piece.withUnsafeBytes { try file.write($0) }
    }
    try file.finish()
  }
}

/// A folder for the files of a profile, removed at the end unless the user keeps it.
struct ScratchFolder {
  private let folder: URL
  private let isKept: Bool

  /// - Parameter kept: A folder that is not removed; created if it does not exist.
  init(_ kept: String? = nil) throws {
    isKept = kept != nil
    folder =
      kept.map { URL(fileURLWithPath: $0) }
      ?? FileManager.default.temporaryDirectory
      .appendingPathComponent("gqlrun-profile-\(UUID().uuidString)")
    try SystemIO.createFolder(folder.path, permissions: 0o700)
  }

  /// Checks that a file which is kept replaces nothing but an earlier one.
  func check(_ name: String, replacing form: OutputForm) throws {
    if isKept { try OutputFile.check(path(name), replacing: form) }
  }

  func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  /// A path with the contents of `path` that can be read many times: standard input and pipes are
  /// copied.
  func kept(_ path: String, _ what: String) throws -> String {
    let kind = FilePath.status(of: path).map { $0.st_mode & S_IFMT } ?? S_IFREG
    guard path == "-" || [S_IFIFO, S_IFSOCK, S_IFCHR].contains(kind) else { return path }
    let input = try InputReader(path, what)
    let name = path == "-" ? "stdin" : String(path.split(separator: "/").last ?? "copy")
    let copy = try OutputFile(self.path(name), replacing: .anything)
    while let piece = try input.next() { try copy.write(piece) }
    try copy.finish()
    return self.path(name)
  }

  func remove() {
    guard !isKept else { return }
    try? FileManager.default.removeItem(at: folder)
  }
}

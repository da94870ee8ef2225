import ArgumentParser
import Foundation
import GQLRunProfile

/// The reports of a profile, its budgets and its baseline.
struct ProfileOutputs: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "JSON report to write; - is standard output, also for the other reports.", valueName: "file"))
  var json: String?
  @Option(
    name: .long, help: ArgumentHelp("HTML report to write, with plots.", valueName: "file"))
  var html: String?
  @Option(
    name: .long,
    help: ArgumentHelp("Trace to write, for Perfetto and chrome://tracing.", valueName: "file"))
  var trace: String?
  @Option(
    name: .long,
    help: ArgumentHelp("Folded stacks to write, for flame graph viewers.", valueName: "file"))
  var folded: String?
  @Option(
    name: .long, help: ArgumentHelp("Prometheus metrics to write.", valueName: "file"))
  var prometheus: String?
  @Option(
    name: .long,
    help: ArgumentHelp("Baseline: an earlier JSON report to compare with.", valueName: "file"))
  var compare: String?
  @Option(
    name: .long,
    help: ArgumentHelp(
      "With --compare: exit 1 if a figure is worse by more than this percentage.",
      valueName: "percent"))
  var failAbove: Double?
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Exit 1 if exceeded: total<=2s, peak<=64MiB, floor<=3x, parse>=300MB/s, p99<=200ms. "
        + "May be repeated.", valueName: "bound"))
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
    if failAbove != nil, compare == nil {
      throw ValidationError("--fail-above needs an earlier report: --compare before.json")
    }
    if let failAbove, !(failAbove >= 0) {
      throw ValidationError("--fail-above is a percentage of at least 0")
    }
  }

  /// Validates the options before anything is measured.
  func check() throws {
    _ = try budgets()
    _ = try earlier()
    for (path, form) in files where path != "-" { try OutputFile.check(path, replacing: form) }
  }

  /// The reports to write, each with the form of files that it may replace.
  private var files: [(path: String, form: OutputForm)] {
    [
      (json, Form.json), (html, Form.html), (trace, Form.trace), (folded, Form.folded),
      (prometheus, Form.prometheus),
    ].compactMap { path, form in path.map { ($0, replace.replacing(form)) } }
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

  private func earlier() throws -> ProfileReport? {
    guard let compare else { return nil }
    do throws(ProfileError) { return try ProfileReport.load(compare) } catch {
      throw Failure(.badInput, error.message)
    }
  }

  func write(_ report: ProfileReport) throws {
    if !isQuiet { try Terminal.write(Terminal.safe(report.text)) }
    if let json { try save(report.json() + Data("\n".utf8), json, Form.json) }
    if let html { try save(Data(report.html.utf8), html, Form.html) }
    if let trace { try save(report.chromeTrace(), trace, Form.trace) }
    if let folded { try save(Data(report.foldedStacks.utf8), folded, Form.folded) }
    if let prometheus { try save(Data(report.prometheus.utf8), prometheus, Form.prometheus) }
    var violations = try budgets().flatMap { $0.violations(in: report) }
    if let earlier = try earlier() {
      let comparison = ReportComparison(before: earlier, after: report)
      let text = Terminal.safe(comparison.text(title: compare ?? ""))
      if isQuiet { Terminal.note(text) } else { try Terminal.write("\n" + text) }
      if let failAbove {
        violations += comparison.regressions(above: failAbove).map {
          String(format: "%@ became worse by %.0f %%", $0.name, ($0.ratio - 1) * 100)
        }
      }
    }
    guard violations.isEmpty else {
      for violation in violations { Terminal.error(violation) }
      throw Failure(.failed, "")
    }
  }

  private func save(_ data: Data, _ path: String, _ form: OutputForm) throws {
    guard path != "-" else { return try data.withUnsafeBytes { try Terminal.write($0) } }
    let file = try OutputFile(path, replacing: replace.replacing(form))
    try data.withUnsafeBytes { try file.write($0) }
    try file.finish()
  }
}

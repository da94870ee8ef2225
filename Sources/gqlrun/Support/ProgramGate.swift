import ArgumentParser
import Foundation
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport

/// Whether the programs that files name may be started.
struct TrustOptions: ParsableArguments {
  @Flag(
    name: .long,
    help: ArgumentHelp(
      "Start the programs that the files name (${exec:…}, exec, token commands), trusted or not. "
        + "GQLRUN_ALLOW_EXEC=1 does the same."))
  var allowExec = false

  /// No more is allowed than what is trusted.
  static var none: TrustOptions {
    var options = TrustOptions()
    options.allowExec = false
    return options
  }

  /// Whether all programs may be started, by the flag or the variable.
  var allowsAll: Bool {
    allowExec || ProcessInfo.processInfo.environment["GQLRUN_ALLOW_EXEC"] == "1"
  }
}

/// Reads files so that no program is started that their user has not allowed.
///
/// A file is first read without starting anything. If it, and the files it is made of, name no program, that is
/// all. Otherwise each of them must be trusted (``TrustStore``) as it was read; then the same bytes are read again
/// with programs.
struct ProgramGate {
  /// What starts programs in what was read, and the files it was read from.
  struct Facts {
    var programs: [FileProgram]
    var files: [(path: String, bytes: [UInt8])]

    init(_ pipeline: Pipeline) {
      programs = pipeline.programs
      files = pipeline.files
    }

    /// The files that can be trusted: not those that come with the program.
    var items: [TrustStore.Item] {
      files.filter { !$0.path.hasPrefix("(") }.map { TrustStore.Item($0.path, $0.bytes) }
    }
  }

  let allowsAll: Bool
  /// The file that the user named.
  let file: String
  /// The command that trusts it: `pipeline` or `batch`.
  var command = "pipeline"

  /// - Parameters:
  ///   - read: Reads with an environment; called once or twice.
  ///   - facts: What was found.
  func load<Loaded>(
    _ environment: PipelineFileEnvironment, read: (PipelineFileEnvironment) throws -> Loaded,
    facts: (Loaded) -> Facts
  ) throws -> Loaded {
    if allowsAll { return try read(environment) }
    let loaded = try read(environment.withPlaceholders)
    let facts = facts(loaded)
    guard !facts.programs.isEmpty else { return loaded }
    try check(facts)
    // What was trusted is what is read.
    let contents = Dictionary(facts.files.map { ($0.path, $0.bytes) }) { first, _ in first }
    var fixed = environment
    fixed.readFile = { try contents[$0] ?? environment.readFile($0) }
    return try read(fixed)
  }

  private func check(_ facts: Facts) throws {
    let trusted = try TrustStore().items()
    guard file != "-" else { throw refusal(facts, "standard input cannot be trusted") }
    let missing = facts.items.filter { !trusted.contains($0) }
    guard let first = missing.first else { return }
    let hasChanged = trusted.contains { $0.path == first.path }
    throw refusal(
      facts, hasChanged ? "\(first.path) has changed since it was trusted" : "it is not trusted")
  }

  private func refusal(_ facts: Facts, _ reason: String) -> Failure {
    let remedy =
      file == "-"
      ? "name a file, or allow it for one run with --allow-exec"
      : "if you trust it, allow it with `\(trustCommand)` (kept until the file changes), or for one run "
        + "with --allow-exec"
    return Failure(
      .badPipeline,
      "\(file == "-" ? "standard input" : file) starts programs, and \(reason); nothing was started\n"
        + Self.list(facts.programs) + "\n" + remedy)
  }

  private var trustCommand: String {
    let isPlain = file.allSatisfy {
      $0.isASCII && ($0.isLetter || $0.isNumber) || "-_./".contains($0)
    }
    return "gqlrun \(command) trust \(isPlain ? file : QuotedText.shellWord(file))"
  }

  /// A line for each program.
  static func list(_ programs: [FileProgram]) -> String {
    programs.map { "  \($0.place): \($0.origin) runs `\($0.command)`" }.joined(separator: "\n")
  }
}

extension PipelineFile {
  /// Reads a pipeline that is going to be used. Its programs are started only when its user allowed them.
  static func loadToRun(
    _ path: String, _ environment: PipelineFileEnvironment, _ trust: TrustOptions
  ) throws -> Loaded {
    try ProgramGate(allowsAll: trust.allowsAll, file: path).load(environment) {
      try load(path: path, registry: .builtIn, environment: $0)
    } facts: {
      ProgramGate.Facts($0.pipeline)
    }
  }
}

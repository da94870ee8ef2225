import ArgumentParser
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport

/// This program, started again for work that must not share its process.
enum OwnProcess {
  /// Starts the program: ``Subprocess/own(_:input:output:program:)``.
  ///
  /// - Throws: ``Failure`` if it cannot be started.
  static func start(
    _ arguments: [String], input: Descriptor? = nil, output: Descriptor,
    program: String = "/proc/self/exe"
  ) throws(Failure) -> Subprocess {
    do {
      return try Subprocess.own(arguments, input: input, output: output, program: program)
    } catch {
      throw Failure(.failed, "cannot start gqlrun \(arguments.first ?? ""): \(error.reason)")
    }
  }
}

/// The options that allow programs named in files to run.
struct TrustOptions: ParsableArguments {
  /// The help of --allow-exec.
  static let help: ArgumentHelp =
    "Start the programs of the files (${exec:…}, exec, token commands), and write outside of their repository, even if the files are not trusted; same as GQLRUN_ALLOW_EXEC=1."

  @Flag(help: Self.help)
  var allowExec = false

  init() {}

  init(allowExec: Bool) { self.allowExec = allowExec }

  /// Allows only trusted programs.
  static var none: TrustOptions { TrustOptions(allowExec: false) }

  /// Whether the flag or the environment variable allows all programs.
  var allowsAll: Bool {
    allowExec || EnvironmentVariables.value(of: "GQLRUN_ALLOW_EXEC") == "1"
  }
}

/// Loads files without running programs, or writing files elsewhere, that the user has not allowed.
///
/// First loads a file without running anything. If neither it nor the files it includes name a
/// program, or an output outside of their repository, that result is used. Otherwise each of them
/// must be trusted (``TrustStore``) with its current contents; the same bytes are then loaded again
/// with programs.
struct ProgramGate {
  /// What needs trust, and the files that name it.
  struct Facts {
    var programs: [FileProgram]
    /// The files that would be written outside of the repository.
    var outputs: [FileOutput]
    var files: [(path: String, bytes: [UInt8])]
    private let verifiesServers: Bool

    init(_ pipeline: Pipeline) {
      programs = pipeline.programs
      outputs = pipeline.outputs.filter(\.isOutside)
      verifiesServers = pipeline.verifiesServers
      files = pipeline.files
    }

    /// Whether the files can be used without trust.
    var isEmpty: Bool { programs.isEmpty && outputs.isEmpty }

    /// One line for each program and output.
    var list: String {
      (programs.map { "  \($0.location): \($0.origin) runs `\($0.command)`" }
        + outputs.map { "  \($0.location): \($0.option) writes \($0.text)" })
        .joined(separator: "\n")
    }

    /// Warns if a file, which its user may not have read, turns off the verification of servers.
    func warn(about file: String) {
      guard !verifiesServers else { return }
      Terminal.warning(
        "\(file) does not verify the certificates of servers (`insecure` of `fetch`): anyone on the network can read "
          + "and change what is sent")
    }

    /// The files that can be trusted, which excludes built-in pipelines.
    var items: [TrustStore.Item] {
      files.filter { !$0.path.hasPrefix("(") }.map { TrustStore.Item($0.path, $0.bytes) }
    }
  }

  let allowsAll: Bool
  /// The file that the user named.
  let file: String
  /// The command that trusts the file: `pipeline` or `batch`.
  var command = "pipeline"

  /// Loads a file, running only programs that the user has allowed.
  ///
  /// - Parameters:
  ///   - environment: The environment of the file.
  ///   - read: Loads the file with an environment; called once or twice.
  ///   - facts: Returns the programs and files of a loaded value.
  /// - Throws: ``Failure`` if a program is not allowed, or the error of `read`.
  func load<Loaded>(
    _ environment: PipelineFileEnvironment, read: (PipelineFileEnvironment) throws -> Loaded,
    facts: (Loaded) -> Facts
  ) throws -> Loaded {
    let loaded = try read(allowsAll ? environment : environment.withPlaceholders)
    let facts = facts(loaded)
    facts.warn(about: file)
    guard !allowsAll, !facts.isEmpty else { return loaded }
    try check(facts)
    // Load exactly the bytes that are trusted.
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
    let actions = [
      facts.programs.isEmpty ? nil : "starts programs",
      facts.outputs.isEmpty ? nil : "writes files outside of its repository",
    ].compactMap { $0 }.joined(separator: " and ")
    return Failure(
      .badPipeline,
      "\(file == "-" ? "standard input" : file) \(actions), and \(reason); nothing was "
        + "\(facts.programs.isEmpty ? "written" : "started")\n\(facts.list)\n\(remedy)")
  }

  private var trustCommand: String {
    "gqlrun \(command) trust \(QuotedText.shellPath(file))"
  }
}

extension PipelineFile {
  /// Loads a pipeline that will run. Throws if its programs are not allowed.
  static func loadToRun(
    _ path: String, environment: PipelineFileEnvironment, trust: TrustOptions
  ) throws -> Loaded {
    try ProgramGate(allowsAll: trust.allowsAll, file: path).load(environment) {
      try load(path: path, registry: .builtIn, environment: $0)
    } facts: {
      ProgramGate.Facts($0.pipeline)
    }
  }
}

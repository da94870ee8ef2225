import ArgumentParser
import GQLRunBatch
import GQLRunSupport

/// The commands that decide about tasks which a run left failed or with an unknown outcome.
extension BatchCommand {
  struct Resolve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "resolve",
      abstract: "Record what became of mutations whose outcome is unknown.",
      discussion: """
        A mutation that was sent, and whose response was not recorded, is never sent again by itself: the \
        server may have executed it. `batch errors` lists these tasks with their keys. Look on the server, \
        then name those that it executed with --done, and the others with --retry. The journal notes who \
        decided, and when.

        --done: the tasks count as done from then on. They have no output: no record, no captured value.
        --retry: the tasks are sent again, by `batch run --resume` or by the workers of a queue.

        A KEY is one that `batch errors` lists; the task of an operation without rows has the operation's \
        id. Write --only unknown instead of keys for all of them, and --operation if several operations \
        have the same keys.

        EXAMPLES
          gqlrun batch resolve likes.batch.yaml --done P_7 P_9
          gqlrun batch resolve likes.batch.yaml --retry --only unknown
          gqlrun batch resolve likes.batch.yaml --retry --only unknown --operation likes
        """)

    @OptionGroup var source: ManifestOptions

    @Argument(help: "Keys of the tasks.")
    var keys: [String] = []

    @Flag(help: "The server executed the mutations.")
    var done = false

    @Flag(help: "The server did not execute the mutations; send them again.")
    var retry = false

    @Option(
      help: ArgumentHelp(
        "All tasks whose outcome is unknown, instead of keys.", valueName: "unknown"))
    var only: Selection?

    @OptionGroup var tasks: TaskOptions
    @OptionGroup var journal: JournalOptions

    enum Selection: String, ExpressibleByArgument, CaseIterable {
      case unknown
    }

    func validate() throws {
      guard done != retry else {
        throw ValidationError(
          "write --done for mutations that the server executed, or --retry for those that it did not"
        )
      }
      guard keys.isEmpty == (only != nil) else {
        throw ValidationError("write the keys of tasks, or --only unknown for all of them")
      }
    }

    func run() async throws {
      try tasks.apply(
        done ? .done : .retry, of: .unknown, keys: keys, source: source, journal: journal)
    }
  }

  struct Retry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "retry",
      abstract: "Queue failed tasks of a run again.",
      discussion: """
        The tasks keep their attempts in the journal, and continue after the pages that they have written. \
        The workers of a queue run them; start some with `batch worker` if all have ended. Without a queue, \
        `batch run --resume` runs them, and `batch run --only failed` does both steps at once.

        Mutations whose outcome is unknown did not fail: see `gqlrun batch resolve`.

        EXAMPLES
          gqlrun batch retry cluster.batch.yaml --failed
          gqlrun batch retry cluster.batch.yaml --failed --operation users
          gqlrun batch retry cluster.batch.yaml U_7 U_9
        """)

    @OptionGroup var source: ManifestOptions

    @Argument(help: "Keys of the tasks.")
    var keys: [String] = []

    @Flag(help: "All failed tasks, instead of keys.")
    var failed = false

    @OptionGroup var tasks: TaskOptions
    @OptionGroup var journal: JournalOptions

    func validate() throws {
      guard keys.isEmpty == failed else {
        throw ValidationError("write the keys of tasks, or --failed for all of them")
      }
    }

    func run() async throws {
      try tasks.apply(.retry, of: .failed, keys: keys, source: source, journal: journal)
    }
  }
}

/// The options of commands that change tasks.
struct TaskOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Only tasks of this operation of the manifest.", valueName: "id"))
  var operation: String?

  /// Applies a decision, and reports what it changed.
  func apply(
    _ decision: TaskResolution.Decision, of state: TaskState, keys: [String],
    source: ManifestOptions, journal: JournalOptions
  ) throws {
    let manifest = try source.load().manifest
    if manifest.queueURL != nil { try journal.refuse(manifest) }
    let resolution = TaskResolution(decision, of: state, keys: keys, operation: operation)
    let resolved = try source.describingErrors(during: .queue) {
      try resolution.apply(to: manifest, journal: journal.journal)
    }
    report(
      resolved, resolution: resolution, manifest: source.shellPath,
      isQueue: manifest.queueURL != nil)
  }

  private func report(
    _ resolved: TaskResolution.Resolved, resolution: TaskResolution, manifest: String,
    isQueue: Bool
  ) {
    let count = Quantity.count(resolved.count, "task")
    let runs =
      isQueue
      ? "gqlrun batch worker \(manifest) runs"
      : "gqlrun batch run \(manifest) --resume runs"
    switch resolution.decision {
    case _ where resolved.count == 0 && resolved.unfit == 0:
      Terminal.note(
        resolution.state == .failed ? "no task failed" : "no task has an unknown outcome")
    case .done:
      Terminal.note("recorded \(count) as done, without output")
    case .retry:
      Terminal.note("queued \(count) again; \(runs) \(resolved.count == 1 ? "it" : "them")")
    }
    if resolved.released > 0 {
      Terminal.note(
        "queued \(Quantity.count(resolved.released, "task")) again that "
          + "\(resolved.released == 1 ? "was" : "were") skipped; \(runs) them too")
    }
    if resolved.unfit > 0 {
      Terminal.hint(
        "\(Quantity.count(resolved.unfit, "task")) failed because their rows do not fit, and cannot be repeated; "
          + "correct the rows, then gqlrun batch enqueue \(manifest) adds them")
    }
  }
}

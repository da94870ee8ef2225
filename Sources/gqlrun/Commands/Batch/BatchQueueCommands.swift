import ArgumentParser
import GQLRunBatch
import GQLRunSupport

/// The commands for manifests whose journal is a PostgreSQL database.
extension BatchCommand {
  struct Init: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "init",
      abstract: "Create the queue of a manifest in PostgreSQL, and begin a run.",
      discussion: """
        The manifest names the database: `run: { journal: "postgres://host/database" }`. libpq's \
        variables (PGHOST, PGUSER, …) and its password file give what the URL does not have. Creates or \
        updates the tables in the first schema of the search path. Without --new, a run that exists is kept.

        EXAMPLES
          gqlrun batch init cluster.batch.yaml
          gqlrun batch init cluster.batch.yaml --new
        """)

    @OptionGroup var source: ManifestOptions

    @Flag(help: "Begin another run; the tasks of the former one remain as they are.")
    var new = false

    func run() async throws {
      try queue(source) { queue, manifest in
        let hasBegun = try queue.initialize(beginsNew: new)
        Terminal.note(
          hasBegun
            ? "began a run of \(Terminal.safe(manifest.name))"
            : "\(Terminal.safe(manifest.name)) has a run already; --new begins another one")
      }
    }
  }

  struct Enqueue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "enqueue",
      abstract: "Add the tasks of a manifest to its queue.",
      discussion: """
        Reads all rows. Tasks that the run has already are left as they are, so the command can be \
        repeated, also with more rows. Workers add the tasks of operations with `needs` when all tasks \
        before them have ended.

        EXAMPLE
          gqlrun batch enqueue cluster.batch.yaml
        """)

    @OptionGroup var source: ManifestOptions

    func run() async throws {
      try queue(source) { queue, _ in
        let enqueued = try queue.enqueue()
        var parts = ["added \(Quantity.count(enqueued.added, "task"))"]
        if enqueued.known > 0 { parts.append("\(enqueued.known) already exist") }
        if enqueued.waiting > 0 {
          parts.append("\(Quantity.count(enqueued.waiting, "operation")) with needs to follow")
        }
        if enqueued.failed > 0 {
          parts.append("\(enqueued.failed) failed because their rows do not fit")
        }
        Terminal.note(parts.joined(separator: ", "))
      }
    }
  }

  struct Cancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "cancel",
      abstract: "Cancel the newest run of a queue.",
      discussion: """
        Tasks that were not sent are skipped. Workers notice it within 10 seconds, and end after the \
        requests in flight.

        EXAMPLE
          gqlrun batch cancel cluster.batch.yaml
        """)

    @OptionGroup var source: ManifestOptions

    func run() async throws {
      try queue(source) { queue, manifest in
        let skipped = try queue.cancel()
        Terminal.note(
          "cancelled the run of \(Terminal.safe(manifest.name)): skipped \(Quantity.count(skipped, "task"))"
        )
      }
    }
  }
}

/// Uses the queue of a manifest.
private func queue(
  _ source: ManifestOptions, _ body: (BatchQueue, Manifest) throws -> Void
) throws {
  let manifest = try source.load().manifest
  try source.describingErrors(during: .queue) { try body(BatchQueue(manifest), manifest) }
}

extension BatchCommand.Status {
  /// Prints the status of a queue: on a terminal, a text that changes until no tasks are left.
  func show(_ queue: BatchQueue) async throws {
    if json { return try Terminal.write(queue.status().json) }
    var status = try queue.status()
    if Terminal.isErrorTerminal {
      while !status.isEnded {
        let counts = BatchQueue.Status.states.compactMap { state in
          status.counts[state].map { "\($0) \(state)" }
        }
        let workers = Quantity.count(status.workers.count { $0.state == "working" }, "worker")
        Terminal.showStatus((counts + [workers]).joined(separator: "  "))
        try await Task.sleep(for: .seconds(1))
        status = try queue.status()
      }
      Terminal.showStatus(nil)
    }
    try Terminal.write(Terminal.safe(status.text))
    BatchFailures.hints(status.taskCounts, source.shellPath)
  }
}

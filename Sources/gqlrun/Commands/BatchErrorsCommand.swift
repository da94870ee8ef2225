import ArgumentParser
import GQLRunBatch
import GQLRunCache
import GQLRunSupport

extension BatchCommand {
  struct Errors: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "errors",
      abstract: "List the reasons for which tasks of a run failed.",
      discussion: """
        One row for each reason, with the number of tasks, the operation, the key of the first task \
        (the row's number without `key`) and the time of the last one. Messages that differ only in \
        the key, in quoted text or in numbers are one reason; the message is that of the first task.

        EXAMPLES
          gqlrun batch errors nightly.batch.yaml
          gqlrun batch errors nightly.batch.yaml --json
        """)

    @OptionGroup var source: ManifestOptions
    @OptionGroup var journal: JournalOptions

    @Flag(name: .long, help: "Print JSON.")
    var json = false

    func run() async throws {
      try await reporting {
        let manifest = try source.load().manifest
        try journal.inspect(manifest, show)
      }
    }

    private func show(_ inspection: RunInspection) throws {
      let reasons = try inspection.failureReasons()
      if json { return try Terminal.write(reasons.json()) }
      guard !reasons.all.isEmpty else {
        return Terminal.note("no task failed: \(Terminal.safe(inspection.path))")
      }
      var table = TablePrinter(
        format: .table, columns: ["tasks", "operation", "first", "last", "reason"])
      for reason in reasons.all {
        try table.add([
          .integer(Int64(reason.count)), .text(reason.operation), .text(reason.first),
          .text(reason.lastTime), .text(reason.message),
        ])
      }
      try table.finish()
      if reasons.others > 0 {
        Terminal.note("\(Quantity.count(reasons.others, "task")) failed for further reasons")
      }
    }
  }
}

/// The reasons of failed tasks in the output of `batch run`.
enum BatchFailures {
  /// The number of reasons that are shown.
  private static let shown = 5
  /// The maximum length of a reason, in characters.
  private static let longest = 300

  /// The first reasons, one per line.
  static func lines(_ reasons: FailureReasons) -> [String] {
    reasons.all.prefix(shown).map { reason in
      let others =
        reason.count > 1 ? " and \(Quantity.count(reason.count - 1, "other task"))" : ""
      let task = [reason.operation, reason.first].filter { !$0.isEmpty }.joined(separator: " ")
      let message = reason.message.replacing("\n", with: " ")
      let end = message.count > longest ? "…" : ""
      return "\(task)\(others): \(message.prefix(longest))\(end)"
    }
  }

  /// Whether there are more reasons than ``lines(_:)`` shows.
  static func hasMore(_ reasons: FailureReasons) -> Bool {
    reasons.all.count > shown || reasons.others > 0
  }
}

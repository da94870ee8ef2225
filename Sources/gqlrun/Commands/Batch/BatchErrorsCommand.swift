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
        (its line or number without `key`) and the time of the last one. Messages that differ only in \
        the key, in quoted text or in numbers are one reason; the message is that of the first task.

        Mutations whose outcome is unknown are listed with all their keys: look on the server whether it \
        executed them, and record that with `gqlrun batch resolve`.

        EXAMPLES
          gqlrun batch errors nightly.batch.yaml
          gqlrun batch errors nightly.batch.yaml --json
        """)

    @OptionGroup var source: ManifestOptions
    @OptionGroup var journal: JournalOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
      try journal.inspect(source) { try show($0, $1) }
    }

    private func show(_ inspection: RunInspection, _ manifest: Manifest) throws {
      let isQueue = manifest.queueURL != nil
      let reasons = try inspection.failureReasons()
      if json { return try Terminal.write(reasons.json(source.manifest)) }
      guard !reasons.all.isEmpty else {
        let run = isQueue ? "the run of \(manifest.name)" : inspection.path
        return Terminal.note("no task failed: \(Terminal.safe(run))")
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
      if reasons.unknown > 0 { try showUnknown(reasons, inspection) }
      if isQueue, reasons.all.contains(where: { $0.state == .failed }) {
        Terminal.hint(
          "gqlrun batch retry \(source.shellPath) --failed queues the failed tasks again"
        )
      }
    }

    /// Lists the keys of tasks in an unknown state, and what to do about them.
    private func showUnknown(_ reasons: FailureReasons, _ inspection: RunInspection) throws {
      try Terminal.write("\n")
      var table = TablePrinter(format: .table, columns: ["operation", "key", "outcome"])
      for reason in reasons.all {
        for key in reason.keys {
          try table.add([.text(reason.operation), .text(key), .text("unknown")])
        }
      }
      try table.finish()
      let listed = reasons.all.reduce(0) { $0 + $1.keys.count }
      if listed < reasons.unknown {
        Terminal.note(
          "\(Quantity.count(reasons.unknown - listed, "further task")) with an unknown outcome")
      }
      guard try inspection.hasEnded() else {
        return Terminal.hint(
          "the run is in progress, or was killed: mutations in flight are among these; gqlrun batch run "
            + "\(source.shellPath) --resume continues a run that was killed")
      }
      Terminal.hint(
        "\(BatchFailures.unknown(reasons.unknown)): \(FailureReasons.advice(source.manifest))")
    }
  }
}

/// The reasons of failed tasks in the output of `batch run`.
enum BatchFailures {
  /// The number of reasons that are shown.
  private static let shown = 5

  /// The first reasons, one per line.
  static func lines(_ reasons: FailureReasons) -> [String] {
    reasons.all.prefix(shown).map { reason in
      let others =
        reason.count > 1 ? " and \(Quantity.count(reason.count - 1, "other task"))" : ""
      let task = [reason.operation, reason.first].filter { !$0.isEmpty }.joined(separator: " ")
      return "\(task)\(others): \(FailureReason.excerpt(of: reason.message))"
    }
  }

  /// The number of mutations whose outcome is unknown, as a sentence.
  static func unknown(_ count: Int) -> String {
    "\(Quantity.count(count, "mutation")) \(count == 1 ? "has" : "have") an unknown outcome"
  }

  /// The tasks that did not succeed, as one sentence; `nil` if all did.
  static func summary(_ counts: TaskCounts) -> String? {
    var parts: [String] = []
    if counts[.failed] > 0 { parts.append("\(Quantity.count(counts[.failed], "task")) failed") }
    if counts[.unknown] > 0 { parts.append(unknown(counts[.unknown])) }
    if counts[.skipped] > 0 {
      parts.append(
        "\(Quantity.count(counts[.skipped], "task")) \(counts[.skipped] == 1 ? "was" : "were") skipped"
      )
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  /// Prints what can be done about the tasks of a queue that did not succeed.
  static func hints(_ counts: TaskCounts, _ manifest: String) {
    guard let tasks = summary(counts) else { return }
    Terminal.hint("\(tasks); gqlrun batch errors \(manifest) lists the reasons and what to do")
  }

  /// Whether there are more reasons than ``lines(_:)`` shows.
  static func hasMore(_ reasons: FailureReasons) -> Bool {
    reasons.all.count > shown || reasons.others > 0
  }
}

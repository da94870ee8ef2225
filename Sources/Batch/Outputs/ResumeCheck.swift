import GQLRunCache

/// Compares the outputs of the manifest with those that the journal recorded, before a run is
/// resumed.
///
/// Recorded results are not requested again. An output that lacks them would stay incomplete: one
/// that was renamed, added or removed in the manifest, or whose format changed.
struct ResumeCheck {
  let journal: Journal
  let base: OutputPath
  let cache: CacheStore?
  /// The outputs of the manifest.
  let wanted: [OutputRecord]

  /// Records the outputs of a new run; compares those of a resumed run first.
  ///
  /// - Throws: ``StoppedByStorage`` if an output would lack recorded results.
  func run() async throws {
    let known = try journal.outputs()
    // Empty in new journals and in those of versions that recorded no outputs.
    if !known.isEmpty { try await compare(known) }
    try journal.register(wanted)
  }

  private func compare(_ known: [OutputRecord]) async throws {
    let ended = try journal.operationsWithResults()
    let names = Set(wanted.map(\.id))
    let recorded = Dictionary(known.map { ($0.id, $0) }) { first, _ in first }
    for output in known where output.takes.keys.contains(where: { ended.contains($0) }) {
      guard !names.contains(output.id) else { continue }
      throw refusal(
        "the journal recorded \(shown(output)), and the manifest no longer has that sink")
    }
    for output in wanted {
      let taken = output.takes.filter { ended.contains($0.key) }
      guard let old = recorded[output.id] else {
        guard let operation = taken.keys.sorted().first else { continue }
        throw refusal(
          "\(shown(output)) was added after results of `\(operation)` were recorded, which it would not "
            + "have")
      }
      guard old.format == output.format else {
        throw refusal(
          "\(shown(output)) was started as `\(old.format)`, and the manifest now declares "
            + "`\(output.format)`")
      }
      let before = old.takes.filter { ended.contains($0.key) }
      if let operation = Set(taken.keys).union(before.keys).sorted()
        .first(where: { taken[$0] != before[$0] })
      {
        throw refusal(
          "what \(shown(output)) has of `\(operation)` was changed in the manifest after results were "
            + "recorded (\(before[operation] ?? "nothing") before, \(taken[operation] ?? "nothing") now)"
        )
      }
      if output.format == "cache", !taken.isEmpty { try await checkCache(old, output) }
    }
  }

  private func checkCache(_ old: OutputRecord, _ output: OutputRecord) async throws {
    guard old.identity == nil || old.identity == output.identity else {
      throw StoppedByStorage(
        refusing:
          "the cache is not the file that the earlier part of the run wrote, so results that the "
          + "journal recorded are missing from it; restore the file, or start without --resume")
    }
    guard let cache, try journal.counts()[.done] > 0, try await cache.statistics().records == 0
    else { return }
    throw StoppedByStorage(
      refusing:
        "the cache was emptied after results were recorded; restore the file, or start without "
        + "--resume")
  }

  private func shown(_ output: OutputRecord) -> String {
    if output.format == "cache" { return "the sink `cache`" }
    if output.path == "-" { return "standard output" }
    var output = output
    output.path = base.shown(output.path)
    return "the output \(output.shown)"
  }

  private func refusal(_ message: String) -> StoppedByStorage {
    StoppedByStorage(
      refusing:
        "\(message): results would be missing; undo the change in the manifest, or start without "
        + "--resume")
  }
}

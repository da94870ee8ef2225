import Foundation

/// A difference from a model.
package struct Difference: Error, CustomStringConvertible {
  package let description: String

  package init(description: String) { self.description = description }
}

/// Random histories of steps, run against a model; a failing one is shrunk before it is reported.
///
/// `GQLRUN_HISTORIES=n` runs n of them, and `GQLRUN_SEED=n` one alone.
package enum Histories {
  /// The number of histories that the environment asks for; `nil` without a wish.
  package static let wanted = ProcessInfo.processInfo.environment["GQLRUN_HISTORIES"]
    .flatMap { Int($0) }

  /// The seeds to run: that of `GQLRUN_SEED`, or those from 0 on.
  ///
  /// - Parameter count: How many without `GQLRUN_HISTORIES`.
  package static func seeds(_ count: Int) -> [UInt64] {
    let only = ProcessInfo.processInfo.environment["GQLRUN_SEED"].flatMap { UInt64($0) }
    return only.map { [$0] } ?? (0..<UInt64(wanted ?? count)).map { $0 }
  }

  /// Runs the history of each seed until one fails; returns the report of that one.
  ///
  /// - Parameters:
  ///   - name: The history, for the report.
  ///   - filter: The name of the suite, for the command that repeats it.
  ///   - steps: The steps of a seed.
  ///   - simpler: Steps to try instead of one; each of them simpler.
  ///   - failure: Runs a history, and returns the first difference from the model, or throws it.
  package static func run<Step: Sendable>(
    _ name: String, filter: String, seeds: [UInt64], steps: (UInt64) -> [Step],
    simpler: (Step) -> [Step], failure: ([Step], UInt64) async throws -> String?
  ) async -> String? {
    func difference(_ history: [Step], _ seed: UInt64) async -> String? {
      do { return try await failure(history, seed) } catch { return "\(error)" }
    }
    let start = ContinuousClock.now
    for seed in seeds {
      let history = steps(seed)
      guard await difference(history, seed) != nil else { continue }
      let small = await shrunk(history, simpler: simpler) { await difference($0, seed) != nil }
      let last = await difference(small, seed) ?? "no difference the second time"
      let list = small.enumerated().map { "  \($0.offset + 1). \($0.element)" }
      return """
        \(name), seed \(seed), \(small.count) of \(history.count) steps: \(last)
        \(list.joined(separator: "\n"))
        repeat: make model SEED=\(seed) MODEL=\(filter)
        """
    }
    if wanted != nil {
      print("\(name): \(seeds.count) histories in \(ContinuousClock.now - start)")
    }
    return nil
  }

  /// Takes steps one after the other, and adds the step to an error.
  package static func take<Step>(
    _ steps: [Step], _ take: (Step) async throws -> Void
  ) async throws {
    for (index, step) in steps.enumerated() {
      do {
        try await take(step)
      } catch {
        throw Difference(description: "\(error)\nafter step \(index + 1), \(step)")
      }
    }
  }

  /// A history that still fails, from which no step can be left out, and of which none can be simpler.
  ///
  /// Halves are left out first, then quarters, and so on.
  static func shrunk<Step>(
    _ history: [Step], simpler: (Step) -> [Step], fails: ([Step]) async -> Bool
  ) async -> [Step] {
    var steps = history
    var size = max(1, steps.count / 2)
    while true {
      var start = 0
      var isShorter = false
      while start < steps.count {
        var rest = steps
        rest.removeSubrange(start..<min(start + size, steps.count))
        if await fails(rest) {
          steps = rest
          isShorter = true
        } else {
          start += size
        }
      }
      if size > 1 {
        size /= 2
      } else if !isShorter {
        break
      }
    }
    var index = 0
    while index < steps.count {
      var next = index + 1
      for step in simpler(steps[index]) {
        var changed = steps
        changed[index] = step
        guard await fails(changed) else { continue }
        steps = changed
        // The simpler step may become simpler again.
        next = index
        break
      }
      index = next
    }
    return steps
  }
}

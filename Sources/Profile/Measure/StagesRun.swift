package import GQLRunCache
import GQLRunJSON

/// Guard, strict parser and normalizer side by side on the same pieces, so that what each adds is the
/// difference within one piece, whatever else the machine is doing at the time.
///
/// The three read the piece one after the other from the processor's cache; the time of the parser
/// includes its guard, and that of the normalizer includes both.
package struct StagesRun {
  package var operation: PreparedOperation
  package var path: String

  package init(_ operation: PreparedOperation, path: String) {
    self.operation = operation
    self.path = path
  }

  package func run() async throws -> RunMeasurement {
    let file = try ResponseFile(path)
    var run = RunMeasurement(kind: .stages, label: "stages")
    var textGuard = GuardScanner()
    var parser = try CountingParser()
    var options = ResponseNormalizer.Options()
    options.wantsResult = false
    let normalizer = try ResponseNormalizer(operation, store: nil, options: options)
    let clock = RunClock()
    var watch = Stopwatch()
    while let piece = try file.next() {
      watch.lap(.input)
      guard textGuard.feed(piece) else { break }
      watch.lap(.textGuard, isKept: true)
      try parser.feed(piece)
      watch.lap(.parse, isKept: true)
      try normalizer.feed(piece)
      watch.lap(.normalize, isKept: true)
      if normalizer.needsFlush { try await normalizer.flush() }
      run.counts.bytes += piece.count
    }
    try parser.finish()
    let response = try await normalizer.finish()
    await response.write?.rollback()
    run.count(response, WriteSummary())
    clock.finish(&run, watch)
    return run
  }
}

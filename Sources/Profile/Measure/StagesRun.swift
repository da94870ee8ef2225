package import GQLRunCache
import GQLRunJSON

/// Guard, strict parser and normalizer in turn on the same chunks, so that the cost of each is a
/// difference measured within one chunk, independent of other load on the machine.
///
/// The three read each chunk one after the other from the processor's cache. The time of the parser
/// includes the guard, that of the normalizer includes both.
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
    while let chunk = try file.next() {
      watch.lap(.input)
      guard textGuard.feed(chunk) else { break }
      watch.lap(.textGuard, isKept: true)
      try parser.feed(chunk)
      watch.lap(.parse, isKept: true)
      try normalizer.feed(chunk)
      watch.lap(.normalize, isKept: true)
      if normalizer.needsFlush { try await normalizer.flush() }
      run.counts.bytes += chunk.count
    }
    try parser.finish()
    let response = try await normalizer.finish()
    await response.write?.rollback()
    run.count(response, WriteSummary())
    clock.finish(&run, watch)
    return run
  }
}

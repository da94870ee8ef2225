package import GQLRunCache
import GQLRunSupport

/// The complete job on a recorded response: read, parse and normalize, write, sync, read back,
/// output. The clocks are read between chunks, never inside one.
package enum JobRun {
  /// - Parameters:
  ///   - path: The file of the response.
  ///   - files: The files of the store, to measure their size.
  ///   - sync: Makes the commit durable; nil for a store in memory.
  package static func run(
    _ operation: PreparedOperation, path: String, label: String, store: CacheStore,
    files: [String] = [], sync: (@Sendable () async throws -> Void)? = nil
  ) async throws -> RunMeasurement {
    var options = ResponseNormalizer.Options()
    options.wantsResult = false
    // The stages, which divide the time, have one thread.
    options.minTapeBytes = Int.max
    let file = try ResponseFile(path)
    var run = RunMeasurement(kind: .job, label: label)
    let normalizer = try ResponseNormalizer(operation, store: store, options: options)
    // Memory is sampled 64 times per response, at equal distances.
    let distance = max(file.size / 64, 1)
    let clock = RunClock()
    var watch = Stopwatch()
    run.mark(clock)
    watch.lap(.marks)
    while let chunk = try file.next() {
      watch.lap(.input, isKept: true)
      try normalizer.feed(chunk)
      watch.lap(.feed, isKept: true)
      if normalizer.needsFlush { try await normalizer.flush() }
      watch.lap(.handOver, cpu: 0, isKept: true)
      if run.firstRecordSeconds == nil, normalizer.hasStagedRecords {
        run.firstRecordSeconds = clock.elapsed
      }
      run.counts.bytes += chunk.count
      if run.counts.bytes - (run.memory.last?.bytesRead ?? -distance) >= distance {
        run.mark(clock)
        watch.lap(.marks)
      }
    }
    watch.lap(.input)
    let response = try await normalizer.finish()
    watch.lap(.handOver, cpu: 0)
    let summary = try await response.write?.commit() ?? WriteSummary()
    watch.lap(.commit, cpu: 0)
    if let sync {
      let before = StageClock.process()
      try await sync()
      watch.lap(.sync, cpu: StageClock.process() &- before)
    }
    run.mark(clock)
    watch.lap(.marks)
    run.count(response, summary)
    if response.hasData {
      try await readBack(operation, from: store, in: &run, &watch)
      // The result is released now.
      watch.lap(.output)
    }
    clock.finish(&run, watch)
    if !files.isEmpty {
      // Asking the store would count its records, which takes longer than the rest.
      run.counts.fileBytes = files.reduce(0) { $0 + FilePath.size(of: $1) }
    }
    return run
  }

  private static func readBack(
    _ operation: PreparedOperation, from store: CacheStore, in run: inout RunMeasurement,
    _ watch: inout Stopwatch
  ) async throws {
    let before = StageClock.process()
    let result = try await store.read(operation)
    watch.lap(.readBack, cpu: StageClock.process() &- before)
    // Fields with errors cannot be read back.
    guard case .hit(let body) = result else { return }
    let sink = try NullDevice()
    try body.forEachChunk { try sink.write($0) }
    watch.lap(.output)
    run.counts.resultBytes = body.count
  }
}

extension RunMeasurement {
  /// Adds a sample of the memory at this point of the response.
  mutating func mark(_ clock: RunClock) {
    guard let resident = ProcessMemory.resident() else { return }
    memory.append(
      MemorySample(seconds: clock.elapsed, bytesRead: counts.bytes, resident: resident))
  }

  mutating func count(_ response: NormalizedResponse, _ summary: WriteSummary) {
    let statistics = response.statistics
    counts.events = statistics.events
    counts.objects = statistics.objects
    counts.fields = statistics.fields
    counts.unknownFields = statistics.unknownFields
    counts.errors = response.errors.count
    counts.newRecords = summary.newRecords
    counts.records = summary.newRecords + summary.changedRecords + summary.unchangedRecords
  }
}

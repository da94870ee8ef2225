import Foundation
import GQLRunJSON
import GQLRunSupport

/// The measurements of one run, which has its own process. The process writes them as JSON.
package struct RunMeasurement: Codable, Sendable {
  package enum Kind: String, Codable, Sendable {
    /// The whole job with one store.
    case job
    /// Guard, parser and normalizer in turn, chunk by chunk.
    case stages
    /// yajl without handlers.
    case floor
    /// Foundation's `JSONSerialization`.
    case foundation
  }

  package var kind: Kind
  /// What the job was measured with: `memory`, `sqlite:cache.db`.
  package var label: String
  /// From the start of the process to its end, as measured from outside; before
  /// ``enclose(start:end:cpu:)``, the work alone.
  package var seconds = 0.0
  /// From the first chunk to the end of the last part, in seconds.
  package var workSeconds = 0.0
  /// Processor time of all threads during the work.
  package var cpuSeconds = 0.0
  /// Processor time of the process before the work.
  package var cpuSecondsBefore = 0.0
  /// Processor time of the whole process; 0 until it has ended.
  package var processCPUSeconds = 0.0
  /// The time of the first read and of the end of the last part, on ``StageClock/wall()``, which
  /// all processes share.
  package var began: UInt64 = 0
  package var ended: UInt64 = 0
  package var parts: [Part: PartTime] = [:]
  /// The time of each chunk, in nanoseconds.
  package var pieceTimes: [Part: [UInt64]] = [:]
  package var counts = Counts()
  /// From the first chunk until the first record was complete.
  package var firstRecordSeconds: Double?
  package var memory: [MemorySample] = []
  package var peakBytes = 0
  /// The number of allocator calls; `nil` where they cannot be counted.
  package var allocations: Int?
  package var minorFaults = 0
  package var majorFaults = 0
  /// The number of laps of the stopwatch.
  package var laps = 0

  /// What was processed.
  package struct Counts: Codable, Sendable, Hashable {
    package var bytes = 0
    package var events = 0
    package var objects = 0
    package var fields = 0
    package var unknownFields = 0
    package var records = 0
    package var newRecords = 0
    package var errors = 0
    /// Bytes of the result that was read back.
    package var resultBytes = 0
    /// Bytes of the database file and its log.
    package var fileBytes: Int?

    package init() {}
  }
}

extension Part: CodingKeyRepresentable {}

extension RunMeasurement {
  /// Adds the time of the process around the run, so that the parts add up to the time measured
  /// from outside.
  ///
  /// - Parameters:
  ///   - start: When the process was started, on ``StageClock/wall()``.
  ///   - end: When the process had ended.
  ///   - cpu: Its processor time, in seconds.
  package mutating func enclose(start: UInt64, end: UInt64, cpu: Double) {
    let plan = parts[.plan] ?? PartTime()
    parts[.start] = PartTime(
      wall: max(Double(began &- start) / 1e9 - plan.wall, 0),
      cpu: max(cpuSecondsBefore - plan.cpu, 0))
    parts[.end] = PartTime(
      wall: Double(end &- ended) / 1e9, cpu: max(cpu - cpuSecondsBefore - cpuSeconds, 0))
    seconds = Double(end &- start) / 1e9
    processCPUSeconds = cpu
  }
}

/// Measures from the first chunk of a run to the end of its last part.
struct RunClock {
  private let wall = StageClock.wall()
  private let process = StageClock.process()
  private let before = ProcessMemory.usage()

  var elapsed: Double { Double(StageClock.wall() &- wall) / 1e9 }

  func finish(_ run: inout RunMeasurement, _ watch: Stopwatch) {
    (run.began, run.ended) = (wall, StageClock.wall())
    run.workSeconds = Double(run.ended &- wall) / 1e9
    run.seconds = run.workSeconds
    run.cpuSecondsBefore = Double(process) / 1e9
    run.cpuSeconds = Double(StageClock.process() &- process) / 1e9
    run.parts = watch.parts
    run.pieceTimes = watch.lapTimes
    run.laps = watch.laps
    let after = ProcessMemory.usage()
    run.peakBytes = after.peak
    run.minorFaults = after.minorFaults - before.minorFaults
    run.majorFaults = after.majorFaults - before.majorFaults
  }
}

/// Other parsers on the same bytes: yajl without handlers, and Foundation's tree.
package enum BaselineRun {
  /// yajl without handlers: the lower bound.
  package static func floor(_ path: String) throws -> RunMeasurement {
    let file = try ResponseFile(path)
    var run = RunMeasurement(kind: .floor, label: "bare yajl")
    var parser = try BareParser()
    let clock = RunClock()
    var watch = Stopwatch()
    while let chunk = try file.next() {
      watch.lap(.input)
      guard parser.feed(chunk) else {
        throw ProfileError("cannot parse the response \(path): it is not JSON")
      }
      watch.lap(.parse)
      run.counts.bytes += chunk.count
    }
    guard parser.finish() else {
      throw ProfileError("cannot parse the response \(path): it is not JSON, or truncated")
    }
    clock.finish(&run, watch)
    return run
  }

  /// `JSONSerialization`: reads the whole file and builds a tree of objects.
  package static func foundation(_ path: String) throws -> RunMeasurement {
    var run = RunMeasurement(kind: .foundation, label: "JSONSerialization")
    let clock = RunClock()
    var watch = Stopwatch()
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    watch.lap(.input)
    let tree = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
    watch.lap(.parse)
    guard let object = tree as? [String: Any] else {
      throw ProfileError("the response \(path) is not a JSON object")
    }
    run.counts.objects = object.count
    run.counts.bytes = data.count
    clock.finish(&run, watch)
    return run
  }
}

/// The memory of this process, as reported by the kernel.
package enum ProcessMemory {
  /// Resident bytes; `nil` without `/proc`.
  ///
  /// https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html
  package static func resident() -> Int? {
    guard let fields = contents("/proc/self/statm")?.split(separator: " ") else { return nil }
    guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  /// The maximum resident bytes and the number of page faults since the process started.
  ///
  /// Without `/proc`, the maximum is `ru_maxrss`, which starts with the size of the parent process.
  package static func usage() -> (peak: Int, minorFaults: Int, majorFaults: Int) {
    var usage = rusage()
    // 0 is RUSAGE_SELF, which C libraries import with different types.
    getrusage(0, &usage)
    return (
      peak() ?? Int(usage.ru_maxrss) << 10, Int(usage.ru_minflt), Int(usage.ru_majflt)
    )
  }

  /// https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
  private static func peak() -> Int? {
    let line = contents("/proc/self/status")?.split(separator: "\n")
      .first { $0.hasPrefix("VmHWM:") }
    return line?.split(separator: " ").compactMap { Int($0) }.first.map { $0 << 10 }
  }

  private static func contents(_ path: String) -> String? {
    (try? SystemIO.readFile(path, limit: 1 << 16)).map { String(decoding: $0, as: UTF8.self) }
  }
}

/// The resident memory at a point of the response.
package struct MemorySample: Codable, Sendable, Hashable {
  /// Seconds since the start of the run.
  package var seconds: Double
  /// Bytes of the response read so far.
  package var bytesRead: Int
  package var resident: Int
}

/// `/dev/null`: the destination of output that is only measured.
struct NullDevice: ~Copyable {
  private let descriptor: Int32

  init() throws(ProfileError) {
    descriptor = open("/dev/null", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw ProfileError("cannot open /dev/null: \(String(cString: strerror(errno)))")
    }
  }

  deinit { close(descriptor) }

  func write(_ bytes: UnsafeRawBufferPointer) throws(ProfileError) {
    guard Foundation.write(descriptor, bytes.baseAddress, bytes.count) == bytes.count else {
      throw ProfileError("cannot write to /dev/null: \(String(cString: strerror(errno)))")
    }
  }
}

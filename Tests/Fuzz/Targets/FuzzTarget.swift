import Foundation
import GQLRunSupport

/// Code that reads bytes from outside, and what must hold for all of them.
struct FuzzTarget: Sendable {
  var name: String
  /// The file of tokens in `dictionaries`.
  var dictionary: String
  var maxBytes = 1024
  /// Reads one input. An error is a finding, like a crash; so are reads that are too long or use too much memory.
  var run: @Sendable (FuzzInput) throws -> Void

  static let all: [FuzzTarget] = [
    FuzzTarget(name: "json", dictionary: "json", run: fuzzJSON),
    FuzzTarget(name: "decode", dictionary: "json", run: fuzzDecoding),
    FuzzTarget(name: "scalars", dictionary: "json", maxBytes: 64, run: fuzzScalars),
    FuzzTarget(name: "graphql", dictionary: "graphql", run: fuzzDocuments),
    FuzzTarget(name: "validate", dictionary: "graphql", run: fuzzValidation),
    FuzzTarget(name: "sdl", dictionary: "graphql", run: fuzzSchemas),
    FuzzTarget(
      name: "introspection", dictionary: "introspection", maxBytes: 4096, run: fuzzIntrospection),
    FuzzTarget(name: "generate", dictionary: "graphql", run: fuzzGenerator),
    FuzzTarget(name: "variables", dictionary: "json", run: fuzzVariables),
    FuzzTarget(name: "sse", dictionary: "live", run: fuzzEventStreams),
    FuzzTarget(name: "multipart", dictionary: "live", run: fuzzMultipart),
    FuzzTarget(name: "socket", dictionary: "live", run: fuzzSockets),
    FuzzTarget(name: "response", dictionary: "response", run: fuzzResponses),
    FuzzTarget(name: "parts", dictionary: "response", run: fuzzMessages),
    FuzzTarget(name: "cache", dictionary: "none", run: fuzzCache),
    FuzzTarget(name: "delivery", dictionary: "none", run: fuzzDelivery),
    FuzzTarget(name: "records", dictionary: "records", run: fuzzRecords),
    FuzzTarget(name: "paths", dictionary: "paths", maxBytes: 128, run: fuzzPaths),
    FuzzTarget(name: "database", dictionary: "none", maxBytes: 256, run: fuzzDatabases),
    FuzzTarget(name: "dates", dictionary: "headers", maxBytes: 64, run: fuzzDates),
    FuzzTarget(name: "cookies", dictionary: "headers", maxBytes: 512, run: fuzzCookies),
    FuzzTarget(name: "heads", dictionary: "headers", maxBytes: 512, run: fuzzHeads),
    FuzzTarget(name: "yaml", dictionary: "yaml", run: fuzzYAML),
    FuzzTarget(name: "pipelines", dictionary: "pipelines", maxBytes: 2048, run: fuzzPipelines),
    FuzzTarget(name: "manifests", dictionary: "manifests", maxBytes: 2048, run: fuzzManifests),
    FuzzTarget(name: "recordings", dictionary: "json", run: fuzzRecordings),
    FuzzTarget(name: "templates", dictionary: "templates", maxBytes: 256, run: fuzzTemplates),
    FuzzTarget(name: "journals", dictionary: "none", maxBytes: 64, run: fuzzJournals),
  ]
}

/// The bytes of one execution: a text, and decisions at its end, so that mutations of the text leave them as they are.
struct FuzzInput {
  private(set) var bytes: [UInt8]

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = Array(bytes) }

  /// The text, in which invalid UTF-8 is replaced.
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Takes a decision.
  mutating func decide() -> UInt8 { bytes.popLast() ?? 0 }

  /// The input in two parts, at a byte that valid UTF-8 does not have.
  var parts: (ArraySlice<UInt8>, ArraySlice<UInt8>) {
    let index = bytes.firstIndex(of: 0xFF) ?? bytes.endIndex
    return (bytes[..<index], bytes[index...].dropFirst())
  }
}

/// Chunks of a text: all of one size, or of sizes that depend on the decision.
func chunks(of bytes: [UInt8], _ decision: UInt8) -> [[UInt8]] {
  var chunks: [[UInt8]] = []
  var start = 0
  var state = UInt32(decision)
  while start < bytes.count {
    state = state &* 1_664_525 &+ 1_013_904_223
    let size = decision < 32 ? Int(decision) + 1 : 1 + Int(state >> 28)
    chunks.append(Array(bytes[start..<min(start + size, bytes.count)]))
    start += size
  }
  return chunks
}

/// Ends the program with a finding.
func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data("FINDING: \(message)\n".utf8))
  abort()
}

func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
  if !condition { fail(message()) }
}

func expectEqual<Value: Equatable>(
  _ found: Value, _ expected: Value, of what: @autoclosure () -> String
) {
  if found != expected { fail("\(what()): \(found) instead of \(expected)") }
}

/// What an operation returns, or its error as text.
func outcome<Value>(_ body: () throws -> Value) -> Result<Value, FuzzError> {
  do { return .success(try body()) } catch { return .failure(FuzzError(text: "\(error)")) }
}

struct FuzzError: Error, Equatable {
  var text: String
}

/// Runs asynchronous code to its end, in this thread: in the same order each time, and without waiting for another one.
func wait(_ body: @escaping @Sendable () async throws -> Void) throws {
  let executor = InlineExecutor()
  Task(executorPreference: executor) {
    do {
      try await body()
      executor.end(nil)
    } catch {
      executor.end("\(error)")
    }
  }
  if let failure = executor.run() { throw FuzzError(text: failure) }
}

/// Runs the jobs of a task, and of the actors that it calls, in the thread that waits for them.
private final class InlineExecutor: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    var hasEnded = false
    var failure: String?
  }

  private let state = Locked(State())
  // A store in a file resumes the task from its own thread.
  private let hasJob = DispatchSemaphore(value: 0)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.jobs.append(job) }
    hasJob.signal()
  }

  func end(_ failure: String?) {
    state.withLock {
      $0.hasEnded = true
      $0.failure = failure
    }
    hasJob.signal()
  }

  /// Returns the description of the error that the task has ended with.
  func run() -> String? {
    while true {
      hasJob.wait()
      let (job, hasEnded) = state.withLock { state in
        (state.jobs.isEmpty ? nil : state.jobs.removeFirst(), state.hasEnded)
      }
      if let job {
        job.runSynchronously(on: asUnownedTaskExecutor())
      } else if hasEnded {
        return state.withLock(\.failure)
      }
    }
  }
}

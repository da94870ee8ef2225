import GQLRunCache
package import GQLRunPipeline
package import GQLRunPlugins
import GQLRunSupport

/// Fetches a response through a pipeline, measures it, and saves its body to a file for measuring
/// the stages.
package enum FetchRun {
  /// Fetches a response once.
  ///
  /// - Parameters:
  ///   - runner: Executes the request.
  ///   - request: The request.
  ///   - copy: The file for the body; nil saves none.
  ///   - meter: Measures the connections of the runner's transport.
  /// - Throws: Errors of the pipeline, and ``ProfileError`` if the body cannot be saved.
  package static func run(
    _ runner: PipelineRunner, _ request: GraphQLRequest, copy: String? = nil,
    meter: ConnectionMeter? = nil
  ) async throws -> FetchMeasurement {
    // Of a response in parts, the merged result is saved: the stages read a response in one piece.
    let isInParts = request.operation?.hasDeferredParts == true
    let tap = isInParts ? nil : copy.map { BodyTap($0) }
    let tapped = tap.map { tap in
      runner.measuring { send in
        let response = try await send()
        await tap.begin()
        return response.mapChunks { chunk in
          await tap.add(chunk)
          return chunk
        }
      }
    }
    let measured = PipelineRequest(tapped ?? runner, request, meter: meter)
    let wireBefore = meter?.receivedBytes ?? 0
    let clock = runner.services.clock
    let start = clock.now()
    let outcome = await measured.perform()
    let seconds = (clock.now() - start).seconds
    if let error = outcome.error { throw error }
    try await tap?.finish()
    if isInParts, let copy, let merged = outcome.merged { try save(merged, copy) }
    return FetchMeasurement(
      seconds: seconds, phases: outcome.phases, bytes: outcome.receivedBytes,
      wireBytes: meter.map { $0.receivedBytes - wireBefore }, parts: outcome.parts)
  }

  private static func save(_ response: GraphQLResponse, _ path: String) throws {
    var bytes: [UInt8] = []
    try response.forEachChunk { bytes += $0 }
    do throws(SystemError) {
      try AtomicFile.write(bytes, to: path, permissions: 0o600)
    } catch {
      throw ProfileError("cannot keep the response: \(error.description)")
    }
  }
}

/// Writes the last response body to a file.
actor BodyTap {
  private let path: String
  private var file: AtomicFile?
  private var failure: ProfileError?

  init(_ path: String) { self.path = path }

  func begin() {
    attempt { () throws(SystemError) in file = try AtomicFile(path, permissions: 0o600) }
  }

  func add(_ chunk: any BodyChunk) {
    guard failure == nil else { return }
    let bytes = chunk.withUnsafeBytes { Array($0) }
    attempt { () throws(SystemError) in try file?.write(bytes) }
  }

  func finish() throws(ProfileError) {
    if failure == nil { attempt { () throws(SystemError) in try file?.finish() } }
    file = nil
    if let failure { throw failure }
  }

  /// Keeps the first error.
  private func attempt(_ body: () throws(SystemError) -> Void) {
    do throws(SystemError) { try body() } catch {
      failure = failure ?? ProfileError("cannot keep the response: \(error.description)")
    }
  }
}

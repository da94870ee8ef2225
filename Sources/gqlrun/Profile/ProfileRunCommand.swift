import ArgumentParser
import CGQLRunAllocations
import Foundation
import GQLRunCache
import GQLRunPipeline
import GQLRunProfile

/// One measured run, which `gqlrun profile` starts repeatedly. Prints the measurement as JSON.
struct ProfileRunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "profile-run",
    abstract: "One measured run of gqlrun profile; prints its measurement as JSON.",
    shouldDisplay: false)

  @Option var kind: RunMeasurement.Kind
  @Option var file: String
  @Option var document: String?
  @Option var store: ProfileStore = .memory
  @Option var pipeline: String?
  @OptionGroup var operationOptions: OperationOptions

  func run() async throws {
    let measurement = try await Interruption.run { try await measure() }
    try Terminal.write(String(decoding: JSONEncoder().encode(measurement), as: UTF8.self) + "\n")
  }

  private func measure() async throws -> RunMeasurement {
    switch kind {
    case .floor: return try await counted { try BaselineRun.floor(file) }
    case .foundation: return try await counted { try BaselineRun.foundation(file) }
    case .stages: return try await StagesRun.run(operation(), path: file)
    case .job:
      var watch = Stopwatch()
      let operation = try operation()
      watch.lap(.plan)
      var run = try await store.withStore { store, files, sync in
        try await counted {
          try await JobRun.run(
            operation, path: file, label: self.store.label, store: store, files: files, sync: sync)
        }
      }
      run.parts[.plan] = watch.parts[.plan]
      return run
    }
  }

  /// Counts the allocations of a run, excluding those of the program around it.
  private func counted(
    _ run: () async throws -> RunMeasurement
  ) async rethrows -> RunMeasurement {
    gqlrun_count_allocations()
    let before = gqlrun_allocation_count()
    var measurement = try await run()
    if before >= 0 { measurement.allocations = gqlrun_allocation_count() - before }
    return measurement
  }

  private func operation() throws -> PreparedOperation {
    guard let document else { throw Failure(.usage, "a measured run needs --document") }
    return try operationOptions.prepare(document, pipelineFile: pipeline)
  }
}

extension RunMeasurement.Kind: ExpressibleByArgument {}

extension OperationOptions {
  /// Prepares the operation of a profile with the key rules of a pipeline file, if there is one.
  func prepare(_ document: String, pipelineFile: String?) throws -> PreparedOperation {
    let pipeline = try pipelineFile.map {
      try EndpointArguments(pipeline: $0).load(isQuiet: true, isLook: true)
    }
    return try prepare(document, pipeline: pipeline)
  }
}

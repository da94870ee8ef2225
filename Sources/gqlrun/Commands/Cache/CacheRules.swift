import ArgumentParser
import GQLRunCache
import GQLRunPipeline

/// An age on the command line: a duration as in pipeline files, in whole seconds like records.
struct AgeArgument {
  var duration: Duration

  init(_ text: String) throws {
    do {
      duration = try Duration(optionText: text, wholeSeconds: true)
    } catch {
      throw ValidationError("\(error)")
    }
  }

  /// The duration in seconds.
  var seconds: Int { Int(clamping: duration.components.seconds) }
}

/// A size on the command line, as in pipeline files.
struct SizeArgument: ExpressibleByArgument {
  var bytes: Int

  init?(argument: String) {
    guard let size = try? ByteSize(optionText: argument) else { return nil }
    bytes = size.bytes
  }
}

/// The options for the maximum age of data and the pipeline file with cache rules.
struct CacheRules: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Pipeline file with the rules to use: keys, fields, types, schema, ages.", valueName: "file"))
  var pipeline: String?

  @Option(
    help: ArgumentHelp(
      "Default max age, such as 5m; without it, data never expires.",
      valueName: "duration"), transform: AgeArgument.init)
  var maxAge: AgeArgument?

  @Option(
    help: ArgumentHelp(
      "How far stale data may exceed max_age and still be used. Default: 0s.",
      valueName: "duration"), transform: AgeArgument.init)
  var maxStale: AgeArgument?

  @Option(
    help: ArgumentHelp(
      "What a field is read as that failed on the server: refuse (its older value, or a miss), replay "
        + "(null with the stored error), keep (null). Default: refuse.", valueName: "policy"))
  var errors: ErrorReadPolicy?

  /// Loads the pipeline file, which provides key rules and schema, and adds the options to its rules of ages and errors.
  func load() throws -> (pipeline: Pipeline?, options: ReadOptions) {
    let pipeline = try pipeline.map { try PipelineFile.inspected($0) }
    var options = ReadOptions(now: pipeline)
    if let maxAge { options.ages.maxAge = maxAge.duration }
    if let maxStale { options.stale = .upTo(maxStale.duration) }
    if let errors { options.errors = errors }
    return (pipeline, options)
  }
}

extension ReadOptions {
  /// The options for reading now with the rules of a pipeline; `nil` for the defaults.
  init(now pipeline: Pipeline?) {
    self.init()
    now = Int(Services.timeOfDay())
    guard let pipeline else { return }
    ages = pipeline.allAges
    if let maxStale = pipeline.maxStale { stale = .upTo(maxStale) }
    errors = pipeline.readErrors
  }
}

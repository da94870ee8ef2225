/// One of several disjoint parts of a batch, such as `2/4`.
public struct Shard: Sendable, Hashable {
  /// The number of the shard, from 1.
  public var number: Int
  /// The number of shards, at most 10,000.
  public var count: Int

  /// The largest number of shards.
  public static let maxShards = 10_000

  /// Parses `i/n`. Returns `nil` for other text, or if the number is not between 1 and the count.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 2, let number = parts[0], let count = parts[1] else { return nil }
    self.init(number: number, count: count)
  }

  private init?(number: Int, count: Int) {
    guard (1...Self.maxShards).contains(count), (1...count).contains(number) else { return nil }
    self.number = number
    self.count = count
  }

  var label: String { "\(number)of\(count)" }
}

extension Shard {
  /// Why the environment does not name a shard.
  public struct SchedulerError: Error, CustomStringConvertible {
    /// What was found, and what would work.
    public let description: String

    init(_ description: String) { self.description = description }
  }

  /// The shard that the scheduler of a cluster assigned to this process.
  ///
  /// The variables are those of Kubernetes' indexed jobs and of Slurm's job arrays:
  /// `JOB_COMPLETION_INDEX` counts from 0, and the job itself sets `JOB_COMPLETIONS`;
  /// `SLURM_ARRAY_TASK_ID` counts from `SLURM_ARRAY_TASK_MIN` in steps of `SLURM_ARRAY_TASK_STEP`, and
  /// `SLURM_ARRAY_TASK_COUNT` is the number of tasks.
  ///
  /// See https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode and
  /// https://slurm.schedmd.com/job_array.html.
  ///
  /// - Parameters:
  ///   - environment: The variables of the process.
  ///   - count: The number of shards, if the caller knows it; indexes then count from 0. A part of a Slurm array that
  ///     is submitted again needs it, because Slurm then counts only that part.
  /// - Throws: If no scheduler is recognized, or its variables contradict each other.
  public init(
    scheduler environment: [String: String], count: Int? = nil
  ) throws(SchedulerError) {
    if environment["JOB_COMPLETION_INDEX"] != nil {
      try self.init(kubernetes: environment, count: count)
    } else if environment["SLURM_ARRAY_TASK_ID"] != nil {
      try self.init(slurm: environment, count: count)
    } else {
      throw SchedulerError(
        "neither JOB_COMPLETION_INDEX nor SLURM_ARRAY_TASK_ID is set, so this is no task of a "
          + "Kubernetes job with completionMode: Indexed or of a Slurm array; write the shard, such as 2/4"
      )
    }
  }

  private init(kubernetes environment: [String: String], count: Int?) throws(SchedulerError) {
    let index = try Self.number("JOB_COMPLETION_INDEX", environment)
    guard let total = try Self.optionalNumber("JOB_COMPLETIONS", environment, unless: count) else {
      throw SchedulerError(
        "JOB_COMPLETION_INDEX is \(index), but the number of shards is unknown: set JOB_COMPLETIONS to the "
          + "job's `completions` in the container's `env`, or write it, such as auto/4")
    }
    try self.init(index: index, count: total, "JOB_COMPLETION_INDEX")
  }

  private init(slurm environment: [String: String], count: Int?) throws(SchedulerError) {
    let id = try Self.number("SLURM_ARRAY_TASK_ID", environment)
    if let count {
      try self.init(index: id, count: count, "SLURM_ARRAY_TASK_ID")
      return
    }
    let total = try Self.number("SLURM_ARRAY_TASK_COUNT", environment)
    guard total > 1 else {
      throw SchedulerError(
        "the Slurm array has one task, so the number of shards is unknown (Slurm counts only the tasks that "
          + "were submitted together): write it, such as auto/4, with an array that begins at 0")
    }
    let first = try Self.number("SLURM_ARRAY_TASK_MIN", environment)
    let step = try Self.optionalNumber("SLURM_ARRAY_TASK_STEP", environment) ?? 1
    let last = try Self.number("SLURM_ARRAY_TASK_MAX", environment)
    guard step > 0, first <= id, id <= last, (id - first) % step == 0,
      (last - first) / step == total - 1
    else {
      throw SchedulerError(
        "the \(total) tasks of the Slurm array from \(first) to \(last) have gaps, so SLURM_ARRAY_TASK_ID \(id) "
          + "does not tell the shard; submit an array such as --array=0-\(total - 1)")
    }
    try self.init(index: (id - first) / step, count: total, "SLURM_ARRAY_TASK_ID")
  }

  private init(index: Int, count: Int, _ name: String) throws(SchedulerError) {
    guard let shard = index < Int.max ? Shard(number: index + 1, count: count) : nil else {
      throw SchedulerError(
        "\(name) is \(index) of \(count) shards; it counts from 0 and must be below the number of shards, which "
          + "is at most \(Self.maxShards)")
    }
    self = shard
  }

  private static func number(
    _ name: String, _ environment: [String: String]
  ) throws(SchedulerError) -> Int {
    guard let number = try optionalNumber(name, environment) else {
      throw SchedulerError("the scheduler did not set \(name); write the shard, such as 2/4")
    }
    return number
  }

  private static func optionalNumber(
    _ name: String, _ environment: [String: String], unless known: Int? = nil
  ) throws(SchedulerError) -> Int? {
    if let known { return known }
    guard let text = environment[name] else { return nil }
    guard let number = Int(text), number >= 0 else {
      throw SchedulerError("\(name) is `\(text)`, which is not a number of at least 0")
    }
    return number
  }
}

import GQLRunBatch
import Testing

@Suite("Shards of a batch")
struct ShardTests {
  static let jobs: [([String: String], Int?, String)] = [
    (["JOB_COMPLETION_INDEX": "0", "JOB_COMPLETIONS": "4"], nil, "1/4"),
    (["JOB_COMPLETION_INDEX": "3", "JOB_COMPLETIONS": "4"], nil, "4/4"),
    (["JOB_COMPLETION_INDEX": "3"], 5, "4/5"),
    (slurm(0, 0, 3, count: 4), nil, "1/4"),
    (slurm(3, 0, 3, count: 4), nil, "4/4"),
    (slurm(4, 1, 4, count: 4), nil, "4/4"),
    (slurm(9, 1, 13, count: 4, step: 4), nil, "3/4"),
    (slurm(2, 2, 2, count: 1), 4, "3/4"),
  ]

  static func slurm(
    _ id: Int, _ first: Int, _ last: Int, count: Int, step: Int = 1
  ) -> [String: String] {
    [
      "SLURM_ARRAY_TASK_ID": "\(id)", "SLURM_ARRAY_TASK_MIN": "\(first)",
      "SLURM_ARRAY_TASK_MAX": "\(last)", "SLURM_ARRAY_TASK_COUNT": "\(count)",
      "SLURM_ARRAY_TASK_STEP": "\(step)",
    ]
  }

  @Test("the scheduler's variables name the shard", arguments: jobs)
  func scheduler(environment: [String: String], count: Int?, expected: String) throws {
    #expect(try Shard(scheduler: environment, count: count) == Shard(expected))
  }

  static let refused: [([String: String], Int?, String)] = [
    ([:], nil, "neither JOB_COMPLETION_INDEX nor SLURM_ARRAY_TASK_ID"),
    (["JOB_COMPLETION_INDEX": "0"], nil, "set JOB_COMPLETIONS"),
    (["JOB_COMPLETION_INDEX": "4", "JOB_COMPLETIONS": "4"], nil, "is 4 of 4 shards"),
    (["JOB_COMPLETION_INDEX": "-1", "JOB_COMPLETIONS": "4"], nil, "JOB_COMPLETION_INDEX is `-1`"),
    (["JOB_COMPLETION_INDEX": "\(Int.max)", "JOB_COMPLETIONS": "4"], nil, "of 4 shards"),
    (["JOB_COMPLETION_INDEX": "0", "JOB_COMPLETIONS": "x"], nil, "JOB_COMPLETIONS is `x`"),
    (["JOB_COMPLETION_INDEX": "0", "JOB_COMPLETIONS": "10001"], nil, "at most 10000"),
    // Slurm counts the tasks of one submission, so one task again would be the whole batch.
    (slurm(2, 2, 2, count: 1), nil, "auto/4"),
    (slurm(5, 1, 9, count: 3), nil, "have gaps"),
    (slurm(4, 0, 3, count: 4), 4, "is 4 of 4 shards"),
    (["SLURM_ARRAY_TASK_ID": "1"], nil, "did not set SLURM_ARRAY_TASK_COUNT"),
  ]

  @Test("variables that do not name a shard are an error that says why", arguments: refused)
  func refuses(environment: [String: String], count: Int?, reason: String) throws {
    let error = try #require(throws: Shard.SchedulerError.self) {
      try Shard(scheduler: environment, count: count)
    }
    #expect(error.description.contains(reason), "\(error)")
  }
}

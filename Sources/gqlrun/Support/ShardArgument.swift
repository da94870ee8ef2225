import ArgumentParser
import Foundation
import GQLRunBatch

/// The value of `--shard`: `2/4`, or `auto` and `auto/4` for the shard that a cluster's scheduler assigned.
enum ShardArgument {
  static func parse(_ text: String) throws -> Shard {
    if let shard = Shard(text) { return shard }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.first == "auto", parts.count <= 2 else {
      throw ValidationError(
        "--shard takes a part and their number, such as 2/4, or `auto` in a job of Kubernetes or Slurm"
      )
    }
    var count: Int?
    if parts.count == 2 {
      guard let number = Int(parts[1]), (1...Shard.maxShards).contains(number) else {
        throw ValidationError(
          "--shard auto/n takes a number of shards from 1 to \(Shard.maxShards)")
      }
      count = number
    }
    do {
      return try Shard(scheduler: ProcessInfo.processInfo.environment, count: count)
    } catch {
      throw ValidationError("--shard auto: \(error)")
    }
  }
}

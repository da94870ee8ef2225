import Foundation

/// Runs every stage and the baseline in turn and prints the ratios of their medians.
struct Comparison {
  let file: String
  let document: String
  let rounds: Int

  private struct Sample {
    var seconds: Double
    var peakKiB: Int
  }

  func run() throws {
    let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
    let directory = FileManager.default.temporaryDirectory
      .appendingPathComponent("gqlrun-bench-\(getpid())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let database = directory.appendingPathComponent("cache.db").path
    var baseline: [Double] = []
    var samples: [Stage: [Sample]] = [:]
    for _ in 0..<rounds {
      baseline.append(try measure(["/bin/sh", "-c", "exec json_verify -q < \"$0\"", file]).seconds)
      for suffix in ["", "-wal", "-shm"] {
        try? FileManager.default.removeItem(atPath: database + suffix)
      }
      for stage in Stage.allCases {
        let sample = try measure([
          CommandLine.arguments[0], "--stage", stage.rawValue, file, document, database,
        ])
        samples[stage, default: []].append(sample)
      }
    }
    let floor = median(baseline)
    print(
      String(
        format: "%@: %.1f MB; json_verify %.0f ms (%.0f MB/s), median of %d rounds",
        (file as NSString).lastPathComponent, Double(size) / 1e6, floor * 1e3,
        Double(size) / 1e6 / floor, rounds))
    for stage in Stage.allCases {
      let of = samples[stage] ?? []
      let time = median(of.map(\.seconds))
      print(
        String(
          format: "  %@ %6.2f x   %7.0f ms   peak %6.1f MiB",
          stage.title.padding(toLength: 42, withPad: " ", startingAt: 0), time / floor, time * 1e3,
          median(of.map { Double($0.peakKiB) }) / 1024))
    }
  }

  private func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
  }

  /// Runs a command to its end; its wall time and largest resident size.
  private func measure(_ command: [String]) throws -> Sample {
    var pid: pid_t = 0
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    var words = command.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    let start = ContinuousClock.now
    guard posix_spawn(&pid, command[0], &actions, nil, &words, environ) == 0 else {
      throw CocoaError(.executableLoad)
    }
    var status: Int32 = 0
    var usage = rusage()
    guard wait4(pid, &status, 0, &usage) == pid, status == 0 else {
      throw CocoaError(.executableRuntimeMismatch, userInfo: ["command": command])
    }
    let elapsed = ContinuousClock.now - start
    let (seconds, attoseconds) = elapsed.components
    return Sample(
      seconds: Double(seconds) + Double(attoseconds) / 1e18, peakKiB: Int(usage.ru_maxrss))
  }
}

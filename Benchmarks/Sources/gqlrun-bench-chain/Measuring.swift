import Foundation

/// What one measurement shows.
struct Sample: Sendable {
  /// Wall time over requests, in microseconds: with one request at a time, the time of one.
  var perRequest: Double
  /// In microseconds.
  var p50: Double
  var p99: Double
  /// Processor time of this process per request, all threads, in microseconds.
  var processor: Double

  var perSecond: Double { 1_000_000 / perRequest }
}

/// Asks `requests` times, `concurrency` at a time.
func measure(_ way: any Way, requests: Int, concurrency: Int) async throws -> Sample {
  let clock = ContinuousClock()
  let start = clock.now
  let busy = processorTime()
  let times = try await withThrowingTaskGroup(of: [Double].self) { group in
    for worker in 0..<concurrency {
      let share = requests / concurrency + (worker < requests % concurrency ? 1 : 0)
      group.addTask {
        var times: [Double] = []
        times.reserveCapacity(share)
        for _ in 0..<share {
          let begin = clock.now
          try await way.ask()
          times.append((clock.now - begin) / .microseconds(1))
        }
        return times
      }
    }
    return try await group.reduce(into: []) { $0 += $1 }
  }.sorted()
  let total = (clock.now - start) / .microseconds(1)
  return Sample(
    perRequest: total / Double(requests), p50: times[times.count / 2],
    p99: times[min(times.count - 1, times.count * 99 / 100)],
    processor: (processorTime() - busy) / Double(requests))
}

/// The processor time of this process until now, in microseconds.
private func processorTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) * 1_000_000 + Double(time.tv_nsec) / 1_000
}

func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  return sorted[sorted.count / 2]
}

/// The median, and where the middle half of the values lies.
func spread(_ values: [Double]) -> String {
  let sorted = values.sorted()
  return String(
    format: "%.2f (%.2f…%.2f)", median(values), sorted[sorted.count / 4],
    sorted[sorted.count * 3 / 4])
}

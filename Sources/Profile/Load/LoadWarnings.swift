/// Why the figures of many requests may be those of this program or machine rather than the server's.
struct LoadWarnings {
  let report: LoadReport
  /// How many requests started late although a place was free.
  let lateStarts: Int
  /// How many had to wait for a place.
  let waits: Int

  var lines: [String] {
    var lines: [String] = []
    let cores = Double(Machine.current().cores)
    let share = Int((report.clientLoad * 100).rounded())
    if report.clientLoad > 0.8 * cores {
      lines.append(
        "this program used \(share) % of a core on a machine of \(Int(cores)): the figures may be the "
          + "client's; use a lower rate, or another machine")
    } else if let load = report.machineLoad, load > 0.9 {
      lines.append(
        "the processors of this machine were busy \(Int((load * 100).rounded())) % of the time, with this "
          + "program at \(share) % of a core: the figures may be the client's; use a lower rate, or "
          + "another machine")
    }
    guard case .open(let rate, let inFlight) = report.model else { return lines }
    if report.achievedRate < 0.95 * rate {
      lines.append(
        "\(Int(report.achievedRate)) requests per second were answered where \(Int(rate)) were asked "
          + "for: the latencies grow with the length of the run and say that the rate is too high")
    }
    if waits > 0 {
      lines.append(
        "\(waits) requests had to wait for one of \(inFlight) in flight to end; "
          + "--concurrency allows more")
    } else if lateStarts * 100 > report.requests {
      lines.append(
        "\(lateStarts) of \(report.requests) requests started more than "
          + "\(Int(LatencyRecorder.lateness * 1e3)) ms after their time, because this program or the "
          + "machine was busy")
    }
    return lines
  }
}

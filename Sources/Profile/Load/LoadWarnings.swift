/// Warnings that the program or the machine may limit the measured figures instead of the server.
struct LoadWarnings {
  let report: LoadReport
  /// The number of requests that started late although a slot was free.
  let lateStarts: Int
  /// The number of requests that waited for a slot.
  let waits: Int

  var lines: [String] {
    var lines: [String] = []
    let cores = Double(Machine.current().cores)
    let share = Int((report.clientLoad * 100).rounded())
    if report.clientLoad > 0.8 * cores {
      lines.append(
        "this program used \(share) % of a core on a machine with \(Int(cores)): the client may limit "
          + "the figures; use a lower rate or another machine")
    } else if let load = report.machineLoad, load > 0.9 {
      lines.append(
        "the processors of this machine were busy \(Int((load * 100).rounded())) % of the time, this "
          + "program used \(share) % of a core: the client may limit the figures; use a lower rate or "
          + "another machine")
    }
    guard case .open(let rate, let inFlight) = report.model else { return lines }
    if report.achievedRate < 0.95 * rate {
      lines.append(
        "\(Int(report.achievedRate)) of \(Int(rate)) requests per second were answered: the rate is too "
          + "high, so the latencies grow with the duration of the run")
    }
    if waits > 0 {
      lines.append(
        "\(waits) requests waited because \(inFlight) were in flight; raise the maximum with "
          + "--concurrency")
    } else if lateStarts * 100 > report.requests {
      lines.append(
        "\(lateStarts) of \(report.requests) requests started more than "
          + "\(Int(LatencyRecorder.lateness * 1e3)) ms late, because this program or the machine "
          + "was busy")
    }
    return lines
  }
}

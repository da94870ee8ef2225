import Foundation

/// The stage that takes most of a job's time, and how to reduce it.
struct Bottleneck {
  let stages: [StageReport]
  let seconds: Double

  var text: String {
    guard let slowest = stages.max(by: { $0.seconds.median < $1.seconds.median }) else {
      return "nothing was measured"
    }
    let share = String(format: "%.0f %%", slowest.share * 100)
    return "\(slowest.name.rawValue) takes \(share) of the time: \(advice(slowest))"
  }

  private func advice(_ stage: StageReport) -> String {
    switch stage.name {
    case .start:
      return
        "the response is so small that starting the program takes longer than reading it; with a new "
        + "database, most of that is creating the file"
    case .plan: return "the document is large; a long-running client plans it only once"
    case .input:
      return "the file or the network is slower than all other stages"
    case .textGuard:
      return
        "checking the bytes takes longest, which is expected only for a response with much "
        + "non-ASCII text"
    case .parse:
      return
        "parsing JSON takes longest, which is the lower bound for these bytes; only a smaller "
        + "response is faster"
    case .normalize:
      return "creating records takes longest; select fewer fields, or objects that repeat less "
        + "often"
    case .storeWrite:
      return
        "the parser waits for the store; fewer and larger records are faster, and for a store in a "
        + "file, a faster disk"
    case .sync:
      return "writing the file to disk durably takes longest: the disk is the limit"
    case .readBack:
      return
        "reading the result back takes longest; request the result while the response is read, "
        + "or select fewer fields"
    case .end: return "closing files and freeing memory takes longest"
    case .output: return "the consumer of the output is slower than all other stages"
    }
  }
}

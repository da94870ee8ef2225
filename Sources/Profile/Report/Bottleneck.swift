import Foundation

/// Which stage a job spends most of its time in, and what would make it faster.
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
        "the response is so small that starting a program takes longer than reading it; with a new "
        + "database that is mostly making the file"
    case .plan: return "the document is large; a long-running client plans it once"
    case .input:
      return "the file or the network is slower than everything that follows"
    case .textGuard:
      return
        "checking the bytes is the largest part, which is as it should be only when the response "
        + "has much text outside of ASCII"
    case .parse:
      return
        "reading JSON is the largest part, the floor for these bytes; a smaller response is the "
        + "only way down"
    case .normalize:
      return "making records is the largest part; fewer fields, or objects that repeat less often, "
        + "would shorten it"
    case .storeWrite:
      return "the parser waits for the store; a faster disk, a memory store, or fewer and larger "
        + "records would help"
    case .sync:
      return "making the file durable is the largest part: the disk is the limit"
    case .readBack:
      return
        "reading the result back is the largest part; ask for the result while the response is "
        + "read, or for fewer fields"
    case .end: return "closing files and giving memory back is the largest part"
    case .output: return "whoever takes the output is slower than everything before"
    }
  }
}

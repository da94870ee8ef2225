import GQLRunPipeline
import GQLRunSupport

/// A stretch of time in which requests start at a constant rate, or at one that grows or falls linearly.
package struct LoadStage: Codable, Sendable, Hashable {
  package var seconds: Double
  /// The rate at its start, in requests per second.
  package var from: Double
  /// The rate at its end, in requests per second.
  package var to: Double

  /// The integral of the rate over the whole stage.
  var area: Double { (from + to) / 2 * seconds }

  /// The time from the start of the stage until the integral of the rate is `area`, in seconds.
  ///
  /// The integral after `t` is `from·t + (to − from)/(2·seconds)·t²`. The form of the solution is exact also for a
  /// rate that hardly changes.
  func time(ofArea area: Double) -> Double {
    guard area > 0 else { return 0 }
    let slope = (to - from) / seconds
    let root = max(from * from + 2 * slope * area, 0).squareRoot()
    return min(2 * area / (from + root), seconds)
  }

  /// The stage as ``LoadSchedule/init(_:)`` reads it.
  package var text: String {
    let rate = from == to ? Self.shown(from) : "\(Self.shown(from))..\(Self.shown(to))"
    let time = Duration.nanoseconds(Int64((seconds * 1e9).rounded()))
    return "\(time.optionText):\(rate)"
  }

  private static func shown(_ rate: Double) -> String {
    rate == rate.rounded() ? String(Int(rate)) : "\(rate)"
  }
}

/// When the requests of open-loop load start: request `n`, from 0, when the integral of the rate is `n`.
package struct LoadSchedule: Sendable, Hashable {
  package let stages: [LoadStage]

  /// A constant rate.
  ///
  /// - Parameters:
  ///   - rate: Requests per second.
  ///   - seconds: The time in which they start.
  package init(rate: Double, seconds: Double) {
    self.init([LoadStage(seconds: seconds, from: rate, to: rate)])
  }

  /// - Parameter stages: The stages, one after the other.
  package init(_ stages: [LoadStage]) { self.stages = stages }

  /// Reads stages as the command line writes them: `10s:0..200,60s:200,10s:0`.
  ///
  /// - Throws: ``ProfileError`` for another text, and for stages in which no request starts.
  package init(_ text: String) throws(ProfileError) {
    var stages: [LoadStage] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      stages.append(try Self.stage(part.filter { $0 != " " }, of: text))
    }
    self.init(stages)
    guard stages.count <= Self.maxStages else {
      throw ProfileError(
        "--stages has \(stages.count) stages; at most \(Self.maxStages) are possible")
    }
    guard seconds <= Self.maxSeconds else {
      throw ProfileError("the stages \(text) take longer than a day")
    }
    guard count > 0 else {
      throw ProfileError("no request starts in the stages \(text); give one of them a rate above 0")
    }
  }

  /// The highest rate, in requests per second.
  package static let maxRate = 1e6
  /// The longest time of all stages: a day.
  package static let maxSeconds = 86_400.0
  private static let maxStages = 100

  private static func stage(_ text: String, of all: String) throws(ProfileError) -> LoadStage {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    let given =
      parts.count == 2 ? parts[1].split(separator: "..", omittingEmptySubsequences: false) : []
    let rates = given.compactMap { Double(plain: $0) }
    guard (1...2).contains(given.count), rates.count == given.count,
      let duration = try? Duration(optionText: String(parts[0])), duration > .zero
    else {
      throw ProfileError(
        "cannot read the stage \(text.isEmpty ? "(empty)" : text) of --stages \(all); write a duration and a rate per "
          + "second, as in 60s:200, or two rates for a linear ramp, as in 10s:0..200")
    }
    guard rates.allSatisfy({ $0 <= maxRate }) else {
      throw ProfileError("the rate of the stage \(text) is above 1000000 requests per second")
    }
    return LoadStage(seconds: duration.seconds, from: rates[0], to: rates[rates.count - 1])
  }

  /// The time of all stages, in seconds.
  package var seconds: Double { stages.reduce(0) { $0 + $1.seconds } }

  /// The number of requests: the integral of the rate over all stages, rounded up.
  package var count: Int {
    // Sums of decimal fractions may be a little above a whole number.
    Int((stages.reduce(0) { $0 + $1.area } - 1e-9).rounded(.up))
  }

  /// The start of request `number`, from 0, in seconds since the start of the first stage.
  func start(of number: Int) -> Double {
    var rest = Double(number)
    var begin = 0.0
    var last = 0.0
    for stage in stages {
      if rest < stage.area { return begin + stage.time(ofArea: rest) }
      rest -= stage.area
      begin += stage.seconds
      if stage.area > 0 { last = begin }
    }
    return last
  }
}

extension Double {
  /// A number of digits with at most one decimal point; `nil` for any other text, such as `inf`, `1e9` or `-1`.
  init?(plain text: some StringProtocol) {
    guard text.utf8.allSatisfy({ (48...57).contains($0) || $0 == 46 }), text.utf8.first != 46,
      let value = Double(String(text))
    else { return nil }
    self = value
  }
}

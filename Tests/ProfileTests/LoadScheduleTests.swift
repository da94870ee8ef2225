import GQLRunReport
import GQLRunTestSupport
import Testing

@testable import GQLRunProfile

@Suite("Stages of a load")
struct LoadScheduleTests {
  @Test("stages are read with their rates and times, and shown as they are written")
  func reading() throws {
    let schedule = try LoadSchedule("10s:0..200, 1m:200,500ms:0,2s:8..4.5")
    #expect(
      schedule.stages == [
        LoadStage(seconds: 10, from: 0, to: 200), LoadStage(seconds: 60, from: 200, to: 200),
        LoadStage(seconds: 0.5, from: 0, to: 0), LoadStage(seconds: 2, from: 8, to: 4.5),
      ])
    #expect(schedule.seconds == 72.5)
    #expect(schedule.stages.map(\.text) == ["10s:0..200", "1m:200", "500ms:0", "2s:8..4.5"])
    // 1000 + 12000 + 0 + 12.5
    #expect(schedule.count == 13_013)
  }

  @Test(
    "text that is not stages is an error that shows the stage",
    arguments: [
      ("", "cannot read the stage (empty)"), ("10s", "cannot read the stage 10s"),
      ("10s:1,", "cannot read the stage (empty)"), ("10:5", "cannot read the stage 10:5"),
      ("10s:-5", "cannot read the stage 10s:-5"),
      ("10s:1..2..3", "cannot read the stage 10s:1..2..3"),
      ("10s:..5", "cannot read the stage 10s:..5"), ("10s:1e9", "cannot read the stage 10s:1e9"),
      ("10s:inf", "cannot read the stage 10s:inf"), ("0s:5", "cannot read the stage 0s:5"),
      ("10s:1000001", "above 1000000"), ("25h:1", "longer than a day"),
      ("10s:0", "no request starts"),
      (Array(repeating: "1s:1", count: 101).joined(separator: ","), "101 stages"),
    ])
  func malformed(text: String, reason: String) throws {
    let error = try #require(#expect(throws: ProfileError.self) { try LoadSchedule(text) })
    #expect(error.message.contains(reason), "\(error.message)")
  }

  @Test("a constant rate starts requests at equal distances, and a ramp at square roots")
  func knownTimes() {
    let constant = LoadSchedule(rate: 4, seconds: 2)
    #expect(constant.count == 8)
    #expect((0..<8).map { constant.start(of: $0) } == [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75])
    // The integral of 2t is t squared.
    let ramp = LoadSchedule([LoadStage(seconds: 4, from: 0, to: 8)])
    #expect(ramp.count == 16)
    for number in [0, 1, 4, 9] {
      #expect(abs(ramp.start(of: number) - Double(number).squareRoot()) < 1e-12)
    }
    // 0.1 * 30 is a little more than 3.
    #expect(LoadSchedule(rate: 0.1, seconds: 30).count == 3)
  }

  @Test("a stage without requests is a pause, wherever it is")
  func pauses() throws {
    let schedule = try LoadSchedule("3s:0,1s:2,5s:0,1s:2,7s:0")
    #expect(schedule.count == 4)
    #expect((0..<4).map { schedule.start(of: $0) } == [3, 3.5, 9, 9.5])
  }

  @Test("the integral of the rate until the start of a request is its number", arguments: 1...60)
  func integral(seed: Int) {
    var random = SeededRandom(UInt64(seed))
    let stages = (0..<Int.random(in: 1...6, using: &random)).map { _ in
      let from = Double.random(in: 0...300, using: &random)
      let isConstant = Int.random(in: 0...2, using: &random) == 0
      let isQuiet = Int.random(in: 0...5, using: &random) == 0
      return LoadStage(
        seconds: Double.random(in: 0.1...20, using: &random), from: isQuiet ? 0 : from,
        to: isQuiet ? 0 : isConstant ? from : Double.random(in: 0...300, using: &random))
    }
    let schedule = LoadSchedule(stages)
    let starts = (0..<schedule.count).map { schedule.start(of: $0) }
    #expect(starts == starts.sorted())
    #expect(starts.last ?? 0 <= schedule.seconds)
    let farthest = starts.enumerated()
      .map { abs(Self.integral(of: stages, until: $1) - Double($0)) }.max()
    #expect(farthest ?? 0 < 1e-6)
    let whole = Self.integral(of: stages, until: schedule.seconds)
    #expect(Double(schedule.count) >= whole - 1e-6 && Double(schedule.count) < whole + 1)
  }

  /// The integral by its definition: the area below the line of each stage, cut off at `time`.
  private static func integral(of stages: [LoadStage], until time: Double) -> Double {
    var begin = 0.0
    var area = 0.0
    for stage in stages {
      let part = min(max(time - begin, 0), stage.seconds)
      let rate = stage.from + (stage.to - stage.from) * part / stage.seconds
      area += (stage.from + rate) / 2 * part
      begin += stage.seconds
    }
    return area
  }

  @Test("the requests of stages start at their times, and the report has them in steps")
  func running() async throws {
    let stages: [LoadStage] = [
      .init(seconds: 2, from: 0, to: 4), .init(seconds: 2, from: 4, to: 4),
    ]
    let report = await LoadRun(.stages(stages: stages, inFlight: 1), for: 99).run()
    #expect(report.requests == 12)
    // Until 1 s the integral is 1, until 2 s it is 4: request 0 at 0 s, 1 at 1 s, 2 and 3 before 2 s.
    #expect(report.steps?.map(\.requests) == [1, 3, 4, 4])
    #expect(report.section.title.hasPrefix("12 requests in the stages 2s:0..4,2s:4 (at most 1"))
  }
}

package import Foundation
import GQLRunSupport

/// The differences between two reports, figure by figure.
package struct ReportComparison: Codable, Sendable, Hashable {
  package enum Verdict: String, Codable, Sendable, Hashable {
    case faster, slower
    case same = "no difference shown"
    /// For figures that are not durations.
    case smaller, larger
  }

  package struct Row: Codable, Sendable, Hashable {
    /// `memory: parse`, `sqlite:cache.db: total`.
    package var name: String
    package var before: Double
    package var after: Double
    /// `after` divided by `before`: below 1 is better.
    package var ratio: Double
    package var verdict: Verdict
    package var unit: Unit
  }

  package enum Unit: String, Codable, Sendable, Hashable {
    case seconds, bytes
  }

  package var rows: [Row]
  /// Reasons to read the comparison with caution.
  package var remarks: [String]

  /// The relative difference of medians that is not reported, because a shared machine causes as
  /// much.
  static let tolerance = 0.03

  package init(before: ProfileReport, after: ProfileReport) {
    rows = []
    remarks = []
    if before.machine != after.machine {
      remarks.append(
        "made on different machines (\(before.machine.processor) and \(after.machine.processor)): "
          + "only ratios to bare yajl are comparable")
    }
    if before.workload.bytes != after.workload.bytes
      || before.workload.operation != after.workload.operation
    {
      remarks.append("made with different responses or operations")
    }
    for new in after.jobs {
      guard let old = before.jobs.first(where: { $0.label == new.label }) else {
        remarks.append("\(new.label) is not in the earlier report")
        continue
      }
      add("\(new.label): total", old.seconds, new.seconds, .seconds)
      for stage in new.stages {
        guard let earlier = old.stages.first(where: { $0.name == stage.name }) else { continue }
        add("\(new.label): \(stage.name.rawValue)", earlier.seconds, stage.seconds, .seconds)
      }
      add("\(new.label): peak memory", old.peakBytes, new.peakBytes, .bytes)
    }
    for new in after.network {
      guard let old = before.network.first(where: { $0.label == new.label }) else { continue }
      add("\(new.label): fetch", old.seconds, new.seconds, .seconds)
    }
    if rows.isEmpty { remarks.append("the reports have no figure in common") }
  }

  private mutating func add(_ name: String, _ old: Spread, _ new: Spread, _ unit: Unit) {
    guard old.median > 0 else { return }
    let ratio = new.median / old.median
    // A difference counts if it exceeds the tolerance and the two ranges are disjoint.
    let isApart = new.lowest > old.highest || new.highest < old.lowest
    let isClear = abs(ratio - 1) > Self.tolerance && (isApart || old.count < 3)
    let verdict: Verdict =
      !isClear
      ? .same
      : unit == .seconds ? (ratio < 1 ? .faster : .slower) : (ratio < 1 ? .smaller : .larger)
    rows.append(
      Row(
        name: name, before: old.median, after: new.median, ratio: ratio, verdict: verdict,
        unit: unit))
  }

  /// The rows that are worse by more than `percent`.
  package func regressions(above percent: Double) -> [Row] {
    rows.filter {
      ($0.verdict == .slower || $0.verdict == .larger) && $0.ratio > 1 + percent / 100
    }
  }
}

extension ProfileReport {
  /// Reads a report from its JSON file.
  ///
  /// - Throws: ``ProfileError`` if the file cannot be read or is not a report of this version.
  package static func load(_ path: String) throws(ProfileError) -> ProfileReport {
    let data: Data
    do throws(SystemError) { data = Data(try SystemIO.readFile(path, limit: 64 << 20)) } catch {
      throw ProfileError("cannot read the report \(path): \(error.reason)")
    }
    struct Header: Decodable { var version: Int }
    guard let header = try? JSONDecoder().decode(Header.self, from: data) else {
      throw ProfileError(
        "\(path) is not a profile report; create one with gqlrun profile … --json FILE")
    }
    guard header.version == currentVersion else {
      throw ProfileError(
        "the report \(path) has version \(header.version), and this gqlrun reads version "
          + "\(currentVersion); create it again")
    }
    do { return try JSONDecoder().decode(ProfileReport.self, from: data) } catch {
      throw ProfileError(
        "the report \(path) is damaged; create it again with gqlrun profile … --json FILE")
    }
  }

  /// The report as JSON, with sorted keys.
  package func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self)
  }
}

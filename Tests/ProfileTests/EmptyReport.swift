@testable import GQLRunProfile

extension ProfileReport {
  /// A report in which nothing was measured.
  static func empty(operation: String = "S") -> ProfileReport {
    ProfileReport(
      program: "test", madeAt: 0, machine: .current(),
      workload: .init(source: "here", operation: operation), runs: 1, warmUps: 0)
  }
}

import Foundation
import GQLRunTestSupport
import Testing

extension Program {
  /// Whether this machine has a program.
  static func isInstalled(_ name: String) -> Bool {
    ["/usr/bin", "/usr/local/bin", "/bin"].contains {
      FileManager.default.isExecutableFile(atPath: "\($0)/\(name)")
    }
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips what needs a PostgreSQL server where none is installed.
  static var needsPostgres: ConditionTrait {
    .enabled(
      if: PostgresServer.isInstalled, "PostgreSQL is not installed: apt-get install postgresql")
  }

  /// Skips what needs the language of small servers that tests bring along.
  static var needsPython: ConditionTrait {
    .enabled(if: Program.isInstalled("python3"), "there is no python3")
  }

  /// Skips what needs a server that is not ours.
  static var needsRealServer: ConditionTrait {
    .enabled(if: RealServer.origin != nil, "set GQLRUN_TEST_SERVER to run this")
  }
}

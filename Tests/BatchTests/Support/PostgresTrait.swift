import GQLRunTestSupport
import Testing

extension Trait where Self == ConditionTrait {
  /// Skips what needs a PostgreSQL server where none is installed.
  static var needsPostgres: ConditionTrait {
    .enabled(
      if: PostgresServer.isInstalled, "PostgreSQL is not installed: apt-get install postgresql")
  }
}

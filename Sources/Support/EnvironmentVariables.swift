#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The environment variables of this process.
package enum EnvironmentVariables {
  /// The value of a variable; `nil` if it is not set.
  ///
  /// `ProcessInfo` copies all variables for each one that is read.
  package static func value(of name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}

import CPQ

/// libpq, which is loaded when it is first used.
///
/// Sendable: addresses of functions, which never change.
final class LibPQ: @unchecked Sendable {
  /// The library; `nil` if it is not installed.
  static let installed = LibPQ()

  /// Its functions, under their names without `PQ`.
  let functions: gqlrun_libpq

  private init?() {
    var functions = gqlrun_libpq()
    guard gqlrun_libpq_load(&functions) else { return nil }
    self.functions = functions
  }
}

/// Why a measurement could not be made, in words for a person.
struct BenchError: Error {
  var message: String
  /// Whether the command line is wrong, rather than the world.
  var isUsage: Bool

  init(_ message: String, isUsage: Bool = false) {
    self.message = message
    self.isUsage = isUsage
  }
}

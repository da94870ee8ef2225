extension Int {
  /// The number with a noun: `1 byte`, `2 bytes`.
  package func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}

import Foundation
import GQLRunTestSupport
import Glibc

/// The parsing files of JSONTestSuite, where this machine has them.
enum ConformanceFiles {
  struct File: Sendable, CustomStringConvertible {
    var name: String
    var bytes: [UInt8]
    var description: String { name }
  }

  /// What we decide where the suite leaves the choice: numbers of any size stay exact, so they are accepted,
  /// and so are 500 levels; text that is not well-formed Unicode is refused.
  static let acceptedByChoice: Set<String> = [
    "i_number_double_huge_neg_exp.json", "i_number_huge_exp.json",
    "i_number_neg_int_huge_exp.json", "i_number_pos_double_huge_exp.json",
    "i_number_real_neg_overflow.json", "i_number_real_pos_overflow.json",
    "i_number_real_underflow.json", "i_number_too_big_neg_int.json",
    "i_number_too_big_pos_int.json", "i_number_very_big_negative_int.json",
    "i_structure_500_nested_arrays.json",
  ]

  static func isAccepted(_ name: String) -> Bool {
    name.hasPrefix("y_") || acceptedByChoice.contains(name)
  }

  static let folder = Repository.shared + "/conformance/json"

  static let all: [File] = {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasSuffix(".json") }.sorted().compactMap { name in
      bytes(ofFile: "\(folder)/\(name)").map { File(name: name, bytes: $0) }
    }
  }()

  /// The bytes of a file, read by the C library: Foundation leaks 4 KiB for an empty file (Swift 6.3).
  private static func bytes(ofFile path: String) -> [UInt8]? {
    guard let file = fopen(path, "rb") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = fread(&buffer, 1, buffer.count, file)
      if count == 0 { return bytes }
      bytes += buffer[..<count]
    }
  }
}

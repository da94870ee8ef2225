import Foundation

/// The language of small servers that tests bring along.
enum Python {
  static let isThere = ["/usr/bin", "/usr/local/bin"].contains {
    FileManager.default.isExecutableFile(atPath: "\($0)/python3")
  }
}

import Foundation

/// Formats quantities with units.
enum Quantities {
  static func time(_ seconds: Double) -> String {
    switch seconds {
    case ..<1e-3: String(format: "%.0f µs", seconds * 1e6)
    case ..<1e-2: String(format: "%.2f ms", seconds * 1e3)
    case ..<1: String(format: "%.1f ms", seconds * 1e3)
    default: String(format: "%.2f s", seconds)
    }
  }

  static func size(_ bytes: Double) -> String {
    switch bytes {
    case ..<1024: String(format: "%.0f B", bytes)
    case ..<1_048_576: String(format: "%.1f KiB", bytes / 1024)
    case ..<1_073_741_824: String(format: "%.1f MiB", bytes / 1_048_576)
    default: String(format: "%.2f GiB", bytes / 1_073_741_824)
    }
  }

  static func size(_ bytes: Int) -> String { size(Double(bytes)) }

  static func rate(_ perSecond: Double, _ unit: String) -> String {
    switch perSecond {
    case ..<1e3: String(format: "%.0f %@", perSecond, unit)
    case ..<1e6: String(format: "%.1f k%@", perSecond / 1e3, unit)
    default: String(format: "%.2f M%@", perSecond / 1e6, unit)
    }
  }

  static func percent(_ share: Double) -> String { String(format: "%.1f %%", share * 100) }

  static func ratio(_ ratio: Ratio) -> String {
    String(format: "%.2f x (%.2f to %.2f)", ratio.value, ratio.low, ratio.high)
  }

  static func count(_ number: Int) -> String {
    var digits = String(number)
    var groups: [String] = []
    while digits.count > 3 {
      groups.insert(String(digits.suffix(3)), at: 0)
      digits.removeLast(3)
    }
    return ([digits] + groups).joined(separator: ",")
  }
}

import Foundation

/// The machine that made a profile; a comparison of different machines produces a warning.
package struct Machine: Codable, Sendable, Hashable {
  package var processor: String
  package var cores: Int
  package var memoryBytes: Int
  package var system: String

  package init(processor: String, cores: Int, memoryBytes: Int, system: String) {
    self.processor = processor
    self.cores = cores
    self.memoryBytes = memoryBytes
    self.system = system
  }

  /// This machine.
  package static func current() -> Machine {
    var name = utsname()
    uname(&name)
    return Machine(
      processor: processorName() ?? text(of: name.machine),
      cores: ProcessInfo.processInfo.activeProcessorCount,
      memoryBytes: Int(clamping: ProcessInfo.processInfo.physicalMemory),
      system: "\(text(of: name.sysname)) \(text(of: name.release))")
  }

  private static func processorName() -> String? {
    guard let text = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8) else {
      return nil
    }
    let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
    return line?.split(separator: ":", maxSplits: 1).last?
      .trimmingCharacters(in: .whitespaces)
  }

  private static func text<Field>(of field: Field) -> String {
    withUnsafeBytes(of: field) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}

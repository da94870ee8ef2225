import Foundation

/// The resident memory of this process in bytes, as the kernel counts it.
func residentMemory() -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
  return (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
}

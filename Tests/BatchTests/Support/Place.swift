import Foundation

/// A folder of one test, with the query and the pipeline that its manifests name; removed with it.
final class Place: Sendable {
  let path: String

  /// - Parameter count: The number of rows of `ids.csv`; `nil` for no such file.
  init(ids count: Int? = nil) throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("batch-\(UUID())").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try write(Bench.user, to: "u.graphql")
    try write(Bench.pipeline, to: "p.pipeline.yaml")
    if let count { try write(Bench.ids(count), to: "ids.csv") }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a file in this folder; absolute ones stay.
  func file(_ name: String) -> String { name.hasPrefix("/") ? name : "\(path)/\(name)" }

  func write(_ text: String, to name: String) throws {
    let folder = URL(fileURLWithPath: file(name)).deletingLastPathComponent().path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
  }

  func text(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: file(name))), as: UTF8.self)
  }

  func lines(_ name: String) throws -> [String] {
    try text(name).split(separator: "\n").map { String($0) }
  }

  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name)) }
}

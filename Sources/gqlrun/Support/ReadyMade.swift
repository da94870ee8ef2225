/// The pipeline files built into the program, from `pipelines/`.
enum ReadyMade {
  /// The pipeline used if none is named.
  static let defaultPipeline = file("default") ?? ""

  static var names: [String] { files.map(\.name) }

  /// The text of a file by its name without `.pipeline.yaml`; `nil` if there is none.
  static func file(_ name: String) -> String? { files.first { $0.name == name }?.text }
}

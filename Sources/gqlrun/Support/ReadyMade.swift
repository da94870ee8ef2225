/// The pipeline files that come with the program: those of `pipelines/`.
enum ReadyMade {
  /// The pipeline that runs when no file is named.
  static let defaultPipeline = file("default") ?? ""

  static var names: [String] { files.map(\.name) }

  /// The text of a file, by its name without `.pipeline.yaml`.
  static func file(_ name: String) -> String? { files.first { $0.name == name }?.text }
}

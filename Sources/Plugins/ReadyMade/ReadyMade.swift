/// The pipeline files of `pipelines/`, built into the module.
package enum ReadyMade {
  /// The text of the pipeline that is used if none is named.
  package static let defaultPipeline = file("default") ?? ""

  /// The names of the files, without `.pipeline.yaml`.
  package static var names: [String] { files.map(\.name) }

  /// The text of a file by its name without `.pipeline.yaml`; `nil` if there is none.
  package static func file(_ name: String) -> String? { files.first { $0.name == name }?.text }
}

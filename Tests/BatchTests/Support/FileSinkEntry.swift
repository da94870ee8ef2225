import Testing

@testable import GQLRunBatch

/// An entry of `sinks` that writes a file of records.
struct FileSinkEntry: Sendable, CustomTestStringConvertible {
  /// The entry, in YAML.
  let text: String
  /// The path of the file.
  let file: String

  var isCompressed: Bool { file.hasSuffix(".gz") }
  var testDescription: String { file }

  /// An entry for each extension of each kind of sink that is a file; tables are none.
  ///
  /// - Parameter name: The path without the extension.
  static func all(named name: String) -> [FileSinkEntry] {
    Sinks.all.filter { !($0 is any TableSettings.Type) }.flatMap { kind in
      kind.fileExtensions.map {
        FileSinkEntry(text: "{ \(kind.name): { path: \(name)\($0) } }", file: name + $0)
      }
    }
  }
}

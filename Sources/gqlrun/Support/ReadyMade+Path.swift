import Foundation
import GQLRunPlugins

extension ReadyMade {
  /// The path to load a pipeline file by: the name of a ready-made pipeline for its installed file, so
  /// that its recordings and databases are relative to the working directory and not to the installed
  /// file; else the path itself.
  static func path(for path: String) -> String {
    let name = (path as NSString).lastPathComponent.replacing(".pipeline.yaml", with: "")
    guard let text = file(name), path != name, !FileManager.default.fileExists(atPath: name),
      FileManager.default.contents(atPath: path) == Data(text.utf8)
    else { return path }
    return name
  }
}

/// The files of this repository.
enum Repository {
  /// The top folder: three levels above this file's own folder.
  static let root: String = {
    var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(4)
    return parts.joined(separator: "/")
  }()
}

import Foundation
import GQLRunPipeline
import GQLRunSupport

/// A file as the value of a variable: `{ upload: "{{row.path}}" }`.
struct UploadTemplate: Sendable {
  var path: TextTemplate
  var contentType: TextTemplate?
  var fileName: TextTemplate?

  /// The members of the mapping.
  static let members = ["upload", "type", "filename"]

  /// The file of one task; `nil` for an empty path, or one that is a value which the row does not have.
  ///
  /// - Parameter name: The path of the value in the variables, as messages write it.
  func upload(in scope: Scope, for name: String) throws(TaskProblem) -> TaskUpload? {
    if let reference = path.whole, case .absent = scope.find(reference) { return nil }
    let path = try path.text(in: scope)
    guard !path.isEmpty else { return nil }
    return TaskUpload(
      variable: name.replacing("[", with: ".").replacing("]", with: ""), path: path,
      contentType: try contentType?.text(in: scope), fileName: try fileName?.text(in: scope))
  }
}

/// A file that a task sends.
struct TaskUpload: Sendable, Hashable {
  /// The path of the variable: `input.attachments.0`.
  var variable: String
  /// The path of the file, relative to the manifest's folder.
  var path: String
  var contentType: String?
  var fileName: String?
}

extension Manifest {
  /// Opens the file of a task.
  ///
  /// Rows are data: they may name files in the manifest's folder and in `upload_folders` only.
  func upload(_ file: TaskUpload) throws(ChainError) -> Upload {
    let path = FilePath.resolve(file.path, in: folder)
    guard let real = Self.realPath(path) else {
      throw Self.refusal("cannot open \(path): \(String(cString: strerror(errno)))")
    }
    let folders = [folder] + settings.uploadFolders.map { FilePath.resolve($0, in: folder) }
    let isAllowed = folders.compactMap(Self.realPath).contains { folder in
      real.hasPrefix(folder.hasSuffix("/") ? folder : folder + "/")
    }
    guard isAllowed else {
      throw Self.refusal(
        "the file \(file.path) is outside the manifest's folder; allow its folder with "
          + "`upload_folders` of `run`")
    }
    return try Upload(
      path: real,
      fileName: file.fileName ?? file.path.split(separator: "/").last.map(String.init),
      contentType: file.contentType)
  }

  private static func refusal(_ message: String) -> ChainError {
    ChainError(.request, .uploadFailed, message, delivery: .notSent)
  }

  /// The path without symbolic links; `nil` if there is no such file.
  private static func realPath(_ path: String) -> String? {
    guard let pointer = realpath(path, nil) else { return nil }
    defer { free(pointer) }
    return String(cString: pointer)
  }
}

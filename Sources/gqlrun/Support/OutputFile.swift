import ArgumentParser
import Foundation
import GQLRunLanguage
import GQLRunSupport

/// The option of commands that write files which the user names.
struct ReplaceOptions: ParsableArguments {
  /// The help of --overwrite.
  static let help: ArgumentHelp =
    "Replace existing files, also those that do not look like earlier outputs of this kind."

  @Flag(help: Self.help)
  var overwrite = false

  init() {}

  init(overwrite: Bool) { self.overwrite = overwrite }

  /// The files that may be replaced.
  ///
  /// - Parameter form: The form of the output.
  func replacing(_ form: OutputForm) -> OutputForm { overwrite ? .anything : form }
}

/// The form of an output, which tells a file that the program wrote earlier from another one.
///
/// A command that is repeated replaces its earlier output without a question; a document that was named by
/// mistake is not lost. See docs/decisions/0057-files-that-are-replaced.md.
struct OutputForm: Sendable {
  /// The form in messages, as in "is not a result of gqlrun".
  var name: String
  /// Whether a file has the form; `nil` for every file, also one that cannot be read.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - beginning: Its first bytes without white space, as text.
  var matches: (@Sendable (_ path: String, _ beginning: String) throws -> Bool)?
  /// What to do if there is a file of another form.
  var remedy = "choose another name, or use --overwrite"
  /// Whether no file may be replaced, whatever its form and its contents are.
  private(set) var isNew = false

  /// The form of files that begin with one of some texts, apart from white space.
  init(_ name: String, beginningWith texts: String...) {
    self.init(name) { _, beginning in texts.contains { beginning.hasPrefix($0) } }
  }

  init(_ name: String, _ matches: (@Sendable (String, String) throws -> Bool)?) {
    self.name = name
    self.matches = matches
  }

  /// Every file may be replaced.
  static let anything = OutputForm("anything", nil)
  /// No file may be replaced.
  static let new = {
    var form = OutputForm("a new file", nil)
    form.remedy = "choose another name, or use --force"
    form.isNew = true
    return form
  }()
  /// What the program writes has no form of its own, as the outputs of a jq expression.
  static let unknown = OutputForm("an output that gqlrun can recognize") { _, _ in false }
  /// GraphQL responses: one, several lines, an array of pages, parts, or one after its head.
  static let result = OutputForm(
    "a result of gqlrun", beginningWith: #"{"data":"#, #"{"errors":"#, #"{"extensions":"#,
    #"[{"data":"#, #"[{"errors":"#, #"{"part":"#, #"{"gap":"#, "[]", "HTTP/")
  static let archive = OutputForm("an HTTP archive of gqlrun") { _, beginning in
    beginning.hasPrefix(#"{"log":{"#) && beginning.contains(#""creator":{"name":"gqlrun""#)
  }
  static let introspection = OutputForm(
    "an introspection result", beginningWith: #"{"__schema":"#, #"{"data":{"__schema":"#)
  /// Type definitions, and nothing else.
  static let schema = OutputForm("a file with type definitions") { path, _ in
    let bytes = try Input.bytes(path, "the file")
    guard let document = try? Document(parsingUTF8: bytes) else { return false }
    return document.operations.isEmpty && document.fragments.isEmpty
  }
  static let operationManifest = OutputForm("an operation manifest") { _, beginning in
    beginning.contains(#""format":"apollo-persisted-query-manifest""#)
  }

  /// The number of bytes that are read to recognize a form.
  private static let maxBeginning = 4096

  /// Throws if there is a regular file of another form, which has contents.
  ///
  /// - Parameters:
  ///   - path: The path of the file; links are followed.
  ///   - shownName: The name as the user gave it.
  fileprivate func checkReplaceable(_ path: String, shownAs shownName: String) throws {
    guard let status = FilePath.status(of: path), status.st_mode & S_IFMT == S_IFREG else { return }
    guard !isNew else { throw exists(shownName) }
    guard let matches, status.st_size > 0 else { return }
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try SystemIO.beginning(of: path, count: Self.maxBeginning)
    } catch {
      throw Failure(
        .failed,
        "\(shownName) already exists (unchanged), and cannot be read: \(error.reason); \(remedy)")
    }
    let beginning = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
    guard try !matches(path, beginning) else { return }
    throw Failure(
      .failed,
      "\(shownName) already exists (unchanged), and is not \(name); \(remedy)")
  }

  /// The failure of an output that must be a new file.
  fileprivate func exists(_ shownName: String) -> Failure {
    Failure(.failed, "\(shownName) already exists (unchanged); \(remedy)")
  }
}

/// Writes a file that appears under its name only when it is complete.
///
/// Symbolic links are followed, and existing files keep their permissions. A file of another form than the
/// output is not replaced. Anything but a regular file (`/dev/null`, a pipe) is written directly, because
/// it must not be replaced.
final class OutputFile {
  private enum Destination: ~Copyable {
    case file(AtomicFile)
    /// A pipe or a device, by its descriptor.
    case device(Int32)
    case closed
  }

  /// The name as the user gave it, for messages.
  private let name: String
  private let form: OutputForm
  /// The permissions of the file that is replaced; `nil` without one.
  private var permissions: mode_t?
  private var destination: Destination

  /// - Parameters:
  ///   - path: The path of the file.
  ///   - form: The form of files that may be replaced.
  ///   - isPrivate: Whether only the owner can read a new file. For archives and copies of the
  ///     cache, which may contain more than the user asked for.
  /// - Throws: ``Failure`` if the file cannot be written, or has another form.
  init(_ path: String, replacing form: OutputForm, isPrivate: Bool = false) throws {
    try Self.checkName(path)
    name = path
    self.form = form
    let target = Self.resolved(path)
    try form.checkReplaceable(target, shownAs: path)
    let status = FilePath.status(of: target)
    let kind = status.map { $0.st_mode & S_IFMT }
    if kind == S_IFDIR {
      throw Failure(.failed, "cannot write \(path): it is a directory; name a file in it")
    }
    do throws(SystemError) {
      if let kind, kind != S_IFREG {
        let descriptor = open(target, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("write", path: path) }
        destination = .device(descriptor)
      } else {
        // Until it is complete, the file is its owner's: a read-only one could not be written by its path, and an
        // incomplete one has no reader.
        let file = try AtomicFile(target, permissions: status != nil || isPrivate ? 0o600 : 0o666)
        PartialFiles.add(file.temporaryPath)
        permissions = status.map { $0.st_mode & 0o777 }
        if let status, isPrivate { Self.warnIfShared(path, status.st_mode) }
        destination = .file(file)
      }
    } catch {
      throw Self.failure(path, error.code)
    }
  }

  deinit {
    switch destination {
    case .file(let file): PartialFiles.remove(file.temporaryPath)
    case .device(let descriptor): close(descriptor)
    case .closed: break
    }
  }

  /// The path of the file until it is complete, for a library that writes it by itself; `nil` for a pipe or a device.
  var incompletePath: String? {
    switch destination {
    case .file(let file): file.temporaryPath
    case .device: nil
    case .closed: nil
    }
  }

  /// The path of an option for a result, where `-` is standard output; `nil` for standard output.
  static func path(_ option: String?) -> String? { option == "-" ? nil : option }

  /// Warns if the permissions of an existing file let other users read the output.
  static func warnIfShared(_ path: String, _ mode: mode_t) {
    guard mode & 0o004 != 0 else { return }
    Terminal.warning(
      "every user of this machine can read \(path); chmod o-rwx \(path) changes that")
  }

  private static func checkName(_ path: String) throws {
    guard !path.isEmpty else { throw Failure(.usage, "an output needs the name of a file") }
    guard path != "-" else {
      throw Failure(
        .usage,
        "- is no file to write; name a file: ./- if that is its name, /dev/stdout for standard output"
      )
    }
    guard !path.hasSuffix(".gz") else {
      throw Failure(.usage, "\(path) would not be compressed; choose a name without .gz")
    }
  }

  /// Checks that the file can be written, without writing to it.
  static func check(_ path: String, replacing form: OutputForm) throws {
    try checkName(path)
    // Opening and closing a pipe would end its reader's input.
    let kind = FilePath.status(of: resolved(path)).map { $0.st_mode & S_IFMT }
    if let kind, ![S_IFREG, S_IFDIR].contains(kind) { return }
    _ = try OutputFile(path, replacing: form)
  }

  /// Writes the whole contents of a file; see ``init(_:replacing:isPrivate:)``.
  static func write(
    _ contents: some ContiguousBytes, to path: String, replacing form: OutputForm,
    isPrivate: Bool = false
  ) throws {
    let file = try OutputFile(path, replacing: form, isPrivate: isPrivate)
    try contents.withUnsafeBytes { try file.write($0) }
    try file.finish()
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    let code: Int32
    switch destination {
    case .file(let file):
      do throws(SystemError) {
        try file.write(bytes)
        code = 0
      } catch {
        code = error.code
      }
    case .device(let descriptor): code = SystemIO.writeAll(bytes, to: descriptor)
    case .closed: code = EBADF
    }
    if code == EPIPE { throw ClosedOutput() }
    guard code == 0 else { throw Self.failure(name, code) }
  }

  /// Completes the file: everything written becomes visible under its name.
  func finish() throws {
    var finished = Destination.closed
    swap(&finished, &destination)
    switch consume finished {
    case .file(var file):
      defer { PartialFiles.remove(file.temporaryPath) }
      if let permissions { file.setPermissions(permissions) }
      do throws(SystemError) {
        try file.finish(replacing: !form.isNew)
      } catch {
        // Another process may have written it since the output was opened.
        throw form.isNew && error.code == EEXIST
          ? form.exists(name) : Self.failure(name, error.code)
      }
    case .device(let descriptor):
      guard close(descriptor) == 0 else { throw Self.failure(name, errno) }
    case .closed: break
    }
  }

  private static func failure(_ name: String, _ code: Int32) -> Failure {
    Failure(.failed, SystemError("write", path: name, code: code).description)
  }

  /// The target of a symbolic link, even if it does not exist.
  private static func resolved(_ path: String) -> String {
    var path = path
    for _ in 0..<40 {
      guard let link = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else {
        return path
      }
      // The links in /proc are not paths: /dev/stdout may be a pipe.
      if link.hasPrefix("pipe:") || link.hasPrefix("socket:") { return path }
      let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
      path = link.hasPrefix("/") ? link : folder + link
    }
    return path
  }
}

/// The temporary files being written, to remove them on an immediate exit.
enum PartialFiles {
  private static let paths = Locked<Set<String>>([])

  static func add(_ path: String) { paths.withLock { _ = $0.insert(path) } }
  static func remove(_ path: String) { paths.withLock { _ = $0.remove(path) } }

  static func removeAll() {
    paths.withLock { paths in
      for path in paths { unlink(path) }
      paths = []
    }
  }
}

/// Creates files, and never overwrites one.
enum NewFile {
  /// Creates a file.
  ///
  /// - Throws: ``Failure`` if the file exists or cannot be written.
  static func create(_ path: String, _ text: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      if errno == EEXIST {
        throw Failure(.failed, "\(path) already exists (unchanged); choose another name")
      }
      throw Failure(.failed, SystemError("write", path: path).description)
    }
    let code = SystemIO.writeAll(Array(text.utf8), to: descriptor)
    guard close(descriptor) == 0, code == 0 else {
      unlink(path)
      throw Failure(
        .failed, SystemError("write", path: path, code: code == 0 ? errno : code).description)
    }
  }
}

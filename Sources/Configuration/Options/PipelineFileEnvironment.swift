import Foundation
import GQLRunSupport

/// The variables, files and commands that a pipeline file can use while it is loaded.
///
/// Tests provide dictionaries; `gqlrun pipeline check` omits `execute`, so that it runs no
/// commands.
public struct PipelineFileEnvironment: Sendable {
  /// The value of an environment variable.
  public var variable: @Sendable (_ name: String) -> String?
  /// The bytes of a file. The path is absolute, or relative to the working directory.
  public var readFile: @Sendable (_ path: String) throws -> [UInt8]
  /// Returns the standard output of a shell command; `nil` runs no commands.
  public var execute: (@Sendable (_ command: String) throws -> String)?
  /// The text of a ready-made pipeline file, which other files extend by its name; `nil` if there is none.
  package var readyMade: @Sendable (_ name: String) -> String? = { _ in nil }
  /// Whether `${exec:…}` stays as it is if no command is run; see ``withPlaceholders``.
  package var showsPlaceholders = false
  /// Returns the value of a variable that is neither set nor has a default in the file.
  package var lastResort: @Sendable (_ name: String) -> String? = { _ in nil }

  /// Creates an environment from functions.
  ///
  /// - Parameters:
  ///   - variable: The value of an environment variable; by default no variable is set.
  ///   - readFile: The bytes of a file; by default there are no files.
  ///   - execute: The output of a shell command; `nil`, the default, runs no commands.
  public init(
    variable: @escaping @Sendable (_ name: String) -> String? = { _ in nil },
    readFile: @escaping @Sendable (_ path: String) throws -> [UInt8] = {
      throw PipelineFileEnvironment.Failure("no file `\($0)`")
    },
    execute: (@Sendable (_ command: String) throws -> String)? = nil
  ) {
    self.variable = variable
    self.readFile = readFile
    self.execute = execute
  }

  /// The reason why a variable, file or command is not available. It is printed, so it must not
  /// contain secrets.
  public struct Failure: Error, Sendable, CustomStringConvertible {
    /// The reason, without secrets.
    public var reason: String

    /// Creates a failure.
    ///
    /// - Parameter reason: The reason, without secrets.
    public init(_ reason: String) {
      self.reason = reason
    }

    /// The reason.
    public var description: String { reason }
  }

  /// The same environment, without commands.
  public var withoutCommands: PipelineFileEnvironment {
    var environment = self
    environment.execute = nil
    return environment
  }

  /// The same environment for inspecting a file: no commands are run, and `${exec:…}` stays in text
  /// as it is. Options of other types get their defaults.
  ///
  /// Use the resulting pipeline for output, and to find out which programs it starts. Its requests
  /// would contain the placeholders.
  public var withPlaceholders: PipelineFileEnvironment {
    var environment = withoutCommands
    environment.showsPlaceholders = true
    return environment
  }
}

extension PipelineFileEnvironment {
  /// The variables, files and shell of this process. A command has a time limit of 30 seconds.
  public static var process: PipelineFileEnvironment { process(commandTime: .seconds(30)) }

  /// The variables, files and shell of this process.
  ///
  /// - Parameter commandTime: The time limit of a command. When it is exceeded, the command is
  ///   killed and loading fails.
  public static func process(commandTime: Duration) -> PipelineFileEnvironment {
    PipelineFileEnvironment(
      variable: { EnvironmentVariables.value(of: $0) },
      readFile: { try contents(of: $0) },
      execute: { try ShellCommand.output(of: $0, limit: maxBytes, within: commandTime) })
  }

  /// The reason of an error of ``readFile`` or ``execute``.
  package static func reason(of error: any Error) -> String {
    (error as? Failure)?.reason ?? "the reason is unknown"
  }

  /// The bytes of a file.
  ///
  /// - Parameter subject: What the file is, for messages.
  /// - Throws: A diagnostic if the file cannot be read.
  package func bytes(of path: String, _ subject: String) throws(PipelineDiagnostics) -> [UInt8] {
    do {
      return try readFile(path)
    } catch {
      throw PipelineDiagnostics([
        PipelineDiagnostic(
          .unreadable, "\(subject) cannot be read",
          at: FileLocation(file: path), hint: Self.reason(of: error))
      ])
    }
  }

  /// The largest file or output of a command, in bytes.
  package static let maxBytes = 1 << 20

  /// The bytes of a file; at most one more than `limit`, so that the caller can refuse it.
  package static func contents(
    of path: String, limit: Int = maxBytes
  ) throws(Failure) -> [UInt8] {
    if FilePath.isFolder(path) { throw Failure("it is a directory; name a file in it") }
    // Those of `/dev/stdin` and of a shell's `<(…)` are open, and have a writer.
    if FilePath.isPipe(path), !["/dev/", "/proc/"].contains(where: path.hasPrefix) {
      throw Failure("it is a named pipe, whose writer may never come; name a file, or /dev/stdin")
    }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw Failure(
        errno == ENOENT || errno == ENOTDIR
          ? "it does not exist" : "it cannot be opened: \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    let (bytes, code) = SystemIO.pieces(of: descriptor, limit: limit)
    guard code == 0 else { throw Failure("it cannot be read: \(String(cString: strerror(code)))") }
    return Array(bytes.prefix(limit + 1))
  }
}

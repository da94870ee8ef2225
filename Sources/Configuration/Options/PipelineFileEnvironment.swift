import Foundation

/// What a pipeline file may reach while it is read: variables, files, commands.
///
/// Tests hand in dictionaries; `gqlrun pipeline check` leaves `execute` out, so that checking a
/// file runs nothing.
public struct PipelineFileEnvironment: Sendable {
  /// The value of an environment variable.
  public var variable: @Sendable (_ name: String) -> String?
  /// The bytes of a file. The path is absolute, or relative to the working directory.
  public var readFile: @Sendable (_ path: String) throws -> [UInt8]
  /// The standard output of a command given to the shell. When `nil`, no command is run.
  public var execute: (@Sendable (_ command: String) throws -> String)?
  /// Whether `${exec:…}` stands for itself where no command is run; see ``withPlaceholders``.
  package var showsPlaceholders = false
  /// The value of a variable that is not set, and has no default in the file either.
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

  /// Why something could not be read or run. The reason is printed: it must not hold secrets.
  public struct Failure: Error, Sendable, CustomStringConvertible {
    /// The reason, without secrets.
    public var reason: String

    /// Creates a failure with a reason that may be printed.
    public init(_ reason: String) {
      self.reason = reason
    }

    public var description: String { reason }
  }

  /// The same, without running commands.
  public var withoutCommands: PipelineFileEnvironment {
    var environment = self
    environment.execute = nil
    return environment
  }

  /// The same for looking at a file: no command is run, and `${exec:…}` stands for itself in text. Options that
  /// are not text have their defaults in its place.
  ///
  /// A pipeline that was read so is for showing, and for finding out which programs it starts: sent to a
  /// server, the placeholders would be sent.
  public var withPlaceholders: PipelineFileEnvironment {
    var environment = withoutCommands
    environment.showsPlaceholders = true
    return environment
  }
}

extension PipelineFileEnvironment {
  /// The variables, files and shell of this process. A command has 30 seconds.
  public static var process: PipelineFileEnvironment { process(commandTime: .seconds(30)) }

  /// The variables, files and shell of this process.
  ///
  /// - Parameter commandTime: After so long a command is ended, and with it the reading of the file.
  public static func process(commandTime: Duration) -> PipelineFileEnvironment {
    PipelineFileEnvironment(
      variable: { ProcessInfo.processInfo.environment[$0] },
      readFile: { try contents(of: $0) },
      execute: { try ShellCommand.output(of: $0, limit: maximumBytes, within: commandTime) })
  }

  /// The most that is read from a file or a command, in bytes.
  package static let maximumBytes = 1 << 20

  private static func contents(of path: String) throws -> [UInt8] {
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw Failure(
        FileManager.default.fileExists(atPath: path)
          ? "it cannot be opened" : "there is no such file")
    }
    defer { try? handle.close() }
    do {
      return [UInt8](try handle.read(upToCount: maximumBytes + 1) ?? Data())
    } catch {
      throw Failure("it cannot be read")
    }
  }
}

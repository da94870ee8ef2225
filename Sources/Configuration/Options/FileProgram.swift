/// A program that a pipeline file or a manifest starts when it is used: the command of `${exec:…}`, or the
/// program of a plugin.
///
/// `gqlrun` starts none for a file that its user has not trusted; see docs/decisions/0026-trust.md. A program
/// that embeds the library decides itself, by ``PipelineFileEnvironment/execute`` and by what it does with
/// `Pipeline.programs`.
public struct FileProgram: Sendable, Hashable {
  /// What starts it: `${exec:…}`, or the id of an entry.
  public var origin: String
  /// The command, as messages show it.
  public var command: String
  /// The source location of the command.
  public var location: FileLocation

  /// Creates a description of a program; nothing is started.
  public init(origin: String, command: String, location: FileLocation) {
    self.origin = origin
    self.command = command
    self.location = location
  }
}

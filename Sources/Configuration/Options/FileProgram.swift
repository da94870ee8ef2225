/// A program that a pipeline file or a manifest starts: the command of `${exec:…}`, or the program
/// of a plugin.
///
/// `gqlrun` only starts programs of files that the user has trusted; see
/// docs/decisions/0026-trust.md. A program that embeds the library decides with
/// ``PipelineFileEnvironment/execute`` and with `Pipeline.programs`.
public struct FileProgram: Sendable, Hashable {
  /// The origin of the program: `${exec:…}`, or the identifier of an entry.
  public var origin: String
  /// The command as text, for messages.
  public var command: String
  /// The source location of the command.
  public var location: FileLocation

  /// Creates the description of a program; does not start it.
  public init(origin: String, command: String, location: FileLocation) {
    self.origin = origin
    self.command = command
    self.location = location
  }
}

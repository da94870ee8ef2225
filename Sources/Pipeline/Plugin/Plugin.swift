/// A plugin: a name, a table of options, and a way to make interceptors from options.
///
/// One file with one conforming type, and one line in a registry, is all there is to adding one.
public protocol Plugin: Sendable {
  static var description: PluginDescription { get }

  /// Makes the interceptors for one entry of a chain.
  ///
  /// Called when a pipeline is assembled: no network, no clock. The options are complete and within
  /// the bounds of the table; what the table cannot say is checked here.
  ///
  /// - Throws: ``PluginOptionError`` for options that do not go together.
  static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance
}

/// What a plugin may know about the pipeline it is made for.
public struct PluginEnvironment: Sendable {
  /// The name of the pipeline, or `nil`.
  public var pipelineName: String?
  /// The identifier of the entry in the chain.
  public var entryID: String
  /// The folder of the pipeline file.
  public var folder: String
  /// The value of an environment variable.
  public var variable: @Sendable (_ name: String) -> String?

  public init(
    pipelineName: String? = nil, entryID: String, folder: String = ".",
    variable: @escaping @Sendable (_ name: String) -> String? = { _ in nil }
  ) {
    self.pipelineName = pipelineName
    self.entryID = entryID
    self.folder = folder
    self.variable = variable
  }
}

/// Options that are each fine and do not go together.
public struct PluginOptionError: Error, Sendable, Hashable {
  /// The option to point at; a dotted name reaches into objects.
  public var option: String
  /// What is wrong. Does not repeat values, which may be secret.
  public var message: String
  /// What would work.
  public var remedy: String?

  public init(option: String, _ message: String, remedy: String? = nil) {
    self.option = option
    self.message = message
    self.remedy = remedy
  }
}

import GQLRunPipeline
import GQLRunPlugins
import Testing

/// Tests of pipeline files use plugins without behaviour; their tables must be those of the real ones.
@Suite("Plugins of tests")
struct TestPluginsTests {
  @Test("have the tables of the built-in plugins, except for what they add")
  func tables() {
    var differences: [String] = []
    for description in TestPlugins.registry.descriptions where description.name != "picky" {
      guard let builtIn = PluginRegistry.builtIn[description.name]?.description else {
        differences.append("\(description.name) is not built in")
        continue
      }
      differences += Self.differences(description, builtIn)
    }
    #expect(differences.filter { !TestPlugins.ownOptions.contains($0) } == [])
    // What is no longer added has no exception.
    #expect(TestPlugins.ownOptions.subtracting(differences) == [])
  }

  @Test("that differ from a built-in plugin are found")
  func differencesAreFound() {
    let own = PluginDescription(
      name: "x", summary: "A plugin", kind: .wrap, stages: [.http], roles: [.replay],
      options: [
        OptionDescription("a", .int(in: 0...9), default: "1", "A"),
        OptionDescription("b", .object([OptionDescription("c", .bool, default: "true", "C")]), "B"),
        OptionDescription("d", .string, "D"),
      ])
    var other = own
    #expect(Self.differences(own, other) == [])
    other.kind = .step
    other.stages = [.graphQL]
    other.roles = []
    other.options[0].type = .int(in: 0...8)
    other.options[1].type = .object([OptionDescription("c", .bool, default: "false", "C")])
    other.options.removeLast()
    #expect(
      Self.differences(own, other) == ["x kind", "x stages", "x roles", "x.a", "x.b.c", "x.d"])
  }

  private static func differences(
    _ own: PluginDescription, _ builtIn: PluginDescription
  ) -> [String] {
    var result: [String] = []
    if own.kind != builtIn.kind { result.append("\(own.name) kind") }
    if own.stages != builtIn.stages { result.append("\(own.name) stages") }
    if own.roles != builtIn.roles { result.append("\(own.name) roles") }
    return result + differences(own.options, builtIn.options, own.name)
  }

  private static func differences(
    _ own: [OptionDescription], _ builtIn: [OptionDescription], _ owner: String
  ) -> [String] {
    own.flatMap { option -> [String] in
      let name = "\(owner).\(option.name)"
      guard let other = builtIn.first(where: { $0.name == option.name }) else { return [name] }
      guard option.defaultText == other.defaultText, option.isRequired == other.isRequired,
        option.secrecy == other.secrecy
      else { return [name] }
      if case .object(let inner) = option.type, case .object(let otherInner) = other.type {
        return differences(inner, otherInner, name)
      }
      return option.type == other.type ? [] : [name]
    }
  }
}

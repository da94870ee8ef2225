import GQLRunPipeline
import GQLRunPlugins
import Testing

/// Tests of pipeline files use plugins without behaviour; their tables must be those of the real ones.
@Suite("Plugins of tests")
struct TestPluginsTests {
  @Test("have the tables of the built-in plugins, except for what they add")
  func tables() {
    var differences: [String] = []
    for name in TestPlugins.registry.names where name != "picky" {
      guard let own = TestPlugins.registry[name], let builtIn = PluginRegistry.builtIn[name] else {
        differences.append("\(name) is not built in")
        continue
      }
      differences += Self.differences(own, builtIn)
    }
    #expect(differences.filter { !TestPlugins.ownOptions.contains($0) } == [])
    // What is no longer added has no exception.
    #expect(TestPlugins.ownOptions.subtracting(differences) == [])
  }

  @Test("that differ from a built-in plugin are found")
  func differencesAreFound() {
    #expect(Self.differences(Own.self, Own.self) == [])
    #expect(
      Self.differences(Own.self, Other.self)
        == ["own kind", "own stages", "own traits", "own.a", "own.b.c", "own.d"])
  }

  struct Own: TestPlugin {
    static let summary = "A plugin"
    struct B: OptionSection { @Option("C") var c = true }
    @Option(0...9, "A") var a = 1
    @Option("B") var b = B()
    @Option("D") var d: String?
    var traits: PluginTraits { .answers }
    var placement: Placement { .wrap(.http) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [] }
  }

  struct Other: TestPlugin {
    static let summary = "A plugin"
    struct B: OptionSection { @Option("C") var c = false }
    @Option(0...8, "A") var a = 1
    @Option("B") var b = B()
    var placement: Placement { .step(.cache) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [] }
  }

  private static func differences(
    _ own: any Plugin.Type, _ builtIn: any Plugin.Type
  ) -> [String] {
    let (instance, other) = (own.init(), builtIn.init())
    var result: [String] = []
    if instance.placement.kind != other.placement.kind { result.append("\(own.name) kind") }
    if instance.placement.stages != other.placement.stages { result.append("\(own.name) stages") }
    if instance.traits != other.traits { result.append("\(own.name) traits") }
    return result + differences(own.optionDescriptions, builtIn.optionDescriptions, own.name)
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
        return differences(inner.options, otherInner.options, name)
      }
      return option.type == other.type ? [] : [name]
    }
  }
}

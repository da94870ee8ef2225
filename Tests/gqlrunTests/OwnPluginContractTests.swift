import GQLRunTesting
import Testing

@testable import my_gqlrun

@Suite("The plugins of the example")
struct OwnPluginContractTests {
  @Test("keeps the contract of plugins")
  func contract() async throws {
    try await PluginContract(TenantPlugin.self, context: ["tenant": "acme"]).check()
  }

  @Test("slow-log keeps it, too")
  func slowLogContract() async throws {
    try await PluginContract(SlowLogPlugin.self).check()
  }
}

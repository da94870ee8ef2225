/// Rules about plugins that start the chain again, and about what is sent twice.
extension ChainRules {
  /// P015
  mutating func checkRestarts() {
    let bound = first(.boundsRestarts)
    for index in indices(.restarts) where index < bound ?? .max && mayRestart(index) {
      let name = drafts[index].name
      if let bound {
        // The rule about credentials says more.
        guard !drafts[index].description.roles.contains(.authenticates) else { continue }
        report(
          .restarts, index,
          "`\(name)` may start the chain again, and \(named(bound)) stands below it",
          "move `\(drafts[bound].name)` above `\(name)`")
      } else if !hasUnknown {
        report(
          .restarts, index,
          "`\(name)` may start the chain again, and nothing bounds how often",
          "add `- max-retry` above it")
      }
    }
  }

  /// Whether a plugin with the role may start the chain again with its options: one that never sends
  /// documents (`apq: { persisted_only: true }`) has nothing to send again.
  private func mayRestart(_ index: Int) -> Bool {
    if case .bool(true)? = option("persisted_only", of: index) { return false }
    return true
  }

  /// P017
  mutating func checkCredentials() {
    for index in indices(.authenticates) {
      let name = drafts[index].name
      if let bound = first(.boundsRestarts), index < bound {
        report(
          .credentials, index,
          "`\(name)` stands above \(named(bound)), so that its retry would be counted as one of "
            + "many",
          "move it below `\(drafts[bound].name)`")
      }
      if let after = first(.responseCode), index > after {
        report(
          .credentials, index,
          "`\(name)` stands below \(named(after)), where a 401 would never reach it",
          "move it above `\(drafts[first(.fetch) ?? after].name)`")
      } else if let fetch = first(.fetch), index > fetch {
        report(
          .credentials, index,
          "`\(name)` stands below \(named(fetch)), too late to send anything",
          "move it above `\(drafts[fetch].name)`")
      } else if let http = drafts.indices.first(where: { isHTTPOnly($0) }), index > http {
        report(
          .credentials, index,
          "`\(name)` works in the GraphQL stage and belongs above \(named(http))",
          "move it above `\(drafts[http].name)`")
      }
    }
  }

  private func isHTTPOnly(_ index: Int) -> Bool {
    !drafts[index].description.stages.contains { $0 == .graphQL || $0 == .cache }
  }

  /// P020
  mutating func checkRetriedMutations() {
    for index in indices(.boundsRestarts) {
      guard case .string("always")? = option("mutations", of: index), !sendsIdempotencyKeys
      else { continue }
      report(
        .retriedMutations, index,
        "`\(drafts[index].name)` sends mutations again, and no server can tell that it is the "
          + "same one",
        "add `- correlation-id: { idempotency_key: true }`, or leave out `mutations`")
    }
  }

  /// Whether some plugin sends a key of its own with each mutation.
  private var sendsIdempotencyKeys: Bool {
    drafts.indices.contains { index in
      if case .bool(true)? = option("idempotency_key", of: index) { return true }
      return ["set", "add", "default"].contains { name in
        guard drafts[index].description.roles.contains(.changesHeaders),
          case .map(let fields)? = option(name, of: index)
        else { return false }
        return fields.contains { field in
          // A fixed text would be the same for all of them.
          guard field.name.lowercased() == "idempotency-key",
            case .template(let template) = field.value.content
          else { return false }
          return template.parts.contains { if case .context = $0 { true } else { false } }
        }
      }
    }
  }
}

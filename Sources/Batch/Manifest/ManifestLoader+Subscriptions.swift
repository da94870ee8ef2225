import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline

extension ManifestLoader {
  /// Checks `until`, which subscriptions require, and the keys that subscriptions do not have.
  mutating func readUntil(_ draft: Draft, _ operation: inout BatchOperation) {
    let settings = draft.settings
    guard operation.template.type == .subscription else {
      if settings.$until.isGiven {
        report(
          .wrongValue,
          "`until` is the end of a subscription, and `\(draft.id)` is a "
            + operation.template.type.rawValue, settings.$until.keyLocation, "remove it")
      }
      return
    }
    operation.until = settings.until
    let hasEnd = settings.until.map { $0.$events.isGiven || $0.$for.isGiven } ?? false
    if !hasEnd, settings.$until.isUsable {
      report(
        .wrongValue, "the subscription `\(draft.id)` has no end",
        settings.$until.isGiven ? settings.$until.location : draft.location,
        "add `until: { events: 100 }`, `until: { for: 10m }` or both")
    }
    for (name, isGiven, location) in [
      ("paginate", settings.$paginate.isGiven, settings.$paginate.keyLocation),
      ("snapshot", settings.$snapshot.isGiven, settings.$snapshot.keyLocation),
    ] where isGiven {
      report(
        .wrongValue, "`\(name)` is for queries, and `\(draft.id)` is a subscription", location,
        "remove it")
    }
  }
}

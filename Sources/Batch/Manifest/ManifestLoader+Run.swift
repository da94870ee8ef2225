import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport

/// The settings of a run and its thresholds.
extension ManifestLoader {
  // MARK: run and rate_limit

  mutating func settings(_ options: PluginOptions?) -> RunSettings {
    var settings = RunSettings()
    let base = OutputPath(folder: folder)
    settings.journalFolder = (try? base.resolve(settings.journalFolder)) ?? "runs"
    guard let options else { return settings }
    // Values that could not be parsed are already reported; defaults let the loader read the rest.
    settings.concurrency = options.int(ifGiven: "concurrency") ?? settings.concurrency
    settings.order = options.choice(ifGiven: "order") ?? settings.order
    settings.deadline = options.duration(ifGiven: "deadline")
    settings.patience = options.duration(ifGiven: "patience") ?? settings.patience
    if let folder = output("journal", options) { settings.journalFolder = folder }
    if let text = options.string(ifGiven: "max_failures") {
      if let count = Int(text), count >= 0 {
        settings.failureLimit = .count(count)
      } else if text.hasSuffix("%"), let share = Double(text.dropLast()), (0...100).contains(share)
      {
        settings.failureLimit = .share(share / 100)
      } else {
        report(
          .wrongValue, "`max_failures` of `run` takes a count or a percentage",
          options.location(of: "max_failures"), "write `20` or `5%`")
      }
    }
    if options.bool(ifGiven: "fail_fast") == true { settings.failureLimit = .count(0) }
    return settings
  }

  mutating func rate(_ options: PluginOptions) -> RateSettings {
    var rate = RateSettings(adapter: options.choice(ifGiven: "adapter"))
    rate.burst = options.int(ifGiven: "burst") ?? rate.burst
    rate.reserve = options.percentage(ifGiven: "reserve") ?? rate.reserve
    if let text = options.string(ifGiven: "rate") {
      let parts = text.split(separator: "/", omittingEmptySubsequences: false)
      let units: [Substring: Double] = ["s": 1, "m": 60, "h": 3600]
      if parts.count == 2, let count = Double(parts[0]), let unit = units[parts[1]],
        (1e-5...1e6).contains(count / unit)
      {
        rate.perSecond = count / unit
      } else {
        report(
          .wrongValue, "`rate` of `rate_limit` takes requests per time",
          options.location(of: "rate"), "write `50/s`, `600/m` or `5000/h`")
      }
    }
    if rate.perSecond == nil, rate.adapter == nil, options["rate"] == nil {
      report(.wrongValue, "`rate_limit` limits nothing", options.location, "add `rate: 50/s`")
    }
    return rate
  }

  // MARK: Conditions

  mutating func conditions(
    _ name: String, _ options: PluginOptions, roots: [String]
  ) -> [BatchCondition] {
    guard case .list(let elements)? = options[name]?.content else { return [] }
    return elements.compactMap { element in
      guard case .string(let text) = element.content else { return nil }
      guard let condition = BatchCondition(text) else {
        report(
          .path, "`\(text)` in `\(name)` is no condition", element.location,
          "write two values around ==, !=, <, <=, > or >=, such as `errors == null`")
        return nil
      }
      for root in condition.roots where !roots.contains(root) {
        report(
          .path, "a condition of `\(name)` has no value `\(root)`", element.location,
          suggestion(for: root, in: roots).map { "did you mean `\($0)`?" }
            ?? roots.joined(separator: ", "))
      }
      return condition
    }
  }
}

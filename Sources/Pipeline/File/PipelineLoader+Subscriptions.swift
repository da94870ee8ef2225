import GQLRunLanguage

extension PipelineLoader {
  /// Reads the section `subscriptions`, and checks the chain for settings that make no sense for them.
  mutating func subscriptions(
    _ given: PipelineFileOptions, _ drafts: Drafts?
  ) -> SubscriptionSettings {
    var settings = SubscriptionSettings()
    if let options = given.subscriptions {
      settings.overflow = options.overflow
      if options.overflow == .block, options.$overflow.isUsable {
        for (name, isGiven, location) in [
          ("max_waiting", options.$maxWaiting.isGiven, options.$maxWaiting.location),
          ("max_waiting_size", options.$maxWaitingSize.isGiven, options.$maxWaitingSize.location),
        ] where isGiven {
          report(
            .subscriptions,
            "`\(name)` has no effect: with `overflow: block`, no events wait to be read", location,
            "write `overflow: drop-oldest` or `fail`, or remove it")
        }
      }
      settings.maxWaiting = options.maxWaiting ?? settings.maxWaiting
      settings.maxWaitingBytes = options.maxWaitingSize ?? settings.maxWaitingBytes
      settings.patience = options.patience
      let location = options.$catchUp.location
      if let declared = options.catchUp {
        settings.catchUp = catchUp(declared, location)
        if let drafts { check(declared, location, drafts) }
      }
      if let drafts { checkCachePolicy(given.$subscriptions.location, drafts) }
    }
    if let drafts { checkConditions(drafts) }
    return settings
  }

  private mutating func catchUp(
    _ options: CatchUpOptions, _ location: FileLocation
  ) -> SubscriptionSettings.CatchUp? {
    let (query, path) = (options.query, options.file?.path)
    guard query != nil || path != nil else {
      report(
        .wrongValue, "`catch_up` names no query", location,
        "add `query: NAME` for a query of the subscription's document, or `file: feed.graphql`")
      return nil
    }
    var declared = SubscriptionSettings.CatchUp(
      query: query, file: path, isDelivered: options.deliver)
    guard let path else { return declared }
    do {
      let document = try Document(
        parsing: String(decoding: try environment.readFile(path), as: UTF8.self))
      let operation = try document.operation(named: query)
      guard operation.type == .query else {
        let name = operation.name.map { " `\($0.value)`" } ?? ""
        report(
          .wrongValue, "the operation\(name) of \(path) is a \(operation.type.rawValue)",
          query == nil ? options.$file.location : options.$query.location, "name a query")
        return nil
      }
      declared.document = document
      return declared
    } catch {
      let reason =
        (error as? PipelineFileEnvironment.Failure)?.reason
        ?? (error as? OperationSelectionError)?.message ?? "\(error)"
      report(
        .wrongValue, "the query of `catch_up` cannot be read from \(path)",
        options.$file.location, reason)
      return nil
    }
  }

  private mutating func warn(_ message: String, _ location: FileLocation, _ hint: String) {
    decoder.findings.append(
      PipelineDiagnostic(.subscriptions, message, severity: .warning, at: location, hint: hint))
  }

  /// Warns of a catch-up query that never runs or has no effect.
  private mutating func check(
    _ catchUp: CatchUpOptions, _ location: FileLocation, _ drafts: Drafts
  ) {
    guard !drafts.hasUnknown else { return }
    let traits = drafts.known.map(\.traits)
    if !traits.contains(where: { $0.intersects([.boundsRestarts, .restarts]) }) {
      warn(
        "`catch_up` never runs: no plugin of the chain opens a lost connection again",
        location, "add `- max-retry` at the top of the chain")
    }
    if !catchUp.deliver, !traits.contains(where: { $0.contains(.writesCache) }) {
      warn(
        "`catch_up` has no effect: its result is neither delivered nor stored", location,
        "add `deliver: true`, or `- cache-write` below the parser")
    }
  }

  /// Reports a chain that never sends the subscriptions that the file has settings for.
  private mutating func checkCachePolicy(_ location: FileLocation, _ drafts: Drafts) {
    guard let entry = drafts.known.first(where: { $0.traits.contains(.cacheOnly) }) else { return }
    report(
      .subscriptions, "the chain sends no subscription: `\(entry.id)` never uses the network",
      location, "choose another policy, or remove `subscriptions`")
  }

  /// Warns of entries for subscriptions alone whose plugin passes them unchanged.
  private mutating func checkConditions(_ drafts: Drafts) {
    for entry in drafts.known
    where entry.condition.type == .subscription && entry.traits.contains(.passesSubscriptions) {
      warn(
        "`\(entry.id)` has no effect: it passes subscriptions unchanged, and its condition selects only them",
        entry.location, "remove the entry, or its `when`")
    }
  }
}

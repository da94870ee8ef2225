/// The rules about which plugins a chain needs and how they stand to each other.
struct ChainRules {
  let drafts: [ChainDraft]
  let store: StoreConfiguration
  /// Whether there are entries that name no known plugin, so that nothing can be said to be
  /// missing.
  let hasUnknown: Bool
  /// Where the chain begins.
  let place: SourcePlace
  private(set) var findings: [PipelineDiagnostic] = []

  init(
    _ drafts: [ChainDraft], store: StoreConfiguration, hasUnknown: Bool, place: SourcePlace
  ) {
    self.drafts = drafts
    self.store = store
    self.hasUnknown = hasUnknown
    self.place = place
  }

  mutating func check() {
    checkFetch()
    checkParse()
    checkStages()
    checkCacheRead()
    checkCacheWrite()
    checkPersistedQueries()
    checkResponseCode()
    checkLogging()
    checkRestarts()
    checkCredentials()
    checkRetriedMutations()
  }
}

extension ChainRules {
  func indices(_ role: PluginRole) -> [Int] {
    drafts.indices.filter { drafts[$0].description.roles.contains(role) }
  }

  func first(_ role: PluginRole) -> Int? { indices(role).first }

  /// "`fetch` (line 12)", with the file where that is not the one of the chain.
  func named(_ index: Int) -> String {
    let target = drafts[index].place
    let file = target.file == place.file ? "" : " of \(target.file)"
    return "`\(drafts[index].name)` (line \(target.line)\(file))"
  }

  mutating func report(
    _ code: PipelineDiagnostic.Code, _ index: Int, _ message: String, _ hint: String,
    severity: PipelineDiagnostic.Severity = .error
  ) {
    findings.append(
      PipelineDiagnostic(
        code, message, severity: severity, at: drafts[index].place, hint: hint))
  }

  private mutating func reportMissing(
    _ code: PipelineDiagnostic.Code, _ message: String, _ hint: String
  ) {
    guard !hasUnknown else { return }
    findings.append(PipelineDiagnostic(code, message, at: place, hint: hint))
  }

  /// What answers: the fetch, or a plugin that replays.
  private var answering: Int? { first(.fetch) ?? replaying }

  /// A plugin that answers by itself whatever comes.
  private var replaying: Int? {
    indices(.replay).first { index in
      guard let mode = option("mode", of: index) else { return true }
      guard case .string(let word) = mode else { return false }
      return word == "replay"
    }
  }

  /// The value of an option, or `nil` when the plugin has none of this name.
  func option(_ name: String, of index: Int) -> OptionValue.Content? {
    drafts[index].options.values.first { $0.name == name }?.value.content
  }

  private var isCacheOnly: Bool {
    indices(.cacheRead).contains { index in
      let policy = drafts[index].options.values.first { $0.name == "policy" }?.value
      guard case .string(let name)? = policy?.content else { return false }
      return CachePolicy(name: name) == .cacheOnly
    }
  }
}

extension ChainRules {
  /// P010
  private mutating func checkFetch() {
    let fetches = indices(.fetch)
    for index in fetches.dropFirst() {
      report(
        .fetch, index, "a chain fetches once, and \(named(fetches[0])) does already",
        "remove one of them")
    }
    if fetches.isEmpty, replaying == nil, !isCacheOnly {
      if let recording = first(.replay) {
        return reportMissing(
          .fetch, "no plugin of this chain fetches what \(named(recording)) is to record",
          "add `- fetch` below it, or answer from the recording alone: `mode: replay`")
      }
      reportMissing(
        .fetch, "no plugin of this chain fetches", "add `- fetch`, and `- parse` below it")
    }
  }

  /// P011
  private mutating func checkParse() {
    let parsers = indices(.parse)
    for index in parsers.dropFirst() {
      report(
        .parse, index, "a chain parses once, and \(named(parsers[0])) does already",
        "remove one of them")
    }
    if let fetch = first(.fetch) {
      for index in parsers.prefix(1) where index < fetch {
        report(
          .parse, index,
          "`\(drafts[index].name)` stands above \(named(fetch)), which brings what it parses",
          "move it below `\(drafts[fetch].name)`")
      }
    }
    if parsers.isEmpty, let answering {
      reportMissing(
        .parse, "nothing parses what \(named(answering)) brings",
        "add `- parse` below `\(drafts[answering].name)`")
    }
  }

  /// P009
  private mutating func checkStages() {
    let fetch = first(.fetch)
    let firstHTTP = drafts.indices.first {
      !stages($0).contains(.graphQL) && !stages($0).contains(.cache)
    }
    for index in drafts.indices where !hasOwnPlaceRule(index) {
      let isWrap = drafts[index].description.kind == .wrap
      if stages(index).contains(.graphQL), let firstHTTP, index > firstHTTP {
        if stages(index).contains(.http), index < fetch ?? .max { continue }
        let target = stages(index).contains(.http) ? fetch ?? firstHTTP : firstHTTP
        reportStage(index, .graphQL, "above", target)
      } else if stages(index) == [.http], isWrap {
        if let fetch, index > fetch { reportStage(index, .http, "above", fetch) }
        if let read = first(.cacheRead), index < read, read < fetch ?? .max {
          reportStage(index, .http, "below", read)
        }
      }
    }
  }

  /// Whether another rule says where the plugin belongs, and says it better.
  private func hasOwnPlaceRule(_ index: Int) -> Bool {
    !drafts[index].description.roles.isDisjoint(with: [.persistedQueries, .authenticates])
  }

  private func stages(_ index: Int) -> [PluginStage] { drafts[index].description.stages }

  private mutating func reportStage(
    _ index: Int, _ stage: PluginStage, _ side: String, _ other: Int
  ) {
    report(
      .stageOrder, index,
      "`\(drafts[index].name)` works in the \(stage.rawValue) stage "
        + "and belongs \(side) \(named(other))",
      "move it \(side) `\(drafts[other].name)`")
  }

  /// P013
  private mutating func checkCacheRead() {
    let reads = indices(.cacheRead)
    for index in reads.dropFirst() {
      report(
        .cacheRead, index, "a chain reads the cache once, and \(named(reads[0])) does already",
        "remove one of them")
    }
    guard let read = reads.first else { return }
    let name = drafts[read].name
    if let fetch = first(.fetch), read > fetch {
      report(
        .cacheRead, read,
        "`\(name)` stands below \(named(fetch)), so every request would go to the network",
        "move it above `\(drafts[fetch].name)`")
    }
    if store.kind == .none {
      report(
        .cacheRead, read, "`\(name)` has no store to read",
        "add `store: { kind: memory }` to the file")
    } else if store.kind == .memory, first(.cacheWrite) == nil, !hasUnknown {
      report(
        .cacheRead, read, "nothing ever fills the store that `\(name)` reads",
        "add `- cache-write` below the parser", severity: .warning)
    }
  }

  /// P012
  private mutating func checkCacheWrite() {
    let writes = indices(.cacheWrite)
    for index in writes.dropFirst() {
      report(
        .cacheWrite, index, "a chain writes the cache once, and \(named(writes[0])) does already",
        "remove one of them")
    }
    guard let write = writes.first else { return }
    let name = drafts[write].name
    if store.kind == .none {
      report(
        .cacheWrite, write, "`\(name)` has no store to write to",
        "add `store: { kind: memory }` to the file")
    }
    if let parse = first(.parse), write < parse {
      report(
        .cacheWrite, write,
        "`\(name)` stands above \(named(parse)), before there is anything to write",
        "move it below `\(drafts[parse].name)`")
    }
  }

  /// P014
  private mutating func checkPersistedQueries() {
    for index in indices(.persistedQueries) {
      let name = drafts[index].name
      if let read = first(.cacheRead), index < read {
        report(
          .persistedQueries, index,
          "`\(name)` stands above \(named(read)), "
            + "where its second attempt would read the cache again",
          "move it below `\(drafts[read].name)`")
      }
      guard let fetch = first(.fetch), index > fetch else { continue }
      if let parse = first(.parse), index > parse {
        report(
          .persistedQueries, index,
          "`\(name)` stands below \(named(parse)), its place in Apollo iOS 1.x; "
            + "here it surrounds the network",
          "move it above `\(drafts[fetch].name)`")
      } else {
        report(
          .persistedQueries, index,
          "`\(name)` stands below \(named(fetch)), too late to change what is sent",
          "move it above `\(drafts[fetch].name)`")
      }
    }
  }

  /// P016
  private mutating func checkResponseCode() {
    for index in indices(.responseCode) {
      let name = drafts[index].name
      if let answering, index < answering {
        report(
          .responseCode, index,
          "`\(name)` stands above \(named(answering)), before there is a response",
          "move it below `\(drafts[answering].name)`")
      } else if let parse = first(.parse), index > parse {
        report(
          .responseCode, index,
          "`\(name)` stands below \(named(parse)), when the response is parsed already",
          "move it above `\(drafts[parse].name)`")
      }
    }
  }

  /// P018
  private mutating func checkLogging() {
    for index in indices(.logsHeaders) {
      let headers = drafts[index].options.values.first { $0.name == "headers" }?.value
      guard case .bool(true)? = headers?.content,
        let changing = indices(.changesHeaders).last(where: { $0 > index })
      else { continue }
      report(
        .loggingPlace, index,
        "`\(drafts[index].name)` shows headers before \(named(changing)) changes them",
        "add another `\(drafts[index].name)` below `\(drafts[changing].name)`", severity: .warning)
    }
  }
}

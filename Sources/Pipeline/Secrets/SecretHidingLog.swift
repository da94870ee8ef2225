import Logging

/// A log handler that hides the known secrets of a run in every message.
struct SecretHidingLog: LogHandler {
  private var base: any LogHandler
  private let secrets: KnownSecrets

  init(_ base: any LogHandler, _ secrets: KnownSecrets) {
    self.base = base
    self.secrets = secrets
  }

  var logLevel: Logger.Level {
    get { base.logLevel }
    set { base.logLevel = newValue }
  }

  var metadata: Logger.Metadata {
    get { base.metadata }
    set { base.metadata = newValue }
  }

  var metadataProvider: Logger.MetadataProvider? {
    get { base.metadataProvider }
    set { base.metadataProvider = newValue }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { base[metadataKey: key] }
    set { base[metadataKey: key] = newValue }
  }

  func log(event: LogEvent) {
    let hiding = secrets.hiding
    var event = event
    event.message = Logger.Message(stringLiteral: hiding.text(event.message.description))
    event.error = event.error.map { hiding.error($0) }
    event.metadata = event.metadata?.mapValues { Self.hidden($0, hiding) }
    base.log(event: event)
  }

  private static func hidden(
    _ value: Logger.Metadata.Value, _ hiding: SecretHiding
  ) -> Logger.Metadata.Value {
    switch value {
    case .string(let text): .string(hiding.text(text))
    case .stringConvertible(let value): .string(hiding.text("\(value)"))
    case .array(let values): .array(values.map { hidden($0, hiding) })
    case .dictionary(let values): .dictionary(values.mapValues { hidden($0, hiding) })
    }
  }
}

public import GQLRunJSON
public import GQLRunPipeline
import GQLRunPlugins

/// The `run` section of a manifest.
public struct RunSettings: OptionSection {
  /// The order in which tasks of different operations start.
  public enum Order: String, CaseIterable, ExpressibleByOption {
    /// All tasks of an operation start before those of the next one.
    case declared
    /// The operations take turns.
    case interleaved
    /// As ``declared``, and the results are written in the order in which the tasks started: within
    /// an operation, in the order of its rows.
    case output
  }

  /// The limit of failures; the run stops when it is exceeded.
  public enum FailureLimit: Sendable, Equatable {
    /// The number of failed tasks.
    case count(Int)
    /// The share of failed tasks among the finished ones, from 0 to 1; checked once 100 tasks have
    /// finished.
    case share(Double)
  }

  /// The maximum number of tasks in flight; 16 by default.
  @Option(1...4096, "Maximum number of tasks in flight")
  public var concurrency = 16
  /// The order in which tasks start; operation by operation by default.
  @Option("One operation after the other, in turn, or with results in the order of the rows")
  public var order = Order.declared
  @Option("Number or percentage of failed tasks above which the run stops, such as 20 or 5%")
  var maxFailures: FailureLimit?
  @Option("Stop at the first failure")
  var failFast = false
  /// The time after the start of the run at which it stops starting tasks; `nil`, the default, for
  /// none.
  @Option(.milliseconds(1) ... .seconds(604_800), "Time after which no further task starts")
  public var deadline: Duration?
  @Option("Folders outside the manifest's whose files may be uploaded")
  var uploadFolders: [String] = []
  @Option(
    "Folder of the journals, or the URL of a PostgreSQL database for workers on several machines, such as "
      + "`postgres://host/database`", secrecy: .url)
  var journal = Self.defaultJournal
  /// How long the run continues while the server refuses every request; 5 minutes by default. If it is given, a
  /// pipeline tries no longer than that to connect a subscription again.
  @Option(
    .zero ... .seconds(86_400), "How long the run continues while the server refuses every request")
  public var patience = Duration.seconds(300)

  /// The folder of the journals without the option.
  static let defaultJournal = "runs"

  /// Creates settings with the defaults.
  public init() {}

  /// The limit of failures; `nil`, the default, for none.
  public var failureLimit: FailureLimit? { failFast ? .count(0) : maxFailures }
  /// The folder of the journals; `runs` in the manifest's folder by default.
  public var journalFolder: String {
    get { journal }
    set { journal = newValue }
  }
}

extension RunSettings.FailureLimit: ExpressibleByOption {
  /// A text: a number or a percentage.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .string }
  /// The value before the option is read.
  public static var unsetOption: Self { .count(0) }
  /// The limit as manifests write it.
  public var optionDefault: JSONValue? {
    switch self {
    case .count(let count): .string("\(count)")
    case .share(let share): Percentage(fraction: share).optionDefault
    }
  }

  /// Parses a number or a percentage.
  ///
  /// - Throws: `OptionError` for any other text.
  public init(option: GivenOption) throws(OptionError) {
    let text = try String(option: option)
    if let count = Int(text), count >= 0 {
      self = .count(count)
    } else if text.hasSuffix("%"), let share = Double(text.dropLast()), (0...100).contains(share) {
      self = .share(share / 100)
    } else {
      throw OptionError("`\(text)` is not a count or a percentage", remedy: "write `20` or `5%`")
    }
  }
}

/// The `rate_limit` section of a manifest.
struct RateSettings: OptionSection {
  @Option("Requests per second, minute or hour, such as 50/s, 600/m or 5000/h")
  var rate: RequestRate?
  @Option(1...100_000, "Number of requests that may start at once after a pause") var burst = 1
  @Option("Format in which the server reports its remaining budget")
  var adapter: RequestBudget.Kind?
  @Option("Share of the server's budget that is left to other clients")
  var reserve = Percentage(fraction: 0)

  /// Requests per second; `nil` if only the server's budget limits the rate.
  var perSecond: Double? { rate?.perSecond }

  func validate() throws(OptionError) {
    guard $rate.isGiven || $adapter.isGiven else {
      throw OptionError("no limit is set", remedy: "add `rate: 50/s`")
    }
  }
}

/// A number of requests per time: `50/s`.
struct RequestRate: TextOption {
  static let noun = "a number of requests per time"
  static let remedy = "write `50/s`, `600/m` or `5000/h`"
  static let code = PipelineDiagnostic.Code.wrongValue
  static var unsetOption: RequestRate { RequestRate(perSecond: 1, description: "1/s") }

  var perSecond: Double
  var description: String
}

extension RequestRate {
  /// Parses `50/s`, `600/m` or `5000/h`. Returns `nil` for other text.
  init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    let units: [Substring: Double] = ["s": 1, "m": 60, "h": 3600]
    guard parts.count == 2, let count = Double(parts[0]), let unit = units[parts[1]],
      (1e-5...1e6).contains(count / unit)
    else { return nil }
    self.init(perSecond: count / unit, description: text)
  }
}

/// The report files of a run; `nil` for a report that is not written.
public struct ReportSettings: OptionSection {
  /// The path of the JUnit XML report.
  @Option("JUnit XML file") public var junit: String?
  /// The path of the HTML report.
  @Option("HTML page without external files") public var html: String?
  /// The path of the JSON report.
  @Option("JSON file with the figures") public var json: String?

  var paths: [String] { [junit, html, json].compactMap { $0 } }

  /// Creates settings without reports.
  public init() {}
}

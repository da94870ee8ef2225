public import GQLRunJSON
import GQLRunLanguage

/// A test that stands in a pipeline file: operations, what the server answers, and what is to come of
/// it.
public struct PipelineTest: Sendable {
  public var name: String
  /// Where its name stands.
  public var place: SourcePlace
  /// The text of the document; `nil` asks for what the first answer with data has.
  public var document: String?
  public var documentFile: String?
  public var operation: String?
  public var variables: JSONObject
  public var policy: CachePolicy?
  public var context: [String: String]
  /// What the source of a token gives, one after the other; the last one again and again.
  public var tokens: [String]
  /// How many operations run at a time.
  public var concurrent: Int
  /// How often they run, one after the other.
  public var rounds: Int
  public var upstream: [Answer]
  public var expectations: [Expectation]

  /// What the server answers to the requests it is for.
  public struct Answer: Sendable {
    public var condition: Condition
    /// The most requests it is for; `nil` is any number.
    public var times: Int?
    public var status: Int
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]
    /// Whether the body is JSON.
    public var isJSON: Bool
    public var delay: Duration
    public var failure: Failure?
  }

  public struct Condition: Sendable {
    public var bearer: String?
    public var operations: [String]
    public var headers: [(name: String, value: String)]
    public var attempt: Int?
    public var method: String?
    public var hasDocument: Bool?
  }

  /// What happens in place of an answer.
  public enum Failure: String, Sendable, CaseIterable {
    case refused, closed, dropped, unresolved, tls
  }

  /// One thing that is to come of a test.
  public struct Expectation: Sendable {
    public var place: SourcePlace
    public var what: What

    public enum What: Sendable {
      /// So many operations have a result without errors.
      case succeeded(Int)
      case failed(Int)
      /// So many requests reach the server.
      case requests(Int)
      /// The most attempts of an operation.
      case attempts(Int)
      /// So often a token was fetched after the first.
      case refreshes(Int)
      case source(GraphQLResponse.Source)
      case data(JSONValue)
      /// The code of the first failure, or of the first error in a result.
      case error(String)
      /// A part of what the first failure says.
      case message(String)
      /// How often an entry of the chain was passed.
      case passes(entry: String, Int)
      /// The longest time, on the test's own clock.
      case within(Duration)
    }
  }
}

public import GQLRunJSON
import GQLRunLanguage

/// A test in a pipeline file: operations, the answers of a scripted server, and expectations.
public struct PipelineTest: Sendable {
  /// The name of the test.
  public var name: String
  /// The source location of the name.
  public var location: FileLocation
  /// The text of the document; `nil` queries the fields of the first answer that has data.
  public var document: String?
  /// The path of a file with the document; used if ``document`` is `nil`.
  public var documentFile: String?
  /// The name of the operation; `nil` if the document has only one.
  public var operation: String?
  /// The variables of the operation.
  public var variables: JSONObject
  /// The cache policy; `nil` uses that of the chain.
  public var policy: CachePolicy?
  /// The values of `${context:…}`.
  public var context: [String: String]
  /// The tokens that the token source returns, in order; the last one is repeated.
  public var tokens: [String]
  /// The number of concurrent operations. 1 by default.
  public var concurrent: Int
  /// The number of rounds, one after the other. 1 by default.
  public var rounds: Int
  /// The answers of the server; the first one that matches a request is sent.
  public var upstream: [Answer]
  /// The expectations.
  public var expectations: [Expectation]

  /// An answer of the server, with the condition for requests that it answers.
  public struct Answer: Sendable {
    /// The requests that it answers.
    public var condition: Condition
    /// The most requests that it answers; `nil` has no limit.
    public var times: Int?
    /// The status code.
    public var status: Int
    /// The header fields.
    public var headers: [(name: String, value: String)]
    /// The bytes of the body.
    public var body: [UInt8]
    /// Whether the body is JSON.
    public var isJSON: Bool
    /// The delay of the answer, on the test's clock.
    public var delay: Duration
    /// The failure in place of an answer; `nil` answers.
    public var failure: Failure?
  }

  /// Selects requests; a request must match all parts that are set.
  public struct Condition: Sendable {
    /// The bearer token of the field `Authorization`.
    public var bearer: String?
    /// The names of operations; empty for all.
    public var operations: [String]
    /// The header fields of the request; the value `*` matches any value.
    public var headers: [(name: String, value: String)]
    /// The attempt, from 1.
    public var attempt: Int?
    /// The HTTP method.
    public var method: String?
    /// Whether the request contains the document.
    public var hasDocument: Bool?
  }

  /// A failure in place of an answer.
  public enum Failure: String, Sendable, CaseIterable {
    /// The connection is refused, closed before the answer, or dropped in the body; the name does
    /// not resolve; TLS fails.
    case refused, closed, dropped, unresolved, tls
  }

  /// An expectation of a test.
  public struct Expectation: Sendable {
    /// Its source location.
    public var location: FileLocation
    /// The kind of expectation, with the expected value.
    public var kind: Kind

    /// The kinds of expectations.
    public enum Kind: Sendable {
      /// The number of operations with a result without errors.
      case succeeded(Int)
      /// The number of operations that failed or have errors.
      case failed(Int)
      /// The number of requests that the server receives.
      case requests(Int)
      /// The most attempts of any operation.
      case attempts(Int)
      /// The number of token renewals.
      case refreshes(Int)
      /// The source of the last result.
      case source(GraphQLResponse.Source)
      /// The data of the last result.
      case data(JSONValue)
      /// The code of the first failure, or of the first error in a result.
      case error(String)
      /// A part of the message of the first failure.
      case message(String)
      /// The number of calls of a chain's entry.
      case passes(entry: String, Int)
      /// The time limit, on the test's clock.
      case within(Duration)
    }
  }
}

public import GQLRunJSON

/// The payload of `connection_init`, with which a client introduces itself to a server over WebSocket.
///
/// Its texts are templates, which are filled in for each connection.
public struct ConnectionParameters: Sendable, Hashable {
  private indirect enum Node: Sendable, Hashable {
    case value(JSONValue)
    case text(Template)
    case list([Node])
    case object([Member])
  }

  private struct Member: Sendable, Hashable {
    var name: String
    var value: Node
  }

  private let node: Node

  /// Creates parameters that are the same for all requests.
  public init(_ value: JSONObject) { node = .value(.object(value)) }

  private static func node(_ option: OptionValue) -> Node {
    switch option.content {
    case .template(let template): .text(template)
    case .list(let elements): .list(elements.map(node))
    case .map(let entries): .object(entries.map { Member(name: $0.name, value: node($0.value)) })
    case .json(let value): .value(value)
    default: .value(.null)
    }
  }

  /// The JSON text for a request.
  func json(for request: GraphQLRequest) throws(ChainError) -> [UInt8] {
    do throws(Template.MissingValue) {
      return try Self.value(node, request.context).jsonBytes()
    } catch {
      throw ChainError(
        .request, .invalidRequest, "`connection_params` of `endpoint` have no value: \(error)",
        delivery: .notSent)
    }
  }

  private static func value(
    _ node: Node, _ context: RequestContext
  ) throws(Template.MissingValue) -> JSONValue {
    switch node {
    case .value(let value): return value
    case .text(let template): return .string(try template.text { context.named[$0] })
    case .list(let elements):
      var values: [JSONValue] = []
      for element in elements { values.append(try value(element, context)) }
      return .array(values)
    case .object(let members):
      var object = JSONObject()
      for member in members { object[member.name] = try value(member.value, context) }
      return .object(object)
    }
  }
}

extension ConnectionParameters: ExpressibleByOption {
  /// A mapping of any values, whose texts are templates.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .map(.jsonTemplate) }
  /// An empty mapping.
  public static var unsetOption: ConnectionParameters { ConnectionParameters([:]) }
  /// `nil`: parameters have no default.
  public var optionDefaultText: String? { nil }

  /// Creates parameters from an option.
  public init(option: OptionValue) { node = Self.node(option) }
}

public import GQLRunPipeline
import HTTPTypes

/// Sets, adds, defaults and removes the fields of HTTP requests.
public struct HeadersPlugin: Plugin {
  public static let description = PluginDescription(
    name: "headers",
    summary: "Sets, adds, defaults and removes the fields of HTTP requests",
    kind: .wrap, stages: [.http], roles: [.changesHeaders],
    options: [
      OptionDescription(
        "set", .map(.template), secrecy: .secretHeaders,
        "Fields that replace those of the same name"),
      OptionDescription(
        "add", .map(.template), secrecy: .secretHeaders,
        "Fields that stand beside those of the same name"),
      OptionDescription(
        "default", .map(.template), secrecy: .secretHeaders,
        "Fields that are sent unless there is one of the same name"),
      OptionDescription("remove", .list(.string), "Names of fields that are not sent"),
    ],
    examples: [
      #"headers: { set: { X-Client: "gqlrun" }, remove: [Accept-Language] }"#,
      #"headers: { default: { X-Tenant: "${context:tenant:-none}" } }"#,
    ])

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    try .http(
      HeadersInterceptor(
        removed: options.strings("remove").map { name throws(PluginOptionError) in
          try field(name, "remove")
        },
        set: fields(options, "set"), added: fields(options, "add"),
        defaults: fields(options, "default")))
  }

  private static func fields(
    _ options: PluginOptions, _ option: String
  ) throws(PluginOptionError) -> [HeadersInterceptor.Field] {
    var fields: [HeadersInterceptor.Field] = []
    for (name, value) in options.templateMap(option) {
      fields.append(.init(name: try field(name, "\(option).\(name)"), value: value))
    }
    return fields
  }

  private static func field(
    _ name: String, _ option: String
  ) throws(PluginOptionError) -> HTTPField.Name {
    guard let field = HTTPField.Name(name) else {
      throw PluginOptionError(
        option: option, "`\(name)` is not the name of an HTTP field",
        remedy: "use letters, digits and hyphens")
    }
    return field
  }
}

private struct HeadersInterceptor: HTTPInterceptor {
  struct Field: Sendable {
    var name: HTTPField.Name
    var value: Template
  }

  let removed: [HTTPField.Name]
  let set: [Field]
  let added: [Field]
  let defaults: [Field]

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    var request = request
    for name in removed { request.head.headerFields[fields: name] = [] }
    for field in set { request.head.headerFields[field.name] = try text(field, context) }
    for field in added {
      request.head.headerFields.append(
        HTTPField(name: field.name, value: try text(field, context)))
    }
    for field in defaults where !request.head.headerFields.contains(field.name) {
      request.head.headerFields[field.name] = try text(field, context)
    }
    return try await next(request)
  }

  private func text(_ field: Field, _ context: ChainContext) throws -> String {
    let value: String
    do {
      value = try field.value.text { context.values.named[$0] }
    } catch {
      throw ChainError(
        .request, .invalidRequest, "the field \(field.name) cannot be filled: \(error)",
        place: context.entryID)
    }
    guard HTTPField.isValidValue(value) else {
      throw ChainError(
        .request, .invalidRequest,
        "the value of the field \(field.name) has characters that HTTP forbids, such as line ends",
        place: context.entryID)
    }
    return value
  }
}

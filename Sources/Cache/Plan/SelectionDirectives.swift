import GQLRunJSON
package import GQLRunLanguage

/// The meaning of the directives of fields and fragments, with variables applied.
struct SelectionDirectives {
  let variables: JSONObject
  /// Each `@defer` and `@stream` that applies, as messages call it.
  private(set) var deliveries: [String] = []

  /// https://spec.graphql.org/September2025/#sec--include
  func isIncluded(_ directives: [Directive]) throws(CacheError) -> Bool {
    for directive in directives {
      switch directive.name.value {
      case "skip": if try condition(of: directive) { return false }
      case "include": if try !condition(of: directive) { return false }
      default: continue
      }
    }
    return true
  }

  /// The number of a `@defer` or `@stream` that applies, in ``deliveries``; -1 without one.
  ///
  /// https://github.com/graphql/graphql-spec/pull/1110
  ///
  /// - Parameter name: What messages call it if it has no label: the name of the fragment, `on User` for an inline
  ///   fragment, or the response key of the field.
  mutating func delivery(
    _ directiveName: String, _ directives: [Directive], of name: String
  ) throws(CacheError) -> Int32 {
    guard let directive = directives.first(where: { $0.name.value == directiveName }),
      try condition(of: directive, default: true)
    else { return -1 }
    var label: String?
    switch directive.value(of: "label") {
    case nil, .null: break
    case .string(let text): label = text.value
    default:
      throw CacheError(
        .invalidOperation,
        "the label of @\(directiveName) must be a string without variables, such as "
          + "@\(directiveName)(label: \"details\")", location: directive.location)
    }
    deliveries.append(label ?? name)
    return Int32(deliveries.count - 1)
  }

  private func condition(
    of directive: Directive, default standard: Bool? = nil
  ) throws(CacheError) -> Bool {
    let location = "\(directive.location.line):\(directive.location.column)"
    switch directive.value(of: "if") {
    case .boolean(let flag, _): return flag
    case .variable(let name):
      if case .boolean(let flag)? = variables[name.value] { return flag }
      if let standard, variables[name.value] == nil { return standard }
      throw CacheError(
        .invalidVariables,
        "\(location): @\(directive.name.value) requires the Boolean variable \"$\(name.value)\"")
    case nil where standard != nil: return standard ?? true
    default:
      throw CacheError(
        .invalidOperation,
        "\(location): @\(directive.name.value) requires an argument \"if\" of type Boolean")
    }
  }
}

extension PreparedOperation {
  /// Whether the operation has a `@defer` or `@stream` that applies with its variables.
  package var hasDeferredParts: Bool { !plan.deliveries.isEmpty }
}

extension OperationTemplate {
  /// Rejects `@defer` and `@stream` that cannot work, before anything is sent.
  static func refuseUnknownDelivery(
    _ operation: OperationDefinition, document: Document, schema: Schema?
  ) throws(CacheError) {
    for name in ["defer", "stream"] {
      guard let location = document.location(ofDirective: name) else { continue }
      if operation.type == .subscription {
        throw CacheError(
          .invalidOperation,
          "@\(name) has no meaning in a subscription, whose results are events; remove it",
          location: location)
      }
      if let schema, schema.directive(named: name) == nil {
        throw CacheError(
          .invalidOperation,
          "the schema does not define @\(name), so the server would refuse the operation; remove the "
            + "directive, or fetch the schema again if the server knows it by now",
          location: location)
      }
    }
  }
}

extension Document {
  /// Where a directive with this name is first applied to a fragment or field.
  package func location(ofDirective name: String) -> SourceLocation? {
    var first: SourceLocation?
    for definition in definitions {
      definition.selectionSet?.forEachSelection { selection in
        first = first ?? selection.directives.first { $0.name.value == name }?.location
      }
    }
    return first
  }
}

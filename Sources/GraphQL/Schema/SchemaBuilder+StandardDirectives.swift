extension SchemaBuilder {
  /// Issues with the arguments of the standard directives that the schema uses.
  func standardDirectiveIssues() -> [SchemaError.Issue] {
    var issues: [SchemaError.Issue] = []
    func check(_ applied: [Directive]) {
      for directive in applied {
        let expected: (argument: String, isRequired: Bool)
        switch directive.name.value {
        case "deprecated": expected = ("reason", false)
        case "specifiedBy": expected = ("url", true)
        default: continue
        }
        for argument in directive.arguments where argument.name.value == expected.argument {
          switch argument.value {
          case .string: continue
          case .null where !expected.isRequired: continue
          case .null:
            issues.append(
              SchemaError.Issue(
                message:
                  "Argument '\(expected.argument)' of non-null type 'String!' must not be null.",
                location: argument.value.location))
          default:
            issues.append(
              SchemaError.Issue(
                message: "Argument '\(expected.argument)' has invalid value "
                  + "\(argument.value.printed()).",
                location: argument.value.location))
          }
        }
      }
    }
    for type in types.values {
      switch type {
      case .scalar(let scalar): check(scalar.directives)
      case .object, .interface:
        for field in type.fields ?? NamedList([]) {
          check(field.directives)
          for argument in field.arguments { check(argument.directives) }
        }
      case .enumeration(let enumeration):
        for value in enumeration.values { check(value.directives) }
      case .inputObject(let input): for field in input.fields { check(field.directives) }
      case .union: break
      }
    }
    for directive in directives.values {
      for argument in directive.arguments { check(argument.directives) }
    }
    return issues
  }
}

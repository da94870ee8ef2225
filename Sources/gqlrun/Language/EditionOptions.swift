public import ArgumentParser
public import GQLRunLanguage

extension Edition: ExpressibleByArgument {
  /// The edition of a year: `2025`.
  public init?(argument: String) {
    guard let edition = Int(argument).flatMap(Edition.init(rawValue:)) else { return nil }
    self = edition
  }

  /// The years.
  public static var allValueStrings: [String] { allCases.map { "\($0.rawValue)" } }

  /// The year.
  public var defaultValueDescription: String { "\(rawValue)" }
}

/// The option for the edition of the specification.
struct EditionOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Edition of the GraphQL specification: schemas and documents with a newer construct are errors.",
      valueName: "year"))
  var edition = Edition.newest
}

/// The version of a file format; only 1 exists.
package struct FormatVersion: ExpressibleByOption {
  package static func optionType(in range: ClosedRange<Never>?) -> OptionType { .int() }
  package static var unsetOption: FormatVersion { FormatVersion() }
  package var optionDefaultText: String? { "1" }

  private init() {}

  package init(option: OptionValue) throws(OptionError) {
    let version = try Int(option: option)
    guard version == 1 else {
      throw OptionError(
        "this gqlrun reads version 1",
        remedy: version > 1 ? "a newer gqlrun may read it" : "write `version: 1`")
    }
  }
}

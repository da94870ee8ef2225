extension OptionDescription {
  /// The option as help lists it: name, type, default and summary, then the options of its group.
  ///
  /// - Parameter indent: The spaces in front of the first line.
  public func lines(indent: String) -> [String] {
    var remarks: [String] = []
    if isRequired { remarks.append("required") }
    if let text = defaultText, text != "{}" {
      remarks.append("default \(text.isEmpty ? "empty" : text)")
    }
    if secrecy == .secret { remarks.append("secret") }
    let suffix = remarks.isEmpty ? "" : " (\(remarks.joined(separator: ", ")))"
    let own = ["\(indent)\(name): \(type.name)\(suffix)", "\(indent)    \(summary)"]
    guard case .object(let inner) = type else { return own }
    return own + inner.options.flatMap { $0.lines(indent: indent + "    ") }
  }
}

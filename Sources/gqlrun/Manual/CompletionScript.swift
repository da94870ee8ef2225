import Foundation

/// The completion scripts of `completions/`, which the program prints itself.
///
/// swift-argument-parser prints scripts of its own for this option; see
/// docs/decisions/0033-completions-manual-and-guides.md.
enum CompletionScript {
  private static let option = "--generate-completion-script"

  /// The script that a command line asks for; `nil` if it asks for none.
  ///
  /// - Parameters:
  ///   - arguments: The arguments of the program.
  ///   - login: The path of the user's shell, for an option without a shell.
  /// - Throws: ``Failure`` if there is no script for the shell.
  static func requested(by arguments: [String], login: String?) throws -> String? {
    let words = arguments.prefix { $0 != "--" }
    guard let index = words.firstIndex(where: { $0 == option || $0.hasPrefix(option + "=") }) else {
      return nil
    }
    let shell =
      words[index] == option
      ? words.dropFirst(index + 1).first ?? login.map { ($0 as NSString).lastPathComponent }
      : String(words[index].dropFirst(option.count + 1))
    guard let script = files.first(where: { $0.shell == shell }) else {
      let shells = files.map(\.shell).joined(separator: ", ")
      throw Failure(
        .usage,
        (shell.map { "there is no completion script for \"\($0)\"" } ?? "the shell is unknown")
          + "; write \(option) with one of \(shells)")
    }
    return script.text
  }
}

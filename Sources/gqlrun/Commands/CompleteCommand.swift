import ArgumentParser
import Foundation
import GQLRunPipeline
import GQLRunSupport

/// Prints what can follow on a command line, for the scripts in `completions/`.
struct CompleteCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "complete",
    abstract: "Print the completions of a command line, one per line.",
    shouldDisplay: false)

  @Argument(help: "Command line up to the cursor.")
  var line: String

  func run() throws {
    let words = ShellWords(line).words.dropFirst().dropLast()
    let offers = Completion(line: line, program: try .of(RootCommand.self, along: words)).offers
    try Terminal.write(offers.map { $0.line + "\n" }.joined())
  }
}

/// Writes the manual pages, for `make install`.
struct ManualCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manual",
    abstract: "Write a manual page of each command into a folder.",
    shouldDisplay: false)

  @Argument(help: "Folder to write to; it is created.")
  var folder: String

  func run() throws {
    try SystemIO.createFolder(folder)
    for page in ManualPage.pages(of: try .of(RootCommand.self), date: Self.date) {
      try AtomicFile.write(
        Array(page.text.utf8), to: "\(folder)/\(page.name).1", permissions: 0o644)
    }
  }

  /// Today, or the date of `SOURCE_DATE_EPOCH` (https://reproducible-builds.org/specs/source-date-epoch).
  private static var date: String {
    let epoch = Services.environment("SOURCE_DATE_EPOCH").flatMap(TimeInterval.init)
    return (epoch.map(Date.init(timeIntervalSince1970:)) ?? Date())
      .formatted(.iso8601.year().month().day())
  }
}

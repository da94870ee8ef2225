import ArgumentParser
import Foundation
import GQLRunGenerator
import GQLRunSupport

struct GenerateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "generate",
    abstract: "Generate Swift types from operations.",
    discussion: """
      Writes a Swift file for each operation and fragment, and one for the enums, input objects and \
      scalars that they use. The target that compiles them depends on the product GQLRunTyped.

      Options that are not given are those of `extensions.gqlrun` in the nearest graphql.config.yml, \
      where they are written with underscores: output, access, fields, enum_cases, scalars, imports, \
      schema_module, schema_output, conformances, manifest, edition.

      A comment above an operation or fragment adds conformances: `# gqlrun: hashable, identifiable, \
      codable`. Above a field with one fragment and nothing else, `# gqlrun: flatten` gives it the type \
      of the fragment.

      Deletes only files that it has generated. Exit code 1 if a document is invalid, or with --check \
      if a file is not up to date.

      EXAMPLES
        gqlrun generate --schema schema.graphql \\
          --documents 'operations/**/*.graphql' --output Generated
        gqlrun generate --check
        gqlrun generate --check --edition 2025
        gqlrun generate --watch
      """)

  @OptionGroup var settings: GenerateOptions
  @OptionGroup var projectOptions: ProjectOptions

  @Flag(help: "Write nothing; print the differences, and fail if there are any.")
  var check = false

  @Flag(help: "Generate again whenever a schema or document changes, until interrupted.")
  var watch = false

  func validate() throws {
    guard !(check && watch) else {
      throw ValidationError("--check and --watch exclude each other; leave one out")
    }
  }

  func run() async throws {
    guard watch else { return try generate() }
    try await Interruption.run { try await generateOnChanges() }
  }

  private func generate() throws {
    let plans = try settings.plans(of: projectOptions)
    guard settings.pipeline == nil || plans.contains(where: { $0.manifest != nil }) else {
      throw Failure(.usage, "--pipeline needs --manifest, whose ids it determines")
    }
    var count = 0
    for plan in plans {
      let files = try plan.files()
      let number = Quantity.count(files.texts.count, "file")
      if check {
        let differences = try files.differences()
        count += differences.count
        if differences.isEmpty {
          Terminal.note("\(plan.output): \(number), up to date")
        } else {
          try Terminal.write(differences.joined())
        }
      } else {
        let changes = try files.write()
        Terminal.note("\(plan.output): \(number), \(changes) changed")
      }
    }
    guard count == 0 else {
      throw Failure(
        .failed,
        "\(count) generated file\(count == 1 ? " is" : "s are") not up to date; run gqlrun generate"
      )
    }
  }

  /// Generates, then again after every change of the files; errors are printed and do not end it.
  private func generateOnChanges() async throws {
    var before: [String]?
    while !Task.isCancelled {
      let state = (try? settings.plans(of: projectOptions).flatMap(\.inputs).map(Self.state)) ?? []
      if state != before {
        before = state
        do {
          try generate()
        } catch {
          let failure = Failure(describing: error)
          if !failure.message.isEmpty { Terminal.error(failure.message) }
        }
      }
      try await Task.sleep(for: .milliseconds(300))
    }
  }

  /// The name, size and time of a file, which change with its text; of a link, those of the file that it leads to.
  private static func state(of path: String) -> String {
    guard let status = FilePath.status(of: path) else { return path }
    return "\(path) \(status.st_size) \(status.st_mtim.tv_sec) \(status.st_mtim.tv_nsec)"
  }
}

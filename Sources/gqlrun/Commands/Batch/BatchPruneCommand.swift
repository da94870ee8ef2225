import ArgumentParser
import GQLRunBatch
import GQLRunSupport

extension BatchCommand {
  struct Prune: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "prune",
      abstract: "Remove files that earlier runs left and that no later run needs.",
      discussion: """
        Removes journals other than the newest one (of each shard) with their lock files, unfinished \
        outputs (NAME.part) that no run continues, and temporary files of interrupted writes. \
        Results, reports, the state file and the list of earlier outputs remain, and so does what \
        --resume needs, except with --force. Files that a run is using are never removed. \
        `batch diff` needs two journals: run it before.

        EXAMPLES
          gqlrun batch prune nightly.batch.yaml --dry-run
          gqlrun batch prune nightly.batch.yaml
        """)

    @OptionGroup var source: ManifestOptions

    @Flag(help: "Remove nothing; list the files and their sizes.")
    var dryRun = false

    @Flag(help: "Also remove what --resume needs: the newest journal and its outputs.")
    var force = false

    func run() async throws {
      let manifest = try source.load().manifest
      let leftovers = try source.describingErrors {
        var leftovers = try RunLeftovers(manifest, includingNewest: force)
        if !dryRun { try leftovers.remove() }
        return leftovers
      }
      for file in leftovers.files {
        try Terminal.write("\(Terminal.safe(file.path))  \(Quantity.size(file.bytes))\n")
      }
      let count = Quantity.count(leftovers.files.count, "file")
      let size = Quantity.size(leftovers.bytes)
      Terminal.note("\(dryRun ? "would remove" : "removed") \(count), \(size)")
      let reason = force ? "a run is using it" : "--resume needs it"
      for journal in leftovers.keptJournals {
        Terminal.note("kept \(Terminal.safe(journal)): \(reason)")
      }
    }
  }
}

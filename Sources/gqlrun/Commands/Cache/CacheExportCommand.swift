import ArgumentParser
import Foundation
import GQLRunCache
import GQLRunSupport

extension CacheCommand {
  struct Export: AsyncParsableCommand {
    enum Format: String, ExpressibleByArgument, CaseIterable {
      case ndjson, sqlite
    }

    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Write the whole cache to a file: as JSON lines, or as a compact database.",
      discussion: """
        If the name ends in .db, .sqlite or .sqlite3, writes a database without free space, which \
        gqlrun and every SQLite tool can open; otherwise writes the dump, one JSON object per record \
        and line. The file appears when it is complete.

        EXAMPLES
          gqlrun cache export cache.ndjson --store sqlite:cache.db
          gqlrun cache export backup.db --store sqlite:cache.db
        """)

    @Argument(help: "File to write.")
    var file: String
    @OptionGroup var storeOptions: StoreOptions
    @Option(
      help: ArgumentHelp(
        "Format; overrides the one given by the file name.", valueName: "ndjson|sqlite"))
    var format: Format?
    @Flag(name: [.long, .customLong("overwrite")], help: "Replace an existing file.")
    var force = false

    func run() async throws {
      guard !file.isEmpty else { throw Failure(.usage, "the name of the file is empty") }
      try await storeOptions.openExisting().close { store in
        try check()
        switch format ?? (StoreChoice.namesDatabase(file.lowercased()) ? .sqlite : .ndjson) {
        case .ndjson: try await dump(store)
        case .sqlite: try await copy(store)
        }
      }
    }

    /// The files that may be replaced.
    private var form: OutputForm { force ? .anything : .new }

    /// Refuses to overwrite the cache itself.
    private func check() throws {
      guard let target = FilePath.status(of: file), target.st_mode & S_IFMT == S_IFREG,
        case .sqlite(let path) = storeOptions.store
      else { return }
      let own = ["", "-wal", "-shm", "-lock"].compactMap { FilePath.status(of: path + $0) }
      if own.contains(where: { $0.st_ino == target.st_ino && $0.st_dev == target.st_dev }) {
        throw Failure(.usage, "\(file) is the cache itself; name another file")
      }
    }

    private func dump(_ store: CacheStore) async throws {
      let output = Locked(try OutputFile(file, replacing: form, isPrivate: true))
      let count = Locked(0)
      try await store.dump { bytes in
        count.withLock { $0 += bytes.count }
        let copy = Array(bytes)
        try output.withLock { file in try copy.withUnsafeBytes { try file.write($0) } }
      }
      try output.withLock { try $0.finish() }
      Terminal.note("wrote \(Quantity.count(count.withLock { $0 }, "byte")) to \(file)")
    }

    private func copy(_ store: CacheStore) async throws {
      guard case .sqlite = storeOptions.store else {
        throw Failure(
          .usage, "only a file can be copied as a database; name it with --store sqlite:PATH")
      }
      for log in ["-wal", "-journal"].map({ FilePath.real(file) + $0 })
      where FilePath.size(of: log) > 0 {
        throw Failure(
          .failed,
          "cannot write \(file): SQLite would apply \(log) to it, the log of a database that is open or was not "
            + "closed; choose another name, or end that program and remove both files")
      }
      let output = try OutputFile(file, replacing: form, isPrivate: true)
      guard let part = output.incompletePath else {
        throw Failure(
          .failed, "cannot write \(file): a database is a regular file; choose another name")
      }
      // SQLite accepts an existing empty file.
      try await store.copy(to: part)
      try output.finish()
      Terminal.note("wrote \(Quantity.count(FilePath.size(of: file), "byte")) to \(file)")
    }
  }
}

import Foundation
import GQLRunJSON
import GRDB
import Testing

@testable import GQLRunBatch

@Suite("Files of a journal")
struct JournalFilesTests {
  private let folder: Place
  private var path: String { folder.file("a.journal") }

  init() throws { folder = try Place() }

  private func hasLog(_ name: String) -> Bool {
    folder.exists(name + "-wal") || folder.exists(name + "-shm")
  }

  @Test("a reader leaves no files, and does not remove those of a run")
  func readers() throws {
    let run = try Journal(path: path)
    try run.set(["total": "7"])
    let during = try Journal(path: path, isReadOnly: true)
    #expect(try during.meta("total") == "7")
    #expect(throws: StoppedByStorage.self) {
      try during.write { try $0.execute(sql: "DELETE FROM meta") }
    }
    during.close()
    #expect(hasLog("a.journal"))
    run.close()
    #expect(!hasLog("a.journal"))
    let after = try Journal(path: path, isReadOnly: true)
    #expect(try after.meta("total") == "7")
    after.close()
    #expect(!hasLog("a.journal"))
  }

  @Test("the newest journal of a folder is the one that was written last, also behind a link")
  func newest() throws {
    let link = folder.file("link.journal")
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: folder.file("linked"))
    func expect(_ path: String, afterWriting name: String, at seconds: Double) throws {
      try folder.write("", to: name)
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: seconds)],
        ofItemAtPath: folder.file(name))
      #expect(RunSnapshot.newestJournal(in: folder.path) == path, "\(name)")
    }
    try expect(link, afterWriting: "linked", at: 1)
    try expect(folder.file("new.journal"), afterWriting: "new.journal", at: 3)
    try expect(folder.file("new.journal"), afterWriting: "old.journal", at: 2)
    try expect(link, afterWriting: "linked-wal", at: 4)
  }

  @Test("a reader reads and removes the log of a run that was killed")
  func killed() throws {
    let run = try Journal(path: path)
    try run.set(["total": "7"])
    for end in ["", "-wal", "-shm"] {
      try FileManager.default.copyItem(
        atPath: path + end, toPath: folder.file("killed.journal" + end))
    }
    run.close()
    for _ in 0..<2 {
      let reader = try Journal(path: folder.file("killed.journal"), isReadOnly: true)
      #expect(try reader.meta("total") == "7")
      reader.close()
      #expect(!hasLog("killed.journal"))
    }
  }

  @Test(
    "a state file, a list of outputs or a folder of journals that cannot be read is not a missing one"
  )
  func unreadable() throws {
    let state = folder.file("state.json")
    #expect(try StateFile.read(state).isEmpty)
    // A folder cannot be read as a file.
    try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
    let stateError = #expect(throws: JournalError.self) { try StateFile.read(state) }
    #expect(stateError?.description == "cannot read \(state): Is a directory")

    try folder.write(Bench.ids(1), to: "ids.csv")
    let manifest = try Bench.load(
      "version: 1\nsinks: [{ ndjson: { path: o.ndjson } }]\noperations:\n\(Bench.users)", in: folder
    )
    let journals = JournalFolder(manifest)
    #expect(try journals.all() == [])
    try FileManager.default.createDirectory(
      atPath: journals.ledgerPath, withIntermediateDirectories: true)
    #expect(throws: JournalError.self) { try OutputLedger(manifest) }
    let runs = manifest.settings.journalFolder
    try FileManager.default.removeItem(atPath: runs)
    try Data([1]).write(to: URL(fileURLWithPath: runs))
    let error = #expect(throws: JournalError.self) { try journals.all() }
    #expect(error?.description == "cannot read the folder \(runs): Not a directory")
  }

  @Test("a journal of a clock that shows a time before 1970 has the first time of names")
  func earlyClock() throws {
    try folder.write(Bench.ids(1), to: "ids.csv")
    let sinks = "sinks: [{ ndjson: { path: o.ndjson } }]"
    let manifest = try Bench.load(
      "version: 1\n\(sinks)\noperations:\n\(Bench.users)", in: folder)
    let journals = JournalFolder(manifest)
    for end in ["000", "001"] {
      let journal = try journals.open(resumes: false, at: -0.5)
      journal.close()
      #expect(journal.path.hasSuffix("-19700101-000000-\(end).journal"), "\(journal.path)")
    }
  }

  @Test("a reader does not create a journal")
  func missing() {
    #expect(throws: JournalError.self) { try Journal(path: path, isReadOnly: true) }
    #expect(!folder.exists("a.journal"))
  }

  @Test(
    "a value that does not have the type of its column is an error with the path of the journal",
    arguments: [
      ("tasks", "id"), ("tasks", "key"), ("tasks", "state"), ("tasks", "bytes"), ("tasks", "ended"),
      ("captures", "data"), ("bookmarks", "data"), ("sinks", "position"), ("outputs", "takes"),
      ("gaps", "since"), ("operations", "id"),
    ])
  func damaged(table: String, column: String) throws {
    try write()
    // A copy has no constraints, which damage does not keep, either.
    try folder.execute(
      """
      CREATE TABLE copy AS SELECT * FROM \(table);
      DROP TABLE \(table);
      ALTER TABLE copy RENAME TO \(table);
      UPDATE \(table) SET \(column) = NULL;
      """, in: path)
    let error = #expect(throws: JournalError.self) {
      let journal = try Journal(path: path, isReadOnly: true)
      defer { journal.close() }
      _ = try (journal.operationNames(), journal.sinks(), journal.outputs(), journal.bookmarks())
      _ = try journal.captures(operation: 1, after: nil, limit: 1)
      _ = try ReportData(journal, name: "a", file: "a.yaml")
    }
    #expect(error?.description.contains("\(path) is damaged") == true)
  }

  @Test("numbers that are too large to be added or compared are limited")
  func largeNumbers() throws {
    try write()
    let journal = try Journal(path: path)
    try journal.write {
      try $0.execute(sql: "UPDATE tasks SET bytes = \(Int.max), records = -1, ended = 9e999")
      try $0.execute(sql: "UPDATE sinks SET records = \(Int.max), position = \(Int.max)")
      try $0.execute(sql: "UPDATE outputs SET records = \(Int.max), step = \(Int.max)")
    }
    let sink = try #require(try journal.sinks()["o.ndjson"])
    #expect(sink.records == 1 << 40 && sink.position == 1 << 60)
    #expect(try journal.outputs().map { [$0.counts.records, $0.step] } == [[1 << 40, 1 << 40]])
    let data = try ReportData(journal, name: "a", file: "a.yaml")
    #expect(data.bytes == 2 << 40 && data.records == 0 && data.seconds == 0)
    journal.close()
  }

  /// Writes a journal with a row in each table, and two tasks.
  private func write() throws {
    let journal = try Journal(path: path)
    _ = try journal.register(["users"])
    try journal.register([OutputRecord(path: "o.ndjson", format: "ndjson")])
    var step = JournalStep()
    for number in 1...2 {
      let id = TaskID(repeatElement(UInt8(number), count: 16))
      step.add(TaskUpdate(id: id, operation: 1, key: "k\(number)", state: .done, ended: 1))
    }
    step.captures = [(1, "k1", "{}")]
    step.bookmarks = ["since": (1, 7)]
    step.sinks = [SinkPosition(path: "o.ndjson", position: 1, records: 1)]
    step.gaps = [EventGap(operation: 1, key: "k1", events: 1, since: 1, until: 2)]
    try journal.record(step)
    journal.close()
  }
}

import Foundation
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// Databases damaged at random: whatever is read from them was true once, or is missing, or the error is
/// clear. `make torture` damages 2,000; `GQLRUN_DAMAGED` says how many, `GQLRUN_DAMAGED_FROM` with
/// which seed to begin.
@Suite("Damaged databases")
struct DamagedDatabasesTests {
  private static let count = number("GQLRUN_DAMAGED") ?? 24
  private static let first = number("GQLRUN_DAMAGED_FROM") ?? 0

  private static func number(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
  }

  private struct Verdicts {
    var right = 0, missing = 0, refused = 0, rebuilt = 0

    var text: String {
      "\(right) read back right, \(missing) with something missing, \(refused) refused with a clear "
        + "error, \(rebuilt) set aside and started again"
    }
  }

  /// A database with its log as a crash would leave them, or closed well.
  private struct Original {
    var database: Data
    var log: Data?
    /// Every line a dump may have.
    var truth: Set<Substring>
  }

  @Test("never crash the reader, and never give a wrong value")
  func manyDatabases() async throws {
    let originals = [
      try await Self.original(isClosed: true), try await Self.original(isClosed: false),
    ]
    var verdicts = Verdicts()
    for seed in Self.first..<(Self.first + Self.count) {
      try await Self.examine(originals[seed % 2], seed, &verdicts)
    }
    print("damaged databases: \(Self.count) in all; \(verdicts.text)")
    #expect(verdicts.right + verdicts.missing + verdicts.refused == Self.count)
  }

  private static func original(isClosed: Bool) async throws -> Original {
    let file = try DamagedFile()
    let store = try file.open()
    var truth: Set<Substring> = []
    for version in ["old", "new"] {
      try await file.write(version, to: store)
      truth.formUnion(try await dump(store).split(separator: "\n"))
      if version == "old" { try await store.checkpoint() }
    }
    if isClosed { try store.close() } else { try file.leaveAsAfterACrash(store) }
    let log = try? Data(contentsOf: URL(fileURLWithPath: file.path + "-wal"))
    return Original(
      database: try Data(contentsOf: URL(fileURLWithPath: file.path)), log: log, truth: truth)
  }

  private static func examine(
    _ original: Original, _ seed: Int, _ verdicts: inout Verdicts
  ) async throws {
    var random = SeededRandom(UInt64(seed))
    let file = try DamagedFile()
    var (database, log) = (original.database, original.log)
    if log != nil, random.chance(50) {
      log = damaged(log ?? Data(), &random)
    } else {
      database = damaged(database, &random)
    }
    try database.write(to: URL(fileURLWithPath: file.path))
    try log?.write(to: URL(fileURLWithPath: file.path + "-wal"))

    let notices = Notices()
    do {
      let store = try file.open(notices)
      let isWhole = try await holds(store, original, seed)
      // It is of use again, whatever was found: a write goes through, or says why not, and is right.
      do {
        try await file.write("next", to: store)
        let answer = try await file.read(store)
        let isRight = answer == DamagedFile.data("next") || answer.hasPrefix("miss at ")
        #expect(isRight, "seed \(seed): a wrong answer after writing")
      } catch let error as CacheError {
        #expect(error.isStoreFailure, "seed \(seed): \(error)")
      }
      try store.close()
      if isWhole { verdicts.right += 1 } else { verdicts.missing += 1 }
    } catch let error as CacheError {
      let isClear = error.isStoreFailure || error.code == .foreignDatabase
      #expect(isClear && !error.message.isEmpty, "seed \(seed): \(error)")
      verdicts.refused += 1
      return
    }
    if notices.codes.contains(.rebuilt) { verdicts.rebuilt += 1 }
    // After damage was met, the next opening settles it.
    do {
      let again = try file.open(notices)
      try await file.write("last", to: again)
      #expect(
        try await file.read(again) == DamagedFile.data("last"), "seed \(seed): the next opening")
      try again.close()
    } catch let error as CacheError {
      #expect(error.isStoreFailure, "seed \(seed): \(error)")
    }
  }

  /// Compares everything that can be read with the truth; returns whether nothing is missing.
  private static func holds(_ store: SQLiteStore, _ original: Original, _ seed: Int) async throws
    -> Bool
  {
    var isWhole = true
    do {
      let answer = try await CacheUnderTest(store: store).read(DamagedFile.document)
      if answer != DamagedFile.data("new") {
        isWhole = false
        let isOlder = answer == DamagedFile.data("old")
        let isMixed = answer.hasPrefix("miss at ") || Self.isMixedTruth(answer)
        #expect(isOlder || isMixed, "seed \(seed): a wrong answer")
      }
      let lines = try await dump(store).split(separator: "\n")
      let wrong = lines.filter { !isTrue($0, original.truth) }
      #expect(wrong.isEmpty, "seed \(seed): \(wrong.first?.prefix(300) ?? "")")
    } catch let error as CacheError {
      #expect(error.isStoreFailure, "seed \(seed): \(error)")
      isWhole = false
    }
    return isWhole
  }

  /// A root line lacks what is missing; every other line stood in a dump.
  private static func isTrue(_ line: Substring, _ truth: Set<Substring>) -> Bool {
    truth.contains(line) || line.hasPrefix(#"{"key":"QUERY_ROOT""#) && isMixedTruth(String(line))
  }

  /// Records and segments of two responses, each true: a log that ends early after a checkpoint was begun.
  private static func isMixedTruth(_ text: String) -> Bool {
    let names = text.matches(of: /"(?:name|x)":"(\w+) (\d+)-*"/)
    return names.allSatisfy { $0.1 == "old" || $0.1 == "new" }
  }

  private static func damaged(_ data: Data, _ random: inout SeededRandom) -> Data {
    var data = data
    guard data.count > 200 else { return data }
    // The header says whose file it is; with it gone the file is refused, which is known.
    let start = random.chance(5) ? 0 : 100
    switch random.upTo(5) {
    case 0:
      for _ in 0...random.upTo(20) {
        let offset = start + random.upTo(data.count - start)
        data[offset] ^= 1 << UInt8(random.upTo(8))
      }
    case 1:
      data = data.prefix(start + random.upTo(data.count - start))
    case 2:
      for _ in 0...random.upTo(3) {
        let page = random.upTo(data.count / 16384)
        let from = max(page * 16384, start)
        data.replaceSubrange(
          from..<min((page + 1) * 16384, data.count),
          with: [UInt8](
            repeating: 0, count: min((page + 1) * 16384, data.count) - from))
      }
    case 3:
      let offset = start + random.upTo(data.count - start)
      let length = min(1 + random.upTo(5000), data.count - offset)
      let noise = (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      data.replaceSubrange(offset..<(offset + length), with: noise)
    default:
      // A page replaced by another.
      let pages = data.count / 16384
      guard pages > 3 else { return data }
      let (a, b) = (1 + random.upTo(pages - 1), 1 + random.upTo(pages - 1))
      let page = data.subdata(in: (a * 16384)..<((a + 1) * 16384))
      data.replaceSubrange((b * 16384)..<((b + 1) * 16384), with: page)
    }
    return data
  }
}

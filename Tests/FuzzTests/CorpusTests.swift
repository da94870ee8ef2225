import Foundation
import GQLRunSupport
import GQLRunTestSupport
import Testing

/// The fuzz targets with the inputs of the repository, so that the tests cover them without libFuzzer.
@Suite("Corpora of the fuzz targets", .serialized, .timeLimit(.minutes(10)))
struct CorpusTests {
  private static let folder = Repository.root + "/Tests/Fuzz/corpus"

  @Test("every target holds for its inputs", arguments: FuzzTarget.all.map(\.name))
  func inputs(name: String) async throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let files = try FileManager.default.contentsOfDirectory(atPath: "\(Self.folder)/\(name)")
    #expect(!files.isEmpty)
    for file in files.sorted() {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(Self.folder)/\(name)/\(file)"))
      // A target waits for its asynchronous code, which must not keep a thread from other tests.
      try await DispatchQueue.global().run {
        try Array(bytes).withUnsafeBufferPointer { try target.run(FuzzInput($0)) }
      }
    }
  }

  @Test("every corpus has a target")
  func targets() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.folder)
    #expect(folders.sorted() == FuzzTarget.all.map(\.name).sorted())
  }
}

extension SeededRandom {
  /// Begins an execution; here, all decisions follow from seeds.
  static func draw(from bytes: ArraySlice<UInt8>) {}
}

import GQLRunJSON
import Testing

@Suite(
  "JSONTestSuite",
  .enabled(
    if: !ConformanceFiles.all.isEmpty, "no files in \(ConformanceFiles.folder)"))
struct ConformanceTests {
  @Test("has all 318 files")
  func completeness() {
    #expect(ConformanceFiles.all.count == 318)
  }

  @Test(
    "accepts and rejects the conformance files, in one chunk and byte by byte",
    arguments: ConformanceFiles.all)
  func verdict(_ file: ConformanceFiles.File) {
    let whole = read(file.bytes)
    #expect((whole.error == nil) == ConformanceFiles.isAccepted(file.name), "\(whole.error as Any)")
    #expect(read(file.bytes, .every(1)).agrees(with: whole))
    var small = JSONParser.Options(minimumPiece: 1)
    #expect(read(file.bytes, .every(1), options: small).agrees(with: whole))
    for seed in 0..<20 {
      let cuts = Cuts.random(seed: UInt64(seed))
      #expect(read(file.bytes, cuts, options: small).agrees(with: whole))
      small.slice = seed + 1
      #expect(read(file.bytes, cuts, options: small).agrees(with: whole))
    }
  }

  @Test(
    "accepts and rejects the short conformance files, split at every byte",
    arguments: ConformanceFiles.all)
  func cutOnce(_ file: ConformanceFiles.File) {
    guard file.bytes.count < 300 else { return }
    let whole = read(file.bytes)
    let small = JSONParser.Options(minimumPiece: 1)
    for position in 0...file.bytes.count {
      #expect(
        read(file.bytes, .at(position), options: small).agrees(with: whole), "cut at \(position)")
    }
  }
}

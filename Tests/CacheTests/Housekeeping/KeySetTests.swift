import Testing

@testable import GQLRunCache

@Suite("Key sets")
struct KeySetTests {
  @Test("a set contains the keys that were inserted, each once, and no others")
  func keys() {
    func key(_ number: Int) -> [UInt8] { Array("Post:\(number)".utf8) }
    var set = KeySet()
    let count = 50_000
    let isEmpty = !(0..<count).contains { key($0).withBytes { set.contains($0) } }
    let new = (0..<count).filter { key($0).withBytes { set.insert($0) } }.count
    let again = (0..<count).filter { key($0).withBytes { set.insert($0) } }.count
    let found = (0..<2 * count).filter { key($0).withBytes { set.contains($0) } }
    #expect(isEmpty && new == count && again == 0)
    #expect(found.count == count && found.last == count - 1)
  }
}

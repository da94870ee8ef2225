import Foundation
import GQLRunCache
import GQLRunJSON
import Testing

@testable import GQLRunProfile

@Suite("Response shape")
struct ShapeTests {
  private func shape(
    _ text: String, keys: [String: [String]] = [:], piece: Int = 7
  ) throws -> ShapeReport {
    let state = ShapeState(KeyRules(types: keys))
    var reader = try JSONEventReader(state)
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: piece) {
      try bytes[start..<min(start + piece, bytes.count)].withUnsafeBytes { try reader.feed($0) }
    }
    try reader.finish()
    return state.report
  }

  @Test("counts the bytes of compact JSON, without white space")
  func bytes() throws {
    let compact = #"{"data":{"a":[1,2,null],"b":"xyz","c":true,"d":{}}}"#
    let spaced = #"{ "data" : { "a" : [ 1 , 2 , null ] , "b" : "xyz" , "c" : true , "d" : { } } }"#
    #expect(try shape(compact).bytes == compact.utf8.count)
    #expect(try shape(spaced).bytes == compact.utf8.count)
    #expect(try shape(compact).nulls == 1)
    #expect(try shape(compact).values == 5)
    #expect(try shape(compact).depth == 3)
  }

  @Test("counts repeated entities and their bytes")
  func repeats() throws {
    let user = #"{"__typename":"User","id":"1","name":"Ada"}"#
    let report = try shape(#"{"data":{"a":\#(user),"b":\#(user),"c":\#(user)}}"#)
    #expect(report.identified == 3)
    #expect(report.distinct == 1)
    #expect(report.repeatedBytes == 2 * user.utf8.count)
    #expect(report.types.first?.name == "User")
    #expect(report.types.first?.distinct == 1)
    #expect(report.types.first?.objects == 3)
    #expect(!report.isEstimated)
  }

  @Test("a nested entity counts once, for its own type")
  func nested() throws {
    let user = #"{"__typename":"User","id":"1","name":"Ada"}"#
    let post = #"{"__typename":"Post","id":"1","author":\#(user)}"#
    let report = try shape(#"{"data":{"post":\#(post)}}"#)
    let bytes = Dictionary(uniqueKeysWithValues: report.types.map { ($0.name, $0.bytes) })
    #expect(bytes["User"] == user.utf8.count)
    #expect(bytes["Post"] == post.utf8.count - user.utf8.count)
    #expect(report.distinct == 2)
  }

  @Test("records are identified by the key fields of their type, and the type name may come last")
  func keyFields() throws {
    let report = try shape(
      #"{"data":{"l":[{"code":"DE","__typename":"Country"},{"code":"DE","__typename":"Country"}]}}"#,
      keys: ["Country": ["code"]])
    #expect(report.distinct == 1)
    #expect(report.identified == 2)
    #expect(report.paths.first { $0.path == "data.l" }?.longestList == 2)
  }

  @Test("predicts cache hits of this response and of others")
  func cachePrediction() throws {
    let author = #"{"__typename":"User","id":"1","name":"n"}"#
    let report = try shape(
      #"{"data":{"l":[{"by":\#(author)},{"by":\#(author)},{"by":\#(author)},{"by":\#(author)}]}}"#)
    #expect(report.hitShare == 0.75)
    #expect(report.types.first?.hitShare == 0.75)
    #expect(report.identifiedBytes == 4 * author.utf8.count)
    #expect(report.cachePrediction.hasPrefix("cache: 75.0 % of the objects"))
    #expect(try shape(#"{"data":{"a":1}}"#).hitShare == nil)
    #expect(try shape(#"{"data":{"a":1}}"#).cachePrediction.contains("no object has an identity"))
  }

  @Test("the string size median is weighted by bytes")
  func middleString() throws {
    let long = String(repeating: "x", count: 1000)
    #expect(try shape(#"{"data":{"a":"b","c":"\#(long)","d":"e"}}"#).middleString == 512)
    #expect(try shape(#"{"data":{"a":1}}"#).middleString == nil)
  }

  @Test("names the path with the most bytes")
  func positions() throws {
    let long = String(repeating: "x", count: 1000)
    let report = try shape(#"{"data":{"posts":[{"body":"\#(long)"},{"body":"\#(long)"}]}}"#)
    let largest = report.paths.max { $0.ownBytes < $1.ownBytes }
    #expect(largest?.path == "data.posts.body")
    #expect(largest?.bytes == 2 * 1002)
    #expect(report.advice.contains { $0.hasPrefix("data.posts.body alone is 9") })
  }

  @Test("keys that are data do not grow without bound")
  func keysThatAreData() throws {
    let members = (0..<30_000).map { #""k\#($0)":1"# }.joined(separator: ",")
    let report = try shape(#"{"data":{\#(members)}}"#, piece: 64 << 10)
    #expect(report.values == 30_000)
    #expect(report.paths.count <= 500)
  }

  @Test("the largest record is found, with its key and path")
  func largestRecord() throws {
    let report = try shape(
      #"{"data":{"a":{"__typename":"A","id":"7","text":"long long long"},"b":{"__typename":"B","id":"1"}}}"#
    )
    #expect(report.largestRecords.first?.key == "A:7")
    #expect(report.largestRecords.first?.path == "data.a")
  }

  @Test("invalid JSON is an error with its offset")
  func notJSON() throws {
    #expect(throws: JSONError.self) { try shape("<html>") }
    #expect(throws: JSONError.self) { try shape(#"{"data":"#) }
  }
}

import GQLRunPipeline
import GQLRunSupport
import Testing

@Suite("The body of a response")
struct HTTPBodyTests {
  private func bytes(_ body: HTTPBody) async throws -> [[UInt8]] {
    var chunks: [[UInt8]] = []
    for try await chunk in body { chunks.append(chunk.withUnsafeBytes { Array($0) }) }
    return chunks
  }

  @Test("comes chunk by chunk, from whatever sequence has it")
  func sources() async throws {
    #expect(try await bytes(HTTPBody([[1, 2], [3][...], []])) == [[1, 2], [3], []])
    let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
    continuation.yield([1])
    continuation.yield([2])
    continuation.finish()
    #expect(try await bytes(HTTPBody(stream)) == [[1], [2]])
  }

  @Test("is read once")
  func once() async throws {
    let body = HTTPBody([[1], [2]])
    var iterator = body.makeAsyncIterator()
    _ = try await iterator.next()
    #expect(try await bytes(body) == [[2]])
    #expect(try await bytes(body) == [])
  }

  @Test("can be transformed and read")
  func mapping() async throws {
    let doubled: HTTPBody = HTTPBody([[1], [2]]).map { chunk in
      chunk.withUnsafeBytes { $0.map { $0 * 2 } }
    }
    #expect(try await bytes(doubled) == [[2], [4]])
    #expect(try await HTTPBody([[1, 2], [3, 4]]).prefix(3) == [1, 2, 3])
    #expect(try await HTTPBody([[1, 2]]).prefix(9) == [1, 2])
  }

  @Test("notes its chunks, whether they are read at once or awaited")
  func noting() async throws {
    let noted = Locked<[Int]>([])
    let body = HTTPBody(ready: { [1] as [UInt8] }, pull: { [2, 3] as [UInt8] })
      .noting { chunk in noted.withLock { $0.append(chunk.count) } }
    #expect(body.takeReady()?.count == 1)
    #expect(try await body.next()?.count == 2)
    #expect(noted.withLock { $0 } == [1, 2])
    #expect(HTTPBody([[1]]).noting { _ in }.takeReady() == nil)
  }

  @Test("ends with the error of its source")
  func errors() async throws {
    struct Broken: Error {}
    let stream = AsyncThrowingStream<[UInt8], any Error> {
      $0.yield([1])
      $0.finish(throwing: Broken())
    }
    await #expect(throws: Broken.self) { _ = try await bytes(HTTPBody(stream)) }
  }
}

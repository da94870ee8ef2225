import GQLRunJSON
import GQLRunPipeline

/// Answers the requests of rows `U_1`, `U_2`, … and decides which of them wait for later ones.
final class RowTransport: HTTPTransport {
  typealias Answer = @Sendable (_ row: Int, _ request: Int) async throws -> HTTPResponseMessage?

  private let answer: Answer
  private let log: RequestLog

  /// - Parameters:
  ///   - waits: The row whose request must arrive before a row is answered; `nil` to answer at
  ///     once.
  ///   - answer: The response to a row's request, the first of which has number 1; `nil` for the
  ///     user.
  init(
    waits: @escaping @Sendable (_ row: Int) -> Int? = { _ in nil },
    answer: @escaping Answer = { _, _ in nil }
  ) {
    log = RequestLog(waits)
    self.answer = answer
  }

  /// Loses the connection after the requests of some rows were sent, and answers others with an error.
  convenience init(lost: Set<Int>, failing: Set<Int> = [], message: String = "no") {
    self.init(answer: { row, _ in
      if lost.contains(row) { throw ChainError.lostConnection }
      return failing.contains(row) ? .errors(message) : nil
    })
  }

  /// The rows of the requests, in the order of their arrival.
  var arrived: [Int] { get async { await log.arrived } }

  /// The rows whose request arrived before a row that had to be answered first.
  ///
  /// - Parameter window: A row must be answered before the request of the row that is this much
  ///   later.
  func early(window: Int) async -> [Int] { await log.early(window: window) }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let body = try JSONValue(parsing: request.body ?? [])
    let id = body["variables"]?["id"]?.stringValue ?? ""
    let row = Int(id.dropFirst(2)) ?? 0
    let number = await log.arrive(row)
    let given = try await answer(row, number)
    await log.end(row)
    return given ?? .data(#"{"user":{"id":"\#(id)","login":"u\#(row)"}}"#)
  }
}

private actor RequestLog {
  private let waits: @Sendable (Int) -> Int?
  private(set) var arrived: [Int] = []
  private var answered: Set<Int> = []
  /// The rows that were not answered when a request arrived, by index in `arrived`.
  private var open: [Set<Int>] = []
  private var waiting: [(row: Int, continuation: CheckedContinuation<Void, Never>)] = []

  init(_ waits: @escaping @Sendable (Int) -> Int?) { self.waits = waits }

  /// Records a request and returns its number when it may be answered.
  func arrive(_ row: Int) async -> Int {
    open.append(Set(1...max(row, 1)).subtracting(answered))
    arrived.append(row)
    let number = arrived.count
    for waiter in waiting where waiter.row == row { waiter.continuation.resume() }
    waiting.removeAll { $0.row == row }
    if let awaited = waits(row), !arrived.contains(awaited) {
      await withCheckedContinuation { waiting.append((awaited, $0)) }
    }
    return number
  }

  func end(_ row: Int) { answered.insert(row) }

  func early(window: Int) -> [Int] {
    zip(arrived, open).filter { row, open in open.contains { $0 <= row - window } }.map(\.0)
  }
}

import GQLRunPipeline
import GQLRunSupport
import HTTPTypes

/// The operations that wait for others to be sent with.
actor BatchQueue {
  private struct Waiting {
    var number: Int
    var members: [BatchMember]
    var next: NextHTTP
    var timer: Task<Void, Never>?
  }

  private let window: Duration
  private let most: Int
  /// By the heads of the requests: method, URL and header fields.
  private var waiting: [HTTPRequest: Waiting] = [:]
  private var batches = 0

  init(window: Duration, most: Int) {
    self.window = window
    self.most = most
  }

  /// Adds an operation to the batch of its kind, which is sent when it is full or the window ends.
  ///
  /// - Parameters:
  ///   - kind: What is equal for all operations of a batch.
  ///   - next: Sends the batch, if the operation is its first.
  func add(
    _ member: BatchMember, _ kind: HTTPRequest, _ services: Services,
    next: NextHTTP, noteRefusal: @escaping @Sendable () -> Void
  ) {
    if waiting[kind] == nil {
      batches += 1
      let number = batches
      waiting[kind] = Waiting(number: number, members: [], next: next)
      let (clock, window) = (services.clock, window)
      waiting[kind]?.timer = Task {
        guard (try? await clock.sleep(for: window)) != nil else { return }
        self.send(kind, number, services, noteRefusal)
      }
    }
    waiting[kind]?.members.append(member)
    guard let batch = waiting[kind], batch.members.count == most else { return }
    batch.timer?.cancel()
    send(kind, batch.number, services, noteRefusal)
  }

  private func send(
    _ kind: HTTPRequest, _ number: Int, _ services: Services,
    _ noteRefusal: @escaping @Sendable () -> Void
  ) {
    guard let batch = waiting[kind], batch.number == number else { return }
    waiting[kind] = nil
    let members = batch.members.filter { !$0.hasLeft }
    guard members.count > 1 else {
      for member in members { member.give(.alone) }
      return
    }
    let exchange = BatchExchange(
      members: members, next: batch.next, logger: services.logger, noteRefusal: noteRefusal)
    let task = Task { @concurrent in await exchange.run() }
    // The exchange is cancelled when no operation reads its response any more.
    let rest = Locked(members.count)
    for member in members {
      member.onLeave {
        let left = rest.withLock { rest in
          rest -= 1
          return rest
        }
        if left == 0 { task.cancel() }
      }
    }
  }
}

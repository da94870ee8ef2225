import GQLRunPipeline
import GQLRunSupport

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
  private var waiting: [BatchMember.Kind: Waiting] = [:]
  private var batches = 0

  init(window: Duration, most: Int) {
    self.window = window
    self.most = most
  }

  /// Adds an operation to the batch of its kind, which is sent when it is full or the window ends.
  ///
  /// - Parameters:
  ///   - support: Whether the endpoint accepts several operations in one request.
  ///   - next: Sends the batch, if the operation is its first.
  func add(_ member: BatchMember, support: ArraySupport, services: Services, next: NextHTTP) {
    let kind = member.kind
    if waiting[kind] == nil {
      batches += 1
      let number = batches
      waiting[kind] = Waiting(number: number, members: [], next: next)
      let (clock, window) = (services.clock, window)
      waiting[kind]?.timer = Task {
        guard (try? await clock.sleep(for: window)) != nil else { return }
        self.send(kind, number: number, support: support, services: services)
      }
    }
    waiting[kind]?.members.append(member)
    guard let batch = waiting[kind], batch.members.count == most else { return }
    batch.timer?.cancel()
    send(kind, number: batch.number, support: support, services: services)
  }

  private func send(
    _ kind: BatchMember.Kind, number: Int, support: ArraySupport, services: Services
  ) {
    guard let batch = waiting[kind], batch.number == number else { return }
    waiting[kind] = nil
    let members = batch.members.filter { !$0.hasLeft }
    guard members.count > 1 else {
      for member in members { member.give(.alone) }
      return
    }
    let exchange = BatchExchange(
      members: members, next: batch.next, logger: services.logger, support: support)
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

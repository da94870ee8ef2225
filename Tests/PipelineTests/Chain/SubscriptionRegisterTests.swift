import Testing

@testable import GQLRunPipeline

/// How many subscriptions begin to connect at a time.
@Suite(.timeLimit(.minutes(10))) struct SubscriptionRegisterTests {
  private let register = SubscriptionRegister()

  /// Subscriptions that have begun, as many as may begin at a time.
  private func fill() async -> [SubscriptionHandle] {
    var handles: [SubscriptionHandle] = []
    for _ in 0..<SubscriptionRegister.maxBeginning {
      handles.append(SubscriptionHandle(register))
      await handles.last?.connect()
    }
    return handles
  }

  /// A subscription that waits.
  private func waiting() async -> (SubscriptionHandle, Task<Void, Never>) {
    let count = register.waitingCount
    let handle = SubscriptionHandle(register)
    let task = Task { await handle.connect() }
    while register.waitingCount == count { await Task.yield() }
    return (handle, task)
  }

  private let most = SubscriptionRegister.maxBeginning

  @Test func `others wait, and begin in their order`() async {
    let handles = await fill()
    let (second, secondTask) = await waiting()
    let (third, thirdTask) = await waiting()
    #expect(register.beginningCount == most)
    handles[0].connected(nil)
    await secondTask.value
    #expect(register.beginningCount == most && register.waitingCount == 1)
    second.end()
    await thirdTask.value
    #expect(register.beginningCount == most && register.waitingCount == 0)
    third.end()
    for handle in handles { handle.end() }
    #expect(register.beginningCount == 0)
  }

  @Test(arguments: 0..<4) func `each end of a beginning lets another one begin`(_ way: Int) async {
    let handles = await fill()
    let (other, task) = await waiting()
    switch way {
    case 0: handles[7].connected(nil)
    case 1: handles[7].wait(until: 1, after: CancellationError())
    case 2: handles[7].delivered()
    default: handles[7].end()
    }
    await task.value
    #expect(register.beginningCount == most)
    // Twice is no other end.
    handles[7].delivered()
    #expect(register.beginningCount == most)
    withExtendedLifetime((handles, other)) {}
  }

  @Test func `one that begins again leaves its turn first`() async {
    let handles = await fill()
    await handles[0].connect()
    #expect(register.beginningCount == most)
    withExtendedLifetime(handles) {}
  }

  @Test func `one that waits can be cancelled, and keeps no turn`() async {
    let handles = await fill()
    let (cancelled, cancelledTask) = await waiting()
    let (other, task) = await waiting()
    cancelledTask.cancel()
    await cancelledTask.value
    #expect(register.waitingCount == 1)
    handles[0].end()
    await task.value
    #expect(register.beginningCount == most && register.waitingCount == 0)
    withExtendedLifetime((handles, cancelled, other)) {}
  }

  @Test func `paused subscriptions begin with the resumption, not before`() async {
    let handles = await fill()
    register.pause()
    let (other, task) = await waiting()
    handles[0].end()
    #expect(register.waitingCount == 1)
    register.resume()
    await task.value
    #expect(register.beginningCount == most)
    withExtendedLifetime((handles, other)) {}
  }
}

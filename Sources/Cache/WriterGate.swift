/// Lets one transaction at a time into a store; the others wait in order.
actor WriterGate {
  private var isTaken = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func acquire() async {
    if !isTaken {
      isTaken = true
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  func release() {
    if waiting.isEmpty {
      isTaken = false
    } else {
      waiting.removeFirst().resume()
    }
  }
}

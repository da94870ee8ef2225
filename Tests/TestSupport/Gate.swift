/// Suspends callers until it is opened.
package actor Gate {
  private var isOpen = false
  private var arrivals = 0
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

  package init() {}

  package func pass() async {
    arrivals += 1
    for watcher in watchers where watcher.count <= arrivals { watcher.continuation.resume() }
    watchers.removeAll { $0.count <= arrivals }
    if !isOpen { await withCheckedContinuation { waiting.append($0) } }
  }

  /// Waits until so many have come.
  package func arrival(_ count: Int) async {
    if arrivals < count { await withCheckedContinuation { watchers.append((count, $0)) } }
  }

  package func open() {
    isOpen = true
    for continuation in waiting { continuation.resume() }
    waiting = []
  }
}

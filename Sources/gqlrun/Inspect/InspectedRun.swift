import Foundation
import GQLRunBatch
import GQLRunJSON
import GQLRunSupport

/// The run of a batch, followed through its journal, which is only read.
struct InspectedRun: Sendable {
  /// A journal, or a folder whose newest journal is shown.
  let path: String

  /// The shortest time between two reads of the journal.
  private static let interval = Duration.milliseconds(500)

  /// The state of the run at first, and whenever it has changed.
  func events(holding entry: OpenRequests.Entry) -> AsyncThrowingStream<[UInt8], any Error> {
    let shown = Locked<(value: JSONValue?, pause: Duration)>((nil, .zero))
    return AsyncThrowingStream { [self] in
      defer { withExtendedLifetime(entry) {} }
      while true {
        try await Task.sleep(for: shown.withLock { $0.pause })
        let start = ContinuousClock.now
        let value = try await DispatchQueue.global().run { snapshot }
        // Reading takes long for a large run; it must not slow down its writer.
        let pause = max(Self.interval, (ContinuousClock.now - start) * 4)
        let hasChanged = shown.withLock { shown in
          defer { shown = (value, pause) }
          return shown.value != value
        }
        if hasChanged { return InspectServer.event("run", value) }
      }
    }
  }

  private var snapshot: JSONValue {
    do {
      let isFolder = FilePath.isFolder(path)
      guard let journal = isFolder ? RunSnapshot.newestJournal(in: path) : path else {
        return ["error": "there is no journal yet"]
      }
      return .object(try RunSnapshot.json(journal: journal))
    } catch {
      return ["error": .string(Failure(describing: error).message)]
    }
  }
}

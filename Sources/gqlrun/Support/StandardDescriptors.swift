import Foundation
import GQLRunBatch

/// Standard input, output and error as the program finds them.
enum StandardDescriptors {
  /// Call before anything is opened.
  ///
  /// A descriptor that was closed (`>&-`) would be given to the next file, and what is meant for
  /// standard output would be written into the cache. `/dev/null` takes its place, opened so that
  /// using it fails as a closed descriptor does.
  static func prepare() {
    for (descriptor, flags) in [(Int32(0), O_WRONLY), (1, O_RDONLY), (2, O_WRONLY)]
    where fcntl(descriptor, F_GETFD) < 0 {
      let opened = open("/dev/null", flags)
      if opened >= 0, opened != descriptor {
        dup2(opened, descriptor)
        close(opened)
      }
    }
    // A reader that has gone is noticed by the failing write, whatever the libraries do.
    signal(SIGPIPE, SIG_IGN)
    // A file that meets a size limit (`ulimit -f`) makes a write fail, and need not end the program.
    signal(SIGXFSZ, SIG_IGN)
  }

  /// Asks for more open files where shells allow very few, and says so where there are none to be had:
  /// the event loops, three for each processor, cannot be made without them.
  static func expectRoom() throws(Failure) {
    let needed = 12 + 3 * ProcessInfo.processInfo.activeProcessorCount
    guard let few = OpenFiles.left(), few < needed else { return }
    OpenFiles.raiseLimit()
    guard let left = OpenFiles.left(), left < needed else { return }
    throw Failure(
      .failed,
      "this process may open no more than \(left) files, and needs \(needed) at least; "
        + "raise the limit of open files (ulimit -n 256)")
  }
}

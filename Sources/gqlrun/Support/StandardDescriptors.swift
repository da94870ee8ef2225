import Foundation
import GQLRunBatch

/// Prepares the standard input, output and error that the program inherits.
enum StandardDescriptors {
  /// Opens closed standard descriptors. Call before opening any file.
  ///
  /// The next file to be opened would get a descriptor that was closed (`>&-`), and results meant
  /// for standard output would be written to the cache. Opens `/dev/null` instead, in a mode in
  /// which its use fails like that of a closed descriptor.
  static func prepare() {
    for (descriptor, flags) in [(Int32(0), O_WRONLY), (1, O_RDONLY), (2, O_WRONLY)]
    where fcntl(descriptor, F_GETFD) < 0 {
      let opened = open("/dev/null", flags)
      if opened >= 0, opened != descriptor {
        dup2(opened, descriptor)
        close(opened)
      }
    }
    // Failing writes report closed pipes, whatever libraries do.
    signal(SIGPIPE, SIG_IGN)
    // Exceeding a file size limit (`ulimit -f`) makes a write fail instead of ending the program.
    signal(SIGXFSZ, SIG_IGN)
  }

  /// Raises the limit of open files if it is too low for the event loops, three per processor.
  /// Throws if that is not possible.
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

package import Foundation

/// The files that a program which is started would inherit.
package enum InheritedFiles {
  /// Closes everything but standard input, output and error in the program to be started.
  ///
  /// Not every library marks its sockets and files to be closed: a plugin's program would keep a
  /// connection or a listening port open after us. Call it after the actions that use other descriptors.
  package static func close(in actions: inout posix_spawn_file_actions_t) {
    // A descriptor that is closed in the meantime is no error: glibc passes over those that are not open.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    for descriptor in names.compactMap({ Int32($0) }) where descriptor > 2 {
      posix_spawn_file_actions_addclose(&actions, descriptor)
    }
  }
}

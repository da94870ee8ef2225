#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension SQLiteStore {
  /// Removes the database at `path` with everything that is beside it: the write-ahead log, its index, and
  /// the lock file.
  ///
  /// The lock file stays while another process has the database open, which would otherwise no longer
  /// exclude a third one. Close stores of this process first.
  ///
  /// - Throws: ``CacheError`` with code `storage` that names the file that cannot be removed.
  public static func removeFiles(at path: String) throws(CacheError) {
    // The log and the lock are beside the file that a link leads to.
    let name = realpath(path, nil).map { pointer in
      defer { free(pointer) }
      return String(cString: pointer)
    }
    let lock = DatabaseLock(of: name ?? path)
    let isAlone: Bool
    switch lock?.tryLock(.presence, exclusively: true) {
    case .locked: isAlone = true
    default: isAlone = false
    }
    var files = ["-wal", "-shm", ""].map { (name ?? path) + $0 }
    if let name, name != path { files.append(path) }
    if isAlone, let lock { files.append(lock.path) }
    for file in files where unlink(file) != 0 && errno != ENOENT {
      throw CacheError(
        .storage,
        "the file \(file) of the cache cannot be removed: \(String(cString: strerror(errno)))",
        path: path)
    }
  }
}

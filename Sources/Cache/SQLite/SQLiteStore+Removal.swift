#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension SQLiteStore {
  /// Removes the files of a store; see ``CacheStore/removeFiles(at:)``.
  package static func removeFiles(at path: String) throws(CacheError) {
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

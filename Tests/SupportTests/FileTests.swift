import Foundation
import GQLRunSupport
import Testing

@Suite("Files")
final class FileTests {
  private let folder = FileManager.default.temporaryDirectory
    .appendingPathComponent("gqlrun-\(UUID().uuidString)").path

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func permissions(_ path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return try #require(attributes[.posixPermissions] as? Int)
  }

  @Test("a folder is created with those above it, and one that exists stays as it is")
  func newFolders() throws {
    let path = folder + "/a/b/c"
    try SystemIO.createFolder(path, permissions: 0o700)
    #expect(try permissions(path) == 0o700 && permissions(folder + "/a") == 0o700)
    try SystemIO.createFolder(path + "/", permissions: 0o755)
    #expect(try permissions(path) == 0o700)
  }

  @Test("a path belongs to the repository that its symbolic links lead to")
  func repositories() throws {
    let root = FilePath.real(folder)
    for name in ["r/.git", "r/a/b", "plain"] {
      try SystemIO.createFolder("\(root)/\(name)")
    }
    for (link, target) in [
      ("out", root), ("in", "a"), ("nothing", "../gone"), ("loop", "loop"), ("up", "a/.."),
    ] {
      #expect(symlink(target, "\(root)/r/\(link)") == 0)
    }
    for (path, real) in [
      ("r/./a//b/", "r/a/b"), ("r/a/../../x", "x"), ("r/new/../../x", "x"), ("r/out/x", "x"),
      ("r/in/b", "r/a/b"), ("r/nothing/y", "gone/y"), ("r/loop/../z", "r/z"), ("r/up/q", "r/q"),
      ("/../../../..", ""),
    ] {
      let absolute = path.hasPrefix("/") ? path : "\(root)/\(path)"
      #expect(FilePath.real(absolute) == (real.isEmpty ? "/" : "\(root)/\(real)"), "\(path)")
    }
    for (path, file, isInside) in [
      ("r/x", "r/a/b/p.yaml", true), ("r/a/../x", "r/p.yaml", true), ("r", "r/p.yaml", true),
      ("x", "r/a/p.yaml", false), ("r/out/x", "r/p.yaml", false), ("rx", "r/p.yaml", false),
      ("r/nothing", "r/p.yaml", false), ("plain/x", "plain/p.yaml", true),
      ("r/x", "plain/p.yaml", false), ("r/.git/hooks/x", "r/p.yaml", false),
    ] {
      #expect(
        FilePath.isInRepository("\(root)/\(path)", of: "\(root)/\(file)") == isInside, "\(path)")
    }
    for (path, file, isInside) in [
      ("r/.profile", "r/p.yaml", false), ("r/bin/x", "r/p.yaml", true),
      ("r/a/.cache", "r/a/p.yaml", true), ("r/x", "r/a/p.yaml", false),
    ] {
      // The repository contains the settings of a user.
      #expect(
        FilePath.isInRepository("\(root)/\(path)", of: "\(root)/\(file)", home: "\(root)/r")
          == isInside, "\(path)")
    }
    for (path, isInside) in [("/x.db", true), ("/.x", false), ("/etc/profile", false)] {
      #expect(FilePath.isInRepository(path, of: "/p.yaml", home: nil) == isInside, "\(path)")
    }
    #expect(FilePath.isInRepository("/dev/null", of: "\(root)/plain/p.yaml"))
    #expect(!FilePath.isInRepository("/dev/shm/x", of: "\(root)/plain/p.yaml"))
  }

  @Test("a folder that cannot be created is an error with its name and the system's reason")
  func impossibleFolders() throws {
    try AtomicFile.write([], to: folder + "/file", permissions: 0o600)
    for (path, code) in [
      ("/file", ENOTDIR), ("/file/a/b", ENOTDIR), ("/\(longName)/a", ENAMETOOLONG),
    ] {
      let error = #expect(throws: SystemError.self) { try SystemIO.createFolder(folder + path) }
      #expect(error?.code == code, "\(String(describing: error))")
    }
    let error = #expect(throws: SystemError.self) { try SystemIO.createFolder("") }
    #expect(error?.description == "cannot create the folder : No such file or directory")
  }

  private var longName: String { String(repeating: "x", count: 300) }

  @Test("a file or folder that cannot be read is not a missing one")
  func unreadable() throws {
    #expect(try SystemIO.readExistingFile(folder + "/absent") == nil)
    #expect(try SystemIO.names(in: folder + "/absent") == [])
    for name in ["ä", ".b"] { try PrivateFile.write([1], to: "\(folder)/\(name)") }
    #expect(try SystemIO.names(in: folder).sorted() == [".b", "ä"])
    #expect(try SystemIO.readExistingFile(folder + "/.b/absent") == nil)
    let file = #expect(throws: SystemError.self) { try SystemIO.readExistingFile(folder) }
    #expect(file?.description == "cannot read \(folder): Is a directory")
    let names = #expect(throws: SystemError.self) { try SystemIO.names(in: folder + "/.b") }
    #expect(names?.description == "cannot read the folder \(folder)/.b: Not a directory")
  }

  @Test("an atomic write replaces the file and leaves no other behind")
  func atomic() throws {
    let path = folder + "/a"
    try AtomicFile.write(Array("one".utf8), to: path, permissions: 0o600)
    try AtomicFile.write(Array("two".utf8), to: path, permissions: 0o600)
    #expect(try SystemIO.readExistingFile(path, limit: 10) == Array("two".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["a"])
  }

  @Test("an atomic write that fails leaves the old file and no other")
  func failure() throws {
    // The target is a folder: the rename fails after everything was written.
    let path = folder + "/b"
    try FileManager.default.createDirectory(atPath: path + "/c", withIntermediateDirectories: true)
    #expect(throws: SystemError.self) {
      try AtomicFile.write([1], to: path, permissions: 0o600)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["b"])
  }

  @Test("an atomic file appears when it is finished, and an unfinished one leaves nothing")
  func stream() throws {
    let path = folder + "/d"
    do {
      let unfinished = try AtomicFile(path, permissions: 0o600)
      try unfinished.write([1, 2])
      #expect(!FileManager.default.fileExists(atPath: path))
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    var file = try AtomicFile(path, permissions: 0o600)
    for byte in UInt8(1)...3 { try file.write([byte]) }
    try file.finish()
    #expect(try SystemIO.readExistingFile(path, limit: 10) == [1, 2, 3])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["d"])
  }

  @Test("a new atomic file does not replace one that has appeared since")
  func appearance() throws {
    let path = folder + "/e"
    var first = try AtomicFile(path, permissions: 0o600)
    var second = try AtomicFile(path, permissions: 0o600)
    try first.write([1])
    try second.write([2])
    try first.finish(replacing: false)
    do throws(SystemError) {
      try second.finish(replacing: false)
      Issue.record("the first file was replaced")
    } catch {
      #expect(error.code == EEXIST)
    }
    #expect(try SystemIO.readExistingFile(path, limit: 10) == [1])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["e"])
  }

  @Test("private files and the folders made for them belong to their owner only")
  func privacy() throws {
    let path = folder + "/x/y/z"
    #expect(try SystemIO.readExistingFile(path, limit: 10) == nil)
    try PrivateFile.write([1, 2], to: path)
    try PrivateFile.append([3], to: path)
    #expect(try SystemIO.readExistingFile(path, limit: 3) == [1, 2, 3])
    #expect(try permissions(path) == 0o600)
    #expect(try permissions(folder + "/x") == 0o700)
    let error = #expect(throws: SystemError.self) { try SystemIO.readExistingFile(path, limit: 2) }
    #expect(error?.description == "cannot read \(path): File too large")
  }

  @Test("a private file behind a symbolic link is replaced where it is, and created there")
  func privateLink() throws {
    let (path, link) = (folder + "/private", folder + "/link")
    try PrivateFile.write([1], to: path)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "private")
    try PrivateFile.write([2], to: link)
    #expect(try SystemIO.readExistingFile(path, limit: 1) == [2])
    #expect(FilePath.behindLink(path) == path && FilePath.behindLink(link) != link)
    try FileManager.default.removeItem(atPath: path)
    try PrivateFile.write([3], to: link)
    #expect(try SystemIO.readExistingFile(path, limit: 1) == [3])
    let lost = folder + "/lost"
    try FileManager.default.createSymbolicLink(atPath: lost, withDestinationPath: "none/private")
    #expect(FilePath.behindLink(lost) == lost)
  }

  @Test("a pipe without a reader is named, and no other file that has none")
  func withoutReader() throws {
    let pipe = folder + "/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    #expect(SystemError("write", path: pipe, code: ENXIO).reason == "no program reads it")
    #expect(
      SystemError("write", path: "/dev/null", code: ENXIO).reason
        == String(cString: strerror(ENXIO)))
  }

  @Test("a reader asks whether it is over before each read, also if there is something to read")
  func readingUntilOver() throws {
    let pipe = try Descriptor.pipe()
    let text: [UInt8] = [1, 2]
    #expect(write(pipe.writing.number, text, text.count) == 2)
    pipe.writing.close()
    var count = 0
    let bytes = pipe.reading.read(maxBytes: 10) {
      count += 1
      return false
    }
    #expect(bytes == text && count >= 2)
  }

  @Test("one instance of a file lock excludes another until it is released or gone")
  func lock() throws {
    let path = folder + "/lock"
    let first = try FileLock(path)
    let second = try FileLock(path)
    #expect(try first.tryLock())
    #expect(try !second.tryLock())
    first.release()
    #expect(try second.tryLock())
    var third: FileLock? = try FileLock(path)
    #expect(try third?.tryLock() == false)
    second.release()
    #expect(try third?.tryLock() == true)
    third = nil
    #expect(try first.tryLock())
  }

  @Test("waiting for a file lock ends when it is released, or when the pause throws")
  func waiting() async throws {
    let path = folder + "/wait"
    let held = try FileLock(path)
    let other = try FileLock(path)
    #expect(try held.tryLock())
    await #expect(throws: CancellationError.self) {
      try await other.lock { throw CancellationError() }
    }
    var pauses = 0
    try await other.lock {
      pauses += 1
      if pauses == 3 { held.release() }
    }
    #expect(pauses == 3)
  }
}

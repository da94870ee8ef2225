import Foundation
import GQLRunPipeline
import GQLRunSupport

/// A child process that reads and writes lines.
///
/// It has three threads: one writes its input, one reads its output, one reads its standard error.
/// The thread that reads the output also waits for the process, so that it leaves no zombie.
final class ExecChild: Sendable {
  struct StartFailure: Error {
    var reason: String
  }

  /// The longest line that is read, in bytes.
  static let longestLine = 64 << 20

  /// `nil` after the wait, when another process may have the process identifier.
  private let process: Locked<pid_t?>
  private let input: FileDescriptor
  private let writing = DispatchQueue(label: "gqlrun.exec.input")
  /// The last bytes of its standard error.
  private let messages = Locked<[UInt8]>([])
  private let messagesEnded = DispatchSemaphore(value: 0)

  /// The most bytes of its standard error that are kept.
  private static let maxKeptMessages = 4 << 10

  /// The end of its standard error so far.
  var lastMessages: String { String(decoding: messages.withLock { $0 }, as: UTF8.self) }

  /// - Parameters:
  ///   - onLine: Called with each line of its output.
  ///   - onMessage: Called with each line of its standard error.
  ///   - onEnd: Called once with the reason of its end: "ended with status 3".
  init(
    _ command: [String], folder: String, onLine: @escaping @Sendable ([UInt8]) -> Void,
    onMessage: @escaping @Sendable (String) -> Void, onEnd: @escaping @Sendable (String) -> Void
  ) throws(StartFailure) {
    // A socket, because its writes can be made not to raise SIGPIPE.
    let inside = try Self.pair { socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, $0) }
    let output = try Self.pair { pipe($0) }
    let messages = try Self.pair { pipe($0) }
    let started = Self.spawn(
      command, folder: folder, input: inside.1.number, output: output.1.number,
      messages: messages.1.number)
    inside.1.close()
    output.1.close()
    messages.1.close()
    guard case .success(let process) = started else {
      for end in [inside.0, output.0, messages.0] { end.close() }
      guard case .failure(let error) = started else { throw StartFailure(reason: "") }
      throw error
    }
    self.process = Locked(process)
    input = inside.0
    Self.thread("messages") { [self] in
      Self.lines(of: messages.0) { line in
        keep(line)
        onMessage(String(decoding: line, as: UTF8.self))
      }
      messages.0.close()
      messagesEnded.signal()
    }
    Self.thread("output") { [self] in
      Self.lines(of: output.0, onLine)
      output.0.close()
      let end = wait()
      // Its last words are in the pipe already. A process that it started in a group of its own may keep the pipe open.
      _ = messagesEnded.wait(timeout: .now() + 2)
      onEnd(end)
    }
  }

  private func keep(_ line: [UInt8]) {
    messages.withLock { messages in
      if !messages.isEmpty { messages.append(UInt8(ascii: "\n")) }
      messages += line.suffix(Self.maxKeptMessages)
      messages.removeFirst(max(messages.count - Self.maxKeptMessages, 0))
    }
  }

  /// Sends a line; it is lost if the process does not read it.
  func send(_ line: [UInt8]) {
    writing.async { [input] in
      line.withUnsafeBytes { bytes in
        var rest = bytes
        while !rest.isEmpty {
          let count = Foundation.send(
            input.number, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
          if count < 0, errno == EINTR { continue }
          guard count > 0 else { return }
          rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
      }
    }
  }

  /// Closes the input of the process, and kills it with its child processes.
  func end() {
    input.shutdown()
    process.withLock { process in
      if let process { _ = kill(-process, SIGKILL) }
    }
  }

  /// Waits for the end of the process; returns its reason.
  private func wait() -> String {
    // It may only have closed its output; it is killed because it can no longer answer.
    end()
    let number = process.withLock { $0 } ?? 0
    var information = siginfo_t()
    while waitid(P_PID, id_t(number), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    return process.withLock { process in
      var status: Int32 = 0
      while waitpid(number, &status, 0) < 0, errno == EINTR {}
      process = nil
      // WIFEXITED and WEXITSTATUS, which Swift does not import.
      guard status & 0x7F == 0 else { return "was killed" }
      switch (status >> 8) & 0xFF {
      case 127: return "was not found"
      case 126: return "cannot be executed"
      case let code: return "ended with status \(code) before it answered"
      }
    }
  }
}

// MARK: Descriptors and threads

extension ExecChild {
  /// A descriptor that its last owner closes, once.
  private final class FileDescriptor: Sendable {
    let number: Int32
    private let isOpen = Locked(true)

    init(_ number: Int32) { self.number = number }

    deinit { close() }

    func close() {
      isOpen.withLock { isOpen in
        if isOpen { _ = Foundation.close(number) }
        isOpen = false
      }
    }

    func shutdown() {
      isOpen.withLock { isOpen in
        if isOpen { _ = Foundation.shutdown(number, Int32(SHUT_RDWR)) }
      }
    }
  }

  private static func pair(
    _ make: (UnsafeMutablePointer<Int32>) -> Int32
  ) throws(StartFailure) -> (FileDescriptor, FileDescriptor) {
    var ends: [Int32] = [-1, -1]
    guard make(&ends) == 0 else { throw StartFailure(reason: String(cString: strerror(errno))) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (FileDescriptor(ends[0]), FileDescriptor(ends[1]))
  }

  private static func thread(_ name: String, _ work: @escaping @Sendable () -> Void) {
    let thread = Thread(block: work)
    thread.name = "gqlrun exec \(name)"
    thread.start()
  }

  /// Reads lines until the end, or until one is too long.
  private static func lines(of descriptor: FileDescriptor, _ onLine: ([UInt8]) -> Void) {
    var pending: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while pending.count <= longestLine {
      let count = read(descriptor.number, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      var rest = buffer[..<count]
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        pending += rest[..<end]
        if !pending.isEmpty { onLine(pending) }
        pending.removeAll(keepingCapacity: true)
        rest = rest[(end + 1)...]
      }
      pending += rest
    }
    if !pending.isEmpty, pending.count <= longestLine { onLine(pending) }
  }

  private static func spawn(
    _ command: [String], folder: String, input: Int32, output: Int32, messages: Int32
  ) -> Result<pid_t, StartFailure> {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_adddup2(&actions, messages, 2)
    // The shell changes to the folder and executes the program without interpreting its words. It
    // has its own process group, so that its child processes can be killed with it.
    let words = ["-c", "cd -- \"$0\" && exec \"$@\"", folder] + command
    let (child, error) = ShellProcess.start(words, &actions, leadsGroup: true)
    guard error == 0 else {
      return .failure(StartFailure(reason: String(cString: strerror(error)).lowercased()))
    }
    return .success(child)
  }
}

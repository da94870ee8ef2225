import Foundation
import GQLRunSupport

/// A child process that reads and writes lines.
///
/// It has three threads: one writes its input, one reads its output, one reads its standard error.
/// The thread that reads the output also waits for the process, so that it leaves no zombie.
final class ExecChild: Sendable {
  /// The longest line that is read, in bytes.
  static let longestLine = 64 << 20

  private let process: Subprocess
  private let input: Descriptor
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
  ) throws(SystemError) {
    // A socket, because its writes can be made not to raise SIGPIPE.
    let (outside, inside) = try Descriptor.sockets()
    let output = try Descriptor.pipe()
    let messages = try Descriptor.pipe()
    input = outside
    // The shell changes to the folder and executes the program without interpreting its words.
    process = try Subprocess.shell(
      ["-c", "cd -- \"$0\" && exec \"$@\"", folder] + command, input: inside,
      output: output.writing, errors: messages.writing)
    Self.thread("messages") { [self] in
      Self.lines(of: messages.reading) { line in
        keep(line)
        onMessage(String(decoding: line, as: UTF8.self))
      }
      messages.reading.close()
      messagesEnded.signal()
    }
    Self.thread("output") { [self] in
      let isTooLong = Self.lines(of: output.reading, onLine)
      output.reading.close()
      let end = wait()
      // Its last words are in the pipe already. A process that it started in a group of its own may keep the pipe open.
      _ = messagesEnded.wait(timeout: .now() + 2)
      let mebibytes = Self.longestLine >> 20
      onEnd(isTooLong ? "sent a line of more than \(mebibytes) MiB and was ended" : end)
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
    process.kill()
  }

  /// Waits for the end of the process; returns its reason.
  private func wait() -> String {
    // It may only have closed its output; it is killed because it can no longer answer.
    end()
    return switch process.wait().status {
    case nil: "was killed"
    case 127: "was not found"
    case 126: "cannot be executed"
    case let code?: "ended with status \(code) before it answered"
    }
  }

  private static func thread(_ name: String, _ work: @escaping @Sendable () -> Void) {
    let thread = Thread(block: work)
    thread.name = "gqlrun exec \(name)"
    thread.start()
  }

  /// Reads lines until the end, or until one is too long; returns whether one was.
  @discardableResult
  private static func lines(of descriptor: Descriptor, _ onLine: ([UInt8]) -> Void) -> Bool {
    var lines = LineSplitter()
    descriptor.forEachChunk { chunk in
      lines.add(chunk)
      while let line = lines.next() {
        if !line.isEmpty { onLine(Array(line)) }
      }
      return lines.length <= longestLine
    }
    guard lines.length <= longestLine else { return true }
    if let line = lines.rest() { onLine(Array(line)) }
    return false
  }
}

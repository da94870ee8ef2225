import ArgumentParser
import CGQLRunJq
import Foundation
import GQLRunSupport

/// A compiled jq expression, in a process of its own.
///
/// libjq aborts its process for some errors, and nothing can interrupt an expression that does not end. The
/// process is this program with the hidden command ``JQRunCommand``; it limits its own time and memory.
///
/// Sendable, because every use of the process holds the lock.
final class JQFilter: @unchecked Sendable {
  /// An output of the expression.
  enum Output {
    case json(String)
    /// A string, to be printed without quotes.
    case text(String)
  }

  /// What the processes write to each other: a byte for the kind, the length, and the bytes.
  enum Message: UInt8 {
    /// A piece of a result, to the process.
    case input = 1
    /// The end of a result, which is filtered then.
    case end
    /// The expression is compiled, or the result is filtered.
    case done
    case json, text
    /// libjq is not installed.
    case missing
    /// The expression has errors.
    case invalid
    /// The result is not JSON.
    case unreadable
    /// The expression failed on the result.
    case failed
    /// The expression called `halt_error`: its exit code as a byte, and its message.
    case halted
  }

  /// What the process may use.
  struct Limits {
    /// The longest processor time of the expression for one result, in seconds.
    var maxSeconds = 60
    /// The most memory of the expression and its results: half of the machine's.
    var maxBytes = Int(sysconf(Int32(_SC_PHYS_PAGES))) / 2 * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  private let limits: Limits
  private let socket: Descriptor
  private let process: Subprocess
  /// The process that runs the expression.
  var pid: pid_t { process.id }
  private let lock = Locked(())

  /// - Parameters:
  ///   - isRaw: Whether strings are printed without quotes.
  ///   - limits: What the process may use.
  ///   - program: The executable that has the command; this one by default.
  /// - Throws: ``Failure`` if libjq is not installed, or the expression has errors.
  init(
    _ expression: String, isRaw: Bool, limits: Limits = Limits(), program: String = "/proc/self/exe"
  ) throws {
    self.limits = limits
    guard !expression.contains("\0") else {
      throw Failure(.usage, "cannot read --jq: the expression has a NUL character")
    }
    let inside: Descriptor
    do throws(SystemError) {
      (socket, inside) = try Descriptor.sockets()
    } catch {
      throw Failure(.failed, "cannot start --jq: \(error.reason)")
    }
    process = try OwnProcess.start(
      [
        "jq-run", "--max-seconds", "\(limits.maxSeconds)", "--max-bytes", "\(limits.maxBytes)",
      ] + (isRaw ? ["--raw"] : []) + ["--", expression], input: inside,
      output: inside, program: program)
    _ = try receive()
  }

  /// Ends the process. It may be busy, so it is not asked.
  deinit {
    process.kill()
    process.wait()
  }

  /// Adds a chunk of the input.
  func add(_ bytes: UnsafeRawBufferPointer) throws {
    try lock.withLock { _ in
      for start in stride(from: 0, to: bytes.count, by: JQRunCommand.maxPiece) {
        let piece = bytes[start..<min(start + JQRunCommand.maxPiece, bytes.count)]
        try send(.input, UnsafeRawBufferPointer(rebasing: piece))
      }
    }
  }

  /// Runs the expression on the added input, which is then empty.
  ///
  /// - Throws: The error of `body`; ``Failure`` if the expression fails on the input or exceeds a limit;
  ///   ``JQHalt`` if it calls `halt_error`; `CancellationError` if the task is cancelled.
  func forEachOutput(_ body: (Output) throws -> Void) throws {
    try lock.withLock { _ in
      try send(.end, UnsafeRawBufferPointer(start: nil, count: 0))
      while let output = try receive() { try body(output) }
    }
  }

  // MARK: Messages

  private func send(_ kind: Message, _ bytes: UnsafeRawBufferPointer) throws {
    guard JQPipe.write(kind, bytes, to: socket.number) else { throw ended() }
  }

  /// The next output, or `nil` after the last one.
  private func receive() throws -> Output? {
    try Input.wait(for: socket.number)
    guard let (kind, bytes) = JQPipe.read(from: socket.number) else { throw ended() }
    let text = String(decoding: bytes, as: UTF8.self)
    switch kind {
    case .input, .end, .done: return nil
    case .json: return .json(text)
    case .text: return .text(text)
    case .missing:
      throw Failure(
        .usage,
        "--jq needs libjq (Debian: apt-get install libjq1), which is not installed; or pipe the "
          + "result into another program")
    case .invalid: throw Failure(.usage, "cannot read --jq: \(Self.cleaned(text))")
    case .unreadable: throw Failure(.failed, "--jq cannot read the result: \(Self.cleaned(text))")
    case .failed: throw Failure(.filterFailed, "--jq failed on the result: \(Self.cleaned(text))")
    case .halted:
      throw JQHalt(
        code: Int32(bytes.first ?? 0), message: String(decoding: bytes.dropFirst(), as: UTF8.self))
    }
  }

  /// The messages without jq's own frame: `jq: error: … ` and the final count of errors.
  private static func cleaned(_ text: String) -> String {
    let lines = text.split(separator: "\u{0}").map(String.init)
    let texts = lines.map { $0.hasPrefix("jq: error: ") ? String($0.dropFirst(11)) : $0 }
      .filter { !$0.hasPrefix("jq: ") }
    return (texts.isEmpty ? lines : texts).joined(separator: "\n")
      .replacing(" (Unix shell quoting issues?)", with: "")
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// The error of a process that ended by itself.
  private func ended() -> Failure {
    let reason =
      switch process.wait().signal {
      case SIGXCPU:
        "it ran for \(limits.maxSeconds) s, which is the limit for a result"
      case SIGABRT, SIGKILL, SIGSEGV, SIGBUS:
        "libjq ended by itself; it may have needed more than "
          + "\(Quantity.size(limits.maxBytes)), which is the limit"
      default: "its process ended"
      }
    return Failure(.filterFailed, "--jq failed on the result: \(reason)")
  }
}

/// The end of an expression that called `halt_error`.
struct JQHalt: Error {
  /// The exit code that the expression asks for.
  var code: Int32
  /// The message for standard error.
  var message: String
}

/// Reads and writes the messages of ``JQFilter``.
enum JQPipe {
  /// - Returns: Whether the other process has received the message, or will.
  static func write(
    _ kind: JQFilter.Message, _ bytes: UnsafeRawBufferPointer, to socket: Int32
  ) -> Bool {
    let head = [kind.rawValue] + withUnsafeBytes(of: UInt32(bytes.count).littleEndian, Array.init)
    return SystemIO.writeAll(head, to: socket) == 0 && SystemIO.writeAll(bytes, to: socket) == 0
  }

  /// - Returns: The next message; `nil` if the other process has ended.
  static func read(from socket: Int32) -> (kind: JQFilter.Message, bytes: [UInt8])? {
    guard let head = read(5, from: socket), let kind = JQFilter.Message(rawValue: head[0]) else {
      return nil
    }
    let count = head.dropFirst().reversed().reduce(0) { $0 << 8 | Int($1) }
    return read(count, from: socket).map { (kind, $0) }
  }

  private static func read(_ count: Int, from socket: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var received = 0
    while received < count {
      let piece = bytes.withUnsafeMutableBytes {
        Foundation.read(socket, $0.baseAddress?.advanced(by: received), count - received)
      }
      if piece < 0, errno == EINTR { continue }
      guard piece > 0 else { return nil }
      received += piece
    }
    return bytes
  }
}

/// Filters results with a jq expression, for the process that started it: ``JQFilter``.
struct JQRunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "jq-run",
    abstract: "Filters results for gqlrun run --jq; standard input and output are one socket.",
    shouldDisplay: false)

  /// The most bytes of a message.
  static let maxPiece = 1 << 20

  @Flag var raw = false
  @Option var maxSeconds: UInt32
  @Option var maxBytes: UInt
  @Argument var expression: String

  func run() throws {
    // The parent ends this process; a terminal's Ctrl-C reaches both.
    for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_IGN) }
    // An abort of libjq is reported by the parent; the runtime's handlers would print a backtrace first.
    for number in [SIGXCPU, SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP] {
      signal(number, SIG_DFL)
    }
    Self.limit(__rlimit_resource_t(RLIMIT_CORE.rawValue), to: 0)
    Self.limit(__rlimit_resource_t(RLIMIT_DATA.rawValue), to: rlim_t(maxBytes))
    guard gqlrun_jq_load() else { return send(.missing) }
    let messages = Messages()
    guard let program = gqlrun_jq_compile(expression, Messages.report, messages.pointer) else {
      return send(.invalid, messages.text)
    }
    defer { gqlrun_jq_free(program) }
    send(.done)
    // After a result that is not JSON, its other pieces are passed over.
    var isReadable = true
    while let (kind, bytes) = JQPipe.read(from: 0) {
      messages.lines = []
      guard kind == .end else {
        isReadable =
          isReadable
          && bytes.withUnsafeBytes {
            $0.withMemoryRebound(to: CChar.self) {
              gqlrun_jq_add(
                program, $0.baseAddress, Int32($0.count), Messages.report, messages.pointer)
            }
          }
        if !isReadable, !messages.lines.isEmpty { messages.problem = messages.text }
        continue
      }
      guard isReadable else {
        send(.unreadable, messages.problem)
        isReadable = true
        continue
      }
      limitTime()
      let code = gqlrun_jq_run(program, raw, Self.output, Messages.report, messages.pointer)
      switch Int(code) {
      case GQLRUN_JQ_FAILED: send(.failed, messages.text)
      case 0: send(.done)
      default: send(.halted, [UInt8(code)] + messages.text)
      }
    }
  }

  /// Lets the expression run for ``maxSeconds`` from now on.
  private func limitTime() {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    Self.limit(
      __rlimit_resource_t(RLIMIT_CPU.rawValue),
      to: rlim_t(Subprocess.seconds(usage).rounded(.up)) + rlim_t(maxSeconds))
  }

  /// Sets the soft limit, so that it can be raised again.
  private static func limit(_ resource: __rlimit_resource_t, to value: rlim_t) {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return }
    limit.rlim_cur = min(value, limit.rlim_max)
    setrlimit(resource, &limit)
  }

  private func send(_ kind: JQFilter.Message, _ bytes: [UInt8] = []) {
    bytes.withUnsafeBytes { _ = JQPipe.write(kind, $0, to: 1) }
  }

  private static let output:
    @convention(c) (UnsafeMutableRawPointer?, Bool, UnsafePointer<CChar>?, Int32) -> Bool = {
      _, isText, text, count in
      let bytes = UnsafeRawBufferPointer(start: text, count: Int(count))
      return JQPipe.write(isText ? .text : .json, bytes, to: 1)
    }

  /// Receives what libjq reports.
  private final class Messages {
    var lines: [[UInt8]] = []
    /// The problem of a result that is not JSON.
    var problem: [UInt8] = []

    /// Valid while the object exists.
    var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    /// The messages, separated by NUL.
    var text: [UInt8] { Array(lines.joined(separator: [0])) }

    static let report: gqlrun_jq_text = { context, text in
      guard let context, let text else { return }
      let bytes = UnsafeRawBufferPointer(start: text, count: strlen(text))
      Unmanaged<Messages>.fromOpaque(context).takeUnretainedValue().lines.append(Array(bytes))
    }
  }
}

import ArgumentParser
import CGQLRunJq
import Foundation

/// Filters results with a jq expression, for the process that started it: ``JQFilter``.
struct JQRunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "jq-run",
    abstract: "Filters results for gqlrun run --jq; standard input and output are one socket.",
    shouldDisplay: false)

  /// The most bytes of a message.
  static let maxPiece = 1 << 20

  @Flag(name: .long) var raw = false
  @Option(name: .long) var maxSeconds: Int
  @Option(name: .long) var maxBytes: Int
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
    let used = MeasuredProcess.seconds(usage.ru_utime) + MeasuredProcess.seconds(usage.ru_stime)
    Self.limit(
      __rlimit_resource_t(RLIMIT_CPU.rawValue), to: rlim_t(Int(used.rounded(.up)) + maxSeconds)
    )
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

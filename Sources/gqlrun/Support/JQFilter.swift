import CGQLRunJq
import Foundation
import GQLRunSupport

/// A compiled jq expression.
///
/// libjq is loaded when the first expression is compiled; the program starts and runs without it.
///
/// Sendable, because a program of libjq may be used by any thread, one at a time: every call holds the
/// lock.
final class JQFilter: @unchecked Sendable {
  /// An output of the expression.
  enum Output {
    case json(String)
    /// A string, to be printed without quotes.
    case text(String)
  }

  private let program: OpaquePointer
  private let isRaw: Bool
  private let lock = Locked(())

  /// - Parameter isRaw: Whether strings are printed without quotes.
  /// - Throws: ``Failure`` if libjq is not installed, or the expression has errors.
  init(_ expression: String, isRaw: Bool) throws {
    guard gqlrun_jq_load() else {
      throw Failure(
        .usage,
        "--jq needs libjq (Debian: apt-get install libjq1), which is not installed; or pipe the "
          + "result into another program")
    }
    guard !expression.contains("\0") else {
      throw Failure(.usage, "cannot read --jq: the expression has a NUL character")
    }
    let messages = Messages()
    guard let program = gqlrun_jq_compile(expression, Messages.report, messages.pointer) else {
      throw Failure(.usage, "cannot read --jq: \(messages.text)")
    }
    self.program = program
    self.isRaw = isRaw
  }

  deinit { gqlrun_jq_free(program) }

  /// Adds a chunk of the input.
  func add(_ bytes: UnsafeRawBufferPointer) throws {
    let messages = Messages()
    // The parser counts in `int`.
    for start in stride(from: 0, to: bytes.count, by: 1 << 30) {
      let piece = bytes[start..<min(start + 1 << 30, bytes.count)]
      let isRead = UnsafeRawBufferPointer(rebasing: piece).withMemoryRebound(to: CChar.self) {
        text in
        lock.withLock { _ in
          gqlrun_jq_add(
            program, text.baseAddress, Int32(text.count), Messages.report, messages.pointer)
        }
      }
      guard isRead else {
        throw Failure(.failed, "--jq cannot read the result: \(messages.text)")
      }
    }
  }

  /// Runs the expression on the added input, which is then empty.
  ///
  /// - Throws: The error of `body`, or ``Failure`` if the expression fails on the input.
  func forEachOutput(_ body: (Output) throws -> Void) throws {
    let messages = Messages()
    let succeeded = withoutActuallyEscaping(body) { body in
      messages.body = body
      defer { messages.body = nil }
      return lock.withLock { _ in
        gqlrun_jq_run(program, isRaw, Messages.output, Messages.report, messages.pointer)
      }
    }
    if let error = messages.error { throw error }
    guard succeeded else {
      throw Failure(.filterFailed, "--jq failed on the result: \(messages.text)")
    }
  }

  /// Receives what libjq reports during one call.
  private final class Messages {
    private var lines: [String] = []
    var body: ((Output) throws -> Void)?
    var error: (any Error)?

    /// Valid while the object exists, that is for one call.
    var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    /// The messages without jq's own frame: `jq: error: … ` and the final count of errors.
    var text: String {
      let texts = lines.map { line in
        line.hasPrefix("jq: error: ") ? String(line.dropFirst(11)) : line
      }.filter { !$0.hasPrefix("jq: ") }
      return (texts.isEmpty ? lines : texts).joined(separator: "\n")
        .replacing(" (Unix shell quoting issues?)", with: "")
        .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    static let report: gqlrun_jq_text = { context, text in
      guard let context, let text else { return }
      of(context).lines.append(String(cString: text))
    }

    static let output:
      @convention(c) (UnsafeMutableRawPointer?, Bool, UnsafePointer<CChar>?, Int32) -> Bool = {
        context, isString, text, count in
        guard let context, let text else { return false }
        let bytes = UnsafeRawBufferPointer(start: text, count: Int(count))
        let string = String(decoding: bytes, as: UTF8.self)
        let messages = of(context)
        do {
          try messages.body?(isString ? .text(string) : .json(string))
          return true
        } catch {
          messages.error = error
          return false
        }
      }

    private static func of(_ context: UnsafeMutableRawPointer) -> Messages {
      Unmanaged.fromOpaque(context).takeUnretainedValue()
    }
  }
}

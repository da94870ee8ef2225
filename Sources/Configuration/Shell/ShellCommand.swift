import Foundation
import GQLRunSupport

/// Runs a command of a pipeline file and returns its output.
package enum ShellCommand {
  typealias Failure = PipelineFileEnvironment.Failure

  /// The same as ``output(of:limit:within:)`` without a time limit and without blocking the
  /// caller's thread. Cancelling the task kills the command and its child processes.
  package static func run(_ command: String, limit: Int) async throws -> String {
    let running = try Running(command)
    do {
      return try await withTaskCancellationHandler {
        try await DispatchQueue.global().run { try running.output(limit: limit) }
      } onCancel: {
        running.process.kill()
      }
    } catch {
      try Task.checkCancellation()
      throw error
    }
  }

  /// The standard output of `command`, run by `/bin/sh` with this process's environment, without
  /// input, and with this process's standard error.
  ///
  /// - Parameter time: The time limit, after which the command and its child processes are killed.
  static func output(
    of command: String, limit: Int, within time: Duration
  ) throws(Failure) -> String {
    let running = try Running(command)
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.schedule(deadline: .now() + .milliseconds(max(Int(time / .milliseconds(1)), 1)))
    timer.setEventHandler { running.process.kill() }
    timer.resume()
    defer { timer.cancel() }
    do throws(Failure) {
      return try running.output(limit: limit)
    } catch {
      guard running.process.wasKilled else { throw error }
      throw Failure("it took longer than \(time.optionText) and was killed")
    }
  }

  private struct Running: Sendable {
    let process: Subprocess
    let descriptor: Descriptor

    init(_ command: String) throws(Failure) {
      guard let (reading, writing) = try? Descriptor.pipe() else {
        throw Failure("no pipe could be created")
      }
      guard let process = try? Subprocess.shell(["-c", command], output: writing) else {
        throw Failure("the shell could not be started")
      }
      self.process = process
      descriptor = reading
    }

    /// The output, after the end of the command.
    func output(limit: Int) throws(Failure) -> String {
      // A process that has left the group of the command is not killed with it, and may hold the output open.
      let bytes = descriptor.read(maxBytes: limit + 1) { process.wasKilled }
      // A process that still writes gets SIGPIPE.
      descriptor.close()
      let status = process.wait().status
      guard bytes.count <= limit else { throw Failure("it printed more than 1 MiB") }
      guard status == 0 else {
        throw Failure(status.map { "it ended with status \($0)" } ?? "it was killed")
      }
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw Failure("its output is not UTF-8")
      }
      return text
    }
  }
}

import Foundation
import GQLRunConfiguration
import Testing

@Suite("The environment of this process")
struct PipelineFileEnvironmentTests {
  private let environment = PipelineFileEnvironment.process

  private func reason(_ body: () throws -> Void) -> String? {
    do {
      try body()
      return nil
    } catch {
      return (error as? PipelineFileEnvironment.Failure)?.reason
    }
  }

  @Test("has variables")
  func variables() {
    #expect(environment.variable("PATH") == ProcessInfo.processInfo.environment["PATH"])
    #expect(environment.variable("GQLRUN_NO_SUCH_VARIABLE") == nil)
  }

  @Test("reads files, and says why it cannot")
  func files() throws {
    let path = NSTemporaryDirectory() + "/gqlrun-\(UUID().uuidString)"
    try Data("text".utf8).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(try environment.readFile(path) == Array("text".utf8))
    #expect(reason { _ = try environment.readFile(path + "x") } == "it does not exist")
    #expect(
      reason { _ = try environment.readFile(NSTemporaryDirectory()) }
        == "it is a directory; name a file in it")
  }

  @Test("does not wait for the writer of a named pipe")
  func namedPipe() throws {
    let path = NSTemporaryDirectory() + "/gqlrun-\(UUID().uuidString)"
    #expect(mkfifo(path, 0o600) == 0)
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(
      reason { _ = try environment.readFile(path) }
        == "it is a named pipe, whose writer may never come; name a file, or /dev/stdin")
  }

  @Test("runs commands, and says how they failed without what they printed")
  func commands() throws {
    let execute = try #require(environment.execute)
    #expect(try execute("printf 'a b'; echo c") == "a bc\n")
    #expect(reason { _ = try execute("echo hunter2; exit 3") } == "it ended with status 3")
    #expect(reason { _ = try execute("head -c 2000000 /dev/zero") } == "it printed more than 1 MiB")
    // Does not wait for what the command leaves running.
    let background = try execute("sleep 60 >/dev/null 2>&1 & printf $!")
    #expect(try execute("kill \(background) && echo alive") == "alive\n")
    // Signals reach it: 143 is 128 and SIGTERM.
    #expect(try execute("sleep 60 >/dev/null & kill $!; wait $!; echo $?") == "143\n")
    #expect(reason { _ = try execute("printf '\\377'") } == "its output is not UTF-8")
    #expect(environment.withoutCommands.execute == nil)
  }

  @Test("ends a command that takes too long, with what it started")
  func commandTime() throws {
    let execute = try #require(
      PipelineFileEnvironment.process(commandTime: .milliseconds(100)).execute)
    // The second process holds the output open, and would be waited for.
    #expect(
      reason { _ = try execute("sleep 1000 & sleep 1000") }
        == "it took longer than 100ms and was killed")
  }

  @Test(
    "a cancelled command ends, although a process that has left its group holds the output open",
    .timeLimit(.minutes(1)))
  func detachedProcess() async throws {
    let folder = NSTemporaryDirectory() + "/gqlrun-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (begun, held) = (folder + "/begun", folder + "/held")
    #expect(mkfifo(begun, 0o600) == 0 && mkfifo(held, 0o600) == 0)
    // The process ends when this is closed.
    let descriptor = open(held, O_RDWR | O_CLOEXEC)
    defer { close(descriptor) }
    let script = "exec 3< \(held); : > \(begun); read line <&3"
    let command = Task {
      try await ShellCommand.run("setsid sh -c '\(script)' & wait", limit: 100)
    }
    // Opening the pipe waits for the process, which has left the group then. Nothing is written: without a reader, that ends it.
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        close(open(begun, O_RDONLY | O_CLOEXEC))
        continuation.resume()
      }
    }
    command.cancel()
    await #expect(throws: CancellationError.self) { try await command.value }
  }
}

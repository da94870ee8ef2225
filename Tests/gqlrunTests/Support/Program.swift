import Foundation
import GQLRunSupport
import GQLRunTestSupport
import Testing

/// What a run of the program left.
struct RunResult: Sendable, CustomStringConvertible {
  /// The exit code, or 128 and the signal that ended the program.
  var status: Int32
  var output: String
  var errors: String

  var description: String { "exit \(status)\nstdout: \(output)\nstderr: \(errors)" }

  /// Standard error without the progress of a batch.
  var messages: String { Self.withoutProgress(errors) }

  /// Removes the lines about the progress of a batch: there is one every 30 seconds, so only on a slow machine.
  static func withoutProgress(_ errors: String) -> String {
    errors.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !$0.hasSuffix(" in flight") }.joined(separator: "\n")
  }
}

/// The built program, run as its users run it.
enum Program {
  /// The folder of the products: the test bundle lies there, next to the program.
  static let path: String = {
    let bundle =
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: bundle).deletingLastPathComponent()
      .appendingPathComponent("gqlrun").path
  }()

  /// Runs the program in `folder` and waits for its end.
  ///
  /// - Parameters:
  ///   - input: The text of standard input; nothing by default.
  ///   - onStart: Called with the process once it runs, to send it signals.
  static func run(
    _ arguments: [String], in folder: Folder, input: String = "",
    environment: [String: String] = [:], onStart: @Sendable (Int32) async throws -> Void = { _ in }
  ) async throws -> RunResult {
    // Files instead of pipes: no reader is needed while the program runs.
    let names = try ["in", "out", "err"].map { try folder.write("", to: "\($0)-\(UUID())") }
    try folder.replace(names[0], with: input)
    var process = ChildProcess(
      path, arguments, in: folder.path, environment: clean.merging(environment) { $1 })
    (process.input, process.output, process.errors) = (names[0], names[1], names[2])
    let status = try await process.run(onStart: onStart)
    let result = RunResult(
      status: status, output: try folder.text(names[1]), errors: try folder.text(names[2]))
    for name in names { try FileManager.default.removeItem(atPath: name) }
    return result
  }

  /// Repeats a run with a time limit that doubles, until the limit was long enough for what comes before its end: a busy
  /// machine takes long to start a program and to connect.
  ///
  /// - Parameter isLongEnough: Whether a result is one of a limit that was not too short.
  static func withGrowingLimit(
    fromMilliseconds first: Int = 100, until isLongEnough: (RunResult) -> Bool,
    _ run: (_ limit: String) async throws -> RunResult
  ) async throws -> (limit: String, result: RunResult) {
    var milliseconds = first
    while true {
      let limit = milliseconds % 1000 == 0 ? "\(milliseconds / 1000)s" : "\(milliseconds)ms"
      let result = try await run(limit)
      if isLongEnough(result) || milliseconds > 60_000 { return (limit, result) }
      milliseconds *= 2
    }
  }

  /// Waits until a program that ``run(_:in:input:environment:onStart:)`` has started in the folder has said
  /// something on standard error.
  static func says(_ text: String, in folder: Folder) async throws {
    try await folder.waits(for: text, inFilesNamed: "err-")
  }

  /// The same for standard output.
  static func prints(_ text: String, in folder: Folder) async throws {
    try await folder.waits(for: text, inFilesNamed: "out-")
  }

  /// Runs a shell line in which `"$GQLRUN"` is the program.
  static func shell(_ line: String, in folder: Folder) async throws -> RunResult {
    let process = ChildProcess(
      "/bin/bash", ["-c", line], in: folder.path,
      environment: clean.merging(["GQLRUN": path]) { $1 })
    return try await run(process, outputs: "sh-", in: folder)
  }

  /// Runs another program.
  ///
  /// - Parameter prefix: The beginning of the names of the files in the folder that have its outputs.
  static func run(
    _ process: ChildProcess, outputs prefix: String = "", in folder: Folder
  ) async throws -> RunResult {
    let output = try folder.write("", to: "\(prefix)out-\(UUID())")
    let errors = try folder.write("", to: "\(prefix)err-\(UUID())")
    var process = process
    (process.output, process.errors) = (output, errors)
    let status = try await process.run()
    return RunResult(
      status: status, output: try folder.text(output), errors: try folder.text(errors))
  }

  /// Runs a transcript, with a server whose port is shown as `PORT`. The progress of batches is not shown.
  ///
  /// - Returns: The lines that each step printed.
  static func transcript(
    _ transcript: Transcript, in folder: Folder, url: String, port: Int
  ) async throws -> [[String]] {
    let steps = try Folder()
    let script = try steps.write(transcript.script(in: steps.path), to: "script")
    let products = URL(fileURLWithPath: path).deletingLastPathComponent().path
    var bash = ChildProcess("/bin/bash", [script], in: folder.path)
    bash.environment = clean.merging(
      [
        "PATH": "\(products):\(clean["PATH"] ?? "/usr/bin:/bin")", "URL": url,
        "ROOT": Repository.root,
      ]
    ) { $1 }
    bash.errors = try steps.write("", to: "errors")
    _ = try await bash.run()
    let shown = { (text: String) in
      text.replacing(folder.path, with: "$FOLDER").replacing(Repository.root, with: "$ROOT")
        .replacing("port \(port)", with: "port PORT").replacing(":\(port)", with: ":PORT")
    }
    return try transcript.steps.indices.map { index in
      // Without a status the shell did not come to the step.
      guard steps.exists("\(index).status") else {
        return ["the shell has ended: " + (try steps.text("errors"))]
      }
      return Transcript.rendered(
        output: shown(try steps.text("\(index).out")),
        errors: shown(RunResult.withoutProgress(try steps.text("\(index).err"))),
        status: Int(
          try steps.text("\(index).status").trimmingCharacters(in: .whitespacesAndNewlines)) ?? -1)
    }
  }

  private static let clean: [String: String] = {
    let kept = ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"]
    return ProcessInfo.processInfo.environment.filter { kept.contains($0.key) }
  }()
}

/// A folder of one test, with the files that its commands name; removed with it.
final class Folder: Sendable {
  let path: String

  init() throws {
    path =
      FileManager.default.temporaryDirectory.appendingPathComponent("gqlrun-test-\(UUID())").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for (name, text) in Samples.files { try write(text, to: name) }
    try Data(Samples.notUTF8).write(to: URL(fileURLWithPath: path + "/latin1.graphql"))
    try FileManager.default.createDirectory(
      atPath: path + "/folder", withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a file in this folder; absolute ones stay.
  func file(_ name: String) -> String { name.hasPrefix("/") ? name : "\(path)/\(name)" }

  @discardableResult
  func write(_ text: String, to name: String) throws -> String {
    try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
    return file(name)
  }

  func replace(_ name: String, with text: String) throws { try write(text, to: name) }

  func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: file(name))))
  }

  func text(_ name: String) throws -> String { String(decoding: try bytes(name), as: UTF8.self) }

  /// Waits until a file whose name begins with `prefix` has a text, without keeping a processor busy.
  func waits(for wanted: String, inFilesNamed prefix: String) async throws {
    let isOver = Locked(false)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
          let changes = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
          inotify_add_watch(changes, self.path, UInt32(IN_CREATE | IN_MODIFY | IN_MOVED_TO))
          defer { close(changes) }
          continuation.resume(
            with: Result {
              while try !self.hasFile(prefix, with: wanted), !isOver.withLock({ $0 }) {
                var change = pollfd(fd: changes, events: Int16(POLLIN), revents: 0)
                poll(&change, 1, 1000)
                var events = [UInt8](repeating: 0, count: 4096)
                while read(changes, &events, events.count) > 0 {}
              }
            })
        }
      }
    } onCancel: {
      isOver.withLock { $0 = true }
    }
  }

  private func hasFile(_ prefix: String, with wanted: String) throws -> Bool {
    try FileManager.default.contentsOfDirectory(atPath: path)
      .contains { try $0.hasPrefix(prefix) && text($0).contains(wanted) }
  }

  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name)) }

  /// The names of the files that belong to an unfinished output.
  var partialFiles: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
      .filter { $0.hasSuffix(".part") }
  }
}

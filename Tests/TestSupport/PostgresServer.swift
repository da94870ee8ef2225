import Foundation
import Synchronization

/// A PostgreSQL server in a folder of its own, which ends with the test process.
package final class PostgresServer: Sendable {
  /// The folder of the programs, or `nil` if PostgreSQL is not installed.
  private static let programs: String? = {
    let base = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: base)) ?? []
    return versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "\(base)/\($0)/bin" }
      .first { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") }
  }()

  /// Whether tests can use a server.
  package static var isInstalled: Bool { programs != nil }

  /// The server of this process, which the first use starts.
  package static let shared = Result { try PostgresServer() }

  private let folder: String
  private let number = Atomic(0)
  private let restarts = Atomic(0)
  /// Ends the server when it is closed, also if this process is killed.
  private let input = Pipe()

  /// Starts a server of its own, for a test that stops it.
  ///
  /// - Parameter name: Distinguishes it from other servers of this process.
  package init(named name: String = "") throws {
    guard let programs = Self.programs else { throw Failure("PostgreSQL is not installed") }
    // A path of a socket has at most 107 bytes.
    folder = "/tmp/gqlrun-pg-\(getpid())\(name)"
    try? FileManager.default.removeItem(atPath: folder)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // The server refuses to run as root.
    let prefix = Self.prefix
    if !prefix.isEmpty { try Self.run(["chown", "postgres", folder]) }
    try Self.run(
      prefix + [
        "\(programs)/initdb", "-D", "\(folder)/data", "-U", "test", "-A", "trust", "-E", "UTF8",
        "--locale=C.UTF-8", "--no-sync",
      ])
    let server = [
      "\(programs)/postgres", "-D", "\(folder)/data", "-k", folder, "-c", "listen_addresses=",
      "-c", "fsync=off", "-c", "max_connections=400", "-c", "log_min_messages=panic",
    ]
    let stop = ["\(programs)/pg_ctl", "-s", "-D", "\(folder)/data", "-m", "immediate", "stop"]
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    // `wait` would not return: SIGCHLD is blocked in the threads that start processes.
    process.arguments = [
      "-c",
      """
      cd /; start() { \((prefix + server).joined(separator: " ")) </dev/null & }
      stop() { \((prefix + stop).joined(separator: " ")); }
      n=0; start
      while read -r _; do stop; start; n=$((n+1)); : >'\(folder)/restart-'$n; done
      stop; rm -rf '\(folder)'
      """,
    ]
    // The server must not keep open what ends it.
    _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
    process.standardInput = input
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    try Self.run([
      "sh", "-c", "until \(programs)/pg_isready -q -h \(folder) -U test; do sleep 0.05; done",
    ])
  }

  /// Makes the command that follows run as a user that the server accepts.
  private static var prefix: [String] {
    geteuid() == 0
      ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
  }

  /// Stops the server as a crash would, and starts it again.
  package func restart() throws {
    guard let programs = Self.programs else { throw Failure("PostgreSQL is not installed") }
    let number = restarts.add(1, ordering: .relaxed).newValue
    try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
    try Self.run([
      "sh", "-c",
      "until [ -e \(folder)/restart-\(number) ] && \(programs)/pg_isready -q -h \(folder) -U test; do "
        + "sleep 0.05; done",
    ])
  }

  /// The URL of the database.
  package var url: String { "postgresql:///postgres?host=\(folder)&user=test" }

  /// The name and the URL of a schema that no other test uses; the caller creates it.
  package func newSchema() -> (name: String, url: String) {
    let name = "test_\(number.add(1, ordering: .relaxed).newValue)"
    return (name, "\(url)&options=-csearch_path%3D\(name)")
  }

  /// Executes a statement.
  package func execute(_ sql: String) throws {
    guard let programs = Self.programs else { throw Failure("PostgreSQL is not installed") }
    try Self.run(["\(programs)/psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", url, "-c", sql])
  }

  private static func run(_ command: [String]) throws {
    let (status, output, errors) = try ChildProcess("/usr/bin/env", command).finish()
    guard status == 0 else { throw Failure("\(command[0]): \(output)\(errors)") }
  }

  private struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }
}

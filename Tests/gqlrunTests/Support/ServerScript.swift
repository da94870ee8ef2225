extension Program {
  /// Runs shell lines next to a server.
  ///
  /// - Parameters:
  ///   - server: A Python program, which prints its port or its address when it listens.
  ///   - arguments: The arguments of that program, as in a shell.
  ///   - lines: The lines; `$PORT` is what the server has printed, and `$server` its process.
  static func shell(
    beside server: String, arguments: String = "", lines: String, in folder: Folder
  ) async throws -> RunResult {
    try folder.write(server, to: "server.py")
    return try await shell(
      """
      rm -f server.pipe; mkfifo server.pipe
      python3 server.py \(arguments) > server.pipe & server=$!
      trap 'kill $server' EXIT
      read -r PORT < server.pipe
      \(lines)
      """, in: folder)
  }
}

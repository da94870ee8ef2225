import ArgumentParser
import DemoServer
import Foundation

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Run the demo server: the countries of the world and a feed of any size.",
    discussion: """
      It listens on the loopback address only. A request can ask it to misbehave, in the URL or in \
      header fields (X-Demo-…):
      \(Misbehaviour.options.map { "  ?\($0.name)\($0.placeholder.isEmpty ? "" : "=" + $0.placeholder)  \($0.help)" }.joined(separator: "\n"))
      """)

  @Option(name: .shortAndLong, help: "The port to listen on; 0 takes a free one.")
  var port = 8080

  @Option(name: .long, help: "How many posts the feed has.")
  var posts = 1_000_000

  func validate() throws {
    guard (0...65_535).contains(port) else {
      throw ValidationError("--port \(port) is not a port; use 0 to 65535")
    }
    guard (0...100_000_000).contains(posts) else {
      throw ValidationError("--posts \(posts) is out of range; use 0 to 100000000")
    }
  }

  func run() async throws {
    try await reporting {
      var configuration = DemoServer.Configuration(port: port)
      configuration.feedSize = posts
      let server = DemoServer(configuration)
      do {
        try await Interruption.run {
          try await server.run { url in
            let line = Array((url + "\n").utf8)
            _ = line.withUnsafeBytes { Terminal.writeAll($0, to: 1) }
          }
        }
      } catch let failure as DemoServer.Failure {
        throw Failure(.failed, failure.message)
      }
    }
  }
}

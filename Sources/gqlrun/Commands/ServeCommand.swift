import ArgumentParser
import Foundation
import GQLRunDemoServer
import GQLRunSupport

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Run the demo server: the countries of the world and a feed of any size.",
    discussion: """
      Listens on the loopback address only. A request can demand faults, in the URL or in header \
      fields (X-Demo-…), such as http://127.0.0.1:8080/graphql?status=503&times=2:
      \(Misbehaviour.options.map { Self.row($0) }.joined(separator: "\n"))

      EXAMPLES
        gqlrun serve
        gqlrun serve --port 0 --posts 1000 > address
      """)

  private static func row(_ option: Misbehaviour.Option) -> String {
    let value = option.placeholder.isEmpty ? "" : "=" + option.placeholder
    return "  \(Format.padded(option.name + value, 20))  \(option.help)"
  }

  @Option(name: .shortAndLong, help: "Port to listen on; 0 selects a free port.")
  var port = 8080

  @Option(name: .long, help: "Number of posts in the feed.")
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
            _ = SystemIO.writeAll(line, to: 1)
          }
        }
      } catch let failure as DemoServer.Failure {
        guard failure.message.contains("Address already in use") else {
          throw Failure(.failed, failure.message)
        }
        throw Failure(
          .failed,
          "port \(port) is in use already; choose another with --port N, or a free one with --port 0"
        )
      }
    }
  }
}

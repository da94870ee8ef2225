import ArgumentParser
import Foundation
import GQLRunDemoServer
import GQLRunSupport

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Run the demo server: the countries of the world and a feed of any size.",
    discussion: """
      It listens on the loopback address only. A request can ask it to misbehave, in the URL or in \
      header fields (X-Demo-…), such as http://127.0.0.1:8080/graphql?status=503&times=2:
      \(Misbehaviour.options.map { Self.row($0) }.joined(separator: "\n"))

      EXAMPLES
        gqlrun serve --port 4000
        gqlrun serve --port 0 > address
      """)

  private static func row(_ option: Misbehaviour.Option) -> String {
    let value = option.placeholder.isEmpty ? "" : "=" + option.placeholder
    return "  \(Format.padded(option.name + value, 20))  \(option.help)"
  }

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

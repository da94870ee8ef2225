import Feed
import Foundation
import GQLRun

/// The commands of the app. Each is what a screen does.
@main
struct TypedApp {
  static let usage = """
    usage: typed-app login TOKEN | logout | posts [PAGES] | show ID | like ID | follow ID [EVENTS]
    """

  let client: PipelineClient
  let posts: GraphQLPostRepository
  let session: Session

  static func main() async {
    do {
      let environment = ProcessInfo.processInfo.environment
      let client = try await PipelineClient(file: "feed.pipeline.yaml")
      try await client.shutdown {
        let app = TypedApp(
          client: $0, posts: GraphQLPostRepository(client: $0),
          session: Session(file: environment["FEED_TOKEN"] ?? "token.txt"))
        try await app.run(Array(CommandLine.arguments.dropFirst()))
      }
    } catch FeedError.loginRequired {
      fail("The server needs a valid token: typed-app login TOKEN")
    } catch FeedError.failed(let message) {
      fail(message)
    } catch {
      fail("\(error)")
    }
  }

  func run(_ arguments: [String]) async throws {
    switch (arguments.first, arguments.dropFirst().first) {
    case ("login", let token?):
      try await session.logIn(token: token, posts)
      print("logged in")
    case ("logout", nil):
      try await session.logOut(client)
      print("logged out")
    case ("posts", let pages): try await list(pages: pages.flatMap { Int($0) } ?? 1)
    case ("show", let id?): show(try await existing(id))
    case ("like", let id?): try await like(id)
    case ("follow", let id?):
      try await follow(id, events: arguments.last.flatMap { Int($0) } ?? .max)
    default: throw FeedError.failed(Self.usage)
    }
  }

  @MainActor private func list(pages: Int) async throws {
    let model = FeedModel(repository: posts)
    for _ in 0..<max(pages, 0) where model.status == .more { await model.loadMore() }
    if case .failed(let error) = model.status { throw error }
    for post in model.posts { print(post.id, post.title, "by", post.author) }
  }

  private func show(_ details: PostDetails) {
    print(
      "\(details.post.title)\nby \(details.post.author), \(details.publishedAt.ISO8601Format())")
    print("\(details.post.likes) likes\n\n\(details.body)")
    for comment in details.comments { print("\n\(comment.author): \(comment.body)") }
  }

  /// Prints the likes before, the expected and the confirmed number, as a screen would show them.
  private func like(_ id: String) async throws {
    let post = try await existing(id).post
    async let shown: Void = {
      for try await change in posts.changes(of: id) {
        print(change.post.likes, "likes")
        if change.post.likes > post.likes { break }
      }
    }()
    try await posts.like(post)
    try await shown
  }

  private func follow(_ id: String, events: Int) async throws {
    var left = events
    for try await likes in posts.followLikes(of: id) {
      print(likes, "likes")
      left -= 1
      if left <= 0 { break }
    }
  }

  private func existing(_ id: String) async throws -> PostDetails {
    guard let details = try await posts.details(of: id) else {
      throw FeedError.failed("There is no post \(id).")
    }
    return details
  }

  private static func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data("typed-app: \(message)\n".utf8))
    exit(1)
  }
}

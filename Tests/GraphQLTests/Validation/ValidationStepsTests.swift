import GQLRunLanguage
import Testing

@Suite(Shared.whenPresent) struct ValidationStepsTests {
  static let operation = """
    query Issues($owner: String!, $name: String!, $first: Int = 20, $after: String, $login: String!) {
      rateLimit { cost remaining resetAt }
      viewer { login avatarUrl(size: 64) ...Person }
      repository(owner: $owner, name: $name) {
        id nameWithOwner description url isPrivate stargazerCount
        owner { __typename login ... on User { ...Person } ... on Organization { name description } }
        primaryLanguage { name color }
        issues(first: $first, after: $after, states: [OPEN], orderBy: {field: UPDATED_AT, direction: DESC}) {
          totalCount
          pageInfo { hasNextPage endCursor }
          edges {
            cursor
            node {
              id number title state createdAt updatedAt bodyText
              author { login ... on User { ...Person } }
              labels(first: 10) { nodes { id name color } }
              assignees(first: 5) { nodes { ...Person } }
              comments(last: 5) {
                totalCount
                nodes { id body createdAt author { login } reactionGroups { content users { totalCount } } }
              }
            }
          }
        }
        pullRequests(last: 10, states: [MERGED]) {
          nodes {
            id number title mergedAt additions deletions
            commits(last: 1) { nodes { commit { oid messageHeadline statusCheckRollup { state } } } }
            reviews(first: 3) { nodes { state author { login } submittedAt } }
          }
        }
      }
      search(query: "is:issue", type: ISSUE, first: 5) {
        nodes { __typename ... on Issue { id title url } ... on PullRequest { id title url } }
      }
      user(login: $login) { ...Person followers { totalCount } }
    }
    fragment Person on User { id login name company bio createdAt }
    """

  @Test func `an operation takes a few validation steps against the schema of GitHub`() throws {
    let schema = try Schema(sdl: try Document(parsingUTF8: try Shared.real("github.graphql")))
    let document = try Document(parsing: Self.operation)
    let options = ValidationOptions(maxSteps: Self.operation.utf8.count)
    #expect(document.validate(against: schema, options: options).map(\.description) == [])
  }
}

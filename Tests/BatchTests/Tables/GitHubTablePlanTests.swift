import Foundation
import GQLRunCache
import GQLRunLanguage
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

/// Plans of documents for GitHub's public schema, in the folder that working copies share: `$GQLRUN_SHARED`, else `../shared`.
@Suite(
  "Plans of tables for GitHub", .enabled(if: FileManager.default.fileExists(atPath: GitHub.path)))
struct GitHubTablePlanTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let query: String
    let tables: [String]
    let connections: [String]
    var testDescription: String { name }
  }

  @Test("the tables and continuations of real documents", arguments: GitHub.cases)
  func plan(of example: Case) throws {
    let schema = try #require(GitHub.schema)
    let document = try Document(parsing: example.query)
    #expect(document.validate(against: schema) == [])
    let plan = try TablePlanTests.plan(example.query, in: schema)
    #expect(plan.tableLines == example.tables)
    #expect(plan.connectionLines == example.connections)
    #expect(plan.template.callerDocument.validate(against: schema) == [])
    #expect(try Document(parsing: plan.template.document).validate(against: schema) == [])
  }

  @Test("a connection of a type without an id is refused, or its first page is accepted")
  func withoutID() throws {
    let query = """
      { organization(login: "a") { projectV2(number: 1) { items(first: 100) { nodes { fieldValues(first: 50) { nodes {
        ... on ProjectV2ItemFieldLabelValue { labels(first: 10) { nodes { name } } } } } } } } } }
      """
    let error = #expect(throws: TablePlanError.self) {
      try TablePlanTests.plan(query, in: GitHub.schema)
    }
    #expect(
      error?.lines == [
        "2:41: the pages of `organization.projectV2.items.nodes.fieldValues.nodes.labels` after the first cannot be "
          + "requested: `ProjectV2ItemFieldLabelValue` has no key: it has no field `id`"
      ])
    var settings = TablesSettings()
    settings.allowPartial = true
    let plan = try TablePlanTests.plan(query, in: GitHub.schema, settings: settings)
    #expect(plan.connections.count == 3 && plan.notes.count == 1)
  }
}

private enum GitHub {
  static let path = Repository.shared + "/real/github.graphql"
  static let schema: Schema? = FileManager.default.contents(atPath: path).flatMap { text in
    (try? Document(parsingUTF8: Array(text))).flatMap { try? Schema(sdl: $0) }
  }

  static let cases: [GitHubTablePlanTests.Case] = [
    GitHubTablePlanTests.Case(
      name: "issues with labels, comments and their reactions",
      query: """
        query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) {
        nameWithOwner issues(first: 50, states: OPEN) { totalCount nodes { number title state
        createdAt author { login } labels(first: 20) { nodes { name color } } comments(first: 50) {
        nodes { body createdAt author { login } reactions(first: 10) { nodes { content user { login
        } } } } } assignees(first: 10) { nodes { login } } } } } }
        """,
      tables: [
        "repository: nameWithOwner text, issues_totalCount integer (Query.repository)",
        "repository_issues < repository: number integer, title text, state text, createdAt any, author_login text (Repository.issues)",
        "repository_issues_labels < repository_issues: name text, color text (Issue.labels)",
        "repository_issues_comments < repository_issues: body text, createdAt any, author_login text (Issue.comments)",
        "repository_issues_comments_reactions < repository_issues_comments: content text, user_login text (IssueComment.reactions)",
        "repository_issues_assignees < repository_issues: login text (Issue.assignees)",
      ],
      connections: [
        "repository.issues: path; first 50, after; 1",
        "repository.issues.nodes.labels: node(id: id) of Issue; first 20, after; 2",
        "repository.issues.nodes.comments: node(id: id) of Issue; first 50, after; 3",
        "repository.issues.nodes.comments.nodes.reactions: node(id: id) of IssueComment; first 10, after; 4",
        "repository.issues.nodes.assignees: node(id: id) of Issue; first 10, after; 5",
      ]),
    GitHubTablePlanTests.Case(
      name: "members of an organization and of its teams",
      query: """
        { organization(login: "a") { membersWithRole(first: 100) { edges { role hasTwoFactorEnabled
        node { login name } } } teams(first: 50) { nodes { name slug members(first: 100) { edges {
        role node { login } } } } } } }
        """,
      tables: [
        "organization_membersWithRole: role text, hasTwoFactorEnabled boolean, login text, name text (Organization.membersWithRole)",
        "organization_teams: name text, slug text (Organization.teams)",
        "organization_teams_members < organization_teams: role text, login text (Team.members)",
      ],
      connections: [
        "organization.membersWithRole: path; first 100, after; 0",
        "organization.teams: path; first 50, after; 1",
        "organization.teams.nodes.members: node(id: id) of Team; first 100, after; 2",
      ]),
    GitHubTablePlanTests.Case(
      name: "a search over two types",
      query: """
        query($q: String!, $after: String) { search(query: $q, type: ISSUE, first: 25, after:
        $after) { issueCount nodes { __typename ... on Issue { number title comments(first: 20) {
        nodes { body } } } ... on PullRequest { number title merged comments(first: 20) { nodes {
        body } } } } } rateLimit { cost remaining } }
        """,
      tables: [
        "search: __typename text, number integer, title text, merged boolean (Query.search)",
        "search_comments < search: body text (Issue.comments)",
      ],
      connections: [
        "search: path; first 25, after; 0",
        "search.nodes.comments: node(id: id) of Issue; first 20, after; 1",
      ]),
    GitHubTablePlanTests.Case(
      name: "items of a project with values of several types",
      query: """
        query { organization(login: "a") { projectV2(number: 1) { title items(first: 100) { nodes {
        type content { ... on Issue { number title } ... on PullRequest { number title } ... on
        DraftIssue { title } } labels: fieldValueByName(name: "Labels") { ... on
        ProjectV2ItemFieldLabelValue { labels(first: 10) { nodes { name } } } } fieldValues(first:
        50) { nodes { ... on ProjectV2ItemFieldTextValue { text field { ...FieldName } } ... on
        ProjectV2ItemFieldSingleSelectValue { name field { ...FieldName } } ... on
        ProjectV2ItemFieldNumberValue { number field { ...FieldName } } } } } } } } } fragment
        FieldName on ProjectV2FieldCommon { name }
        """,
      tables: [
        "organization_projectV2: title text (Organization.projectV2)",
        "organization_projectV2_items < organization_projectV2: type text, content_number integer, content_title text (ProjectV2.items)",
        "organization_projectV2_items_labels_labels < organization_projectV2_items: name text (ProjectV2ItemFieldLabelValue.labels)",
        "organization_projectV2_items_fieldValues < organization_projectV2_items: text text, field_name text, name text, number real (ProjectV2Item.fieldValues)",
      ],
      connections: [
        "organization.projectV2.items: path; first 100, after; 1",
        "organization.projectV2.items.nodes.labels.labels: node(id: id) of ProjectV2Item; first 10, after; 2",
        "organization.projectV2.items.nodes.fieldValues: node(id: id) of ProjectV2Item; first 50, after; 3",
      ]),
    GitHubTablePlanTests.Case(
      name: "reviews of pull requests with their comments, from the last page",
      query: """
        { repository(owner: "a", name: "b") { pullRequests(last: 30) { nodes { number reviews(first:
        20) { nodes { state author { login } comments(first: 50) { nodes { path body } } } }
        files(first: 100) { nodes { path additions } } } } } }
        """,
      tables: [
        "repository_pullRequests: number integer (Repository.pullRequests)",
        "repository_pullRequests_reviews < repository_pullRequests: state text, author_login text (PullRequest.reviews)",
        "repository_pullRequests_reviews_comments < repository_pullRequests_reviews: path text, body text (PullRequestReview.comments)",
        "repository_pullRequests_files < repository_pullRequests: path text, additions integer (PullRequest.files)",
      ],
      connections: [
        "repository.pullRequests: path; last 30, before; 0",
        "repository.pullRequests.nodes.reviews: node(id: id) of PullRequest; first 20, after; 1",
        "repository.pullRequests.nodes.reviews.nodes.comments: node(id: id) of PullRequestReview; first 50, after; 2",
        "repository.pullRequests.nodes.files: node(id: id) of PullRequest; first 100, after; 3",
      ]),
    GitHubTablePlanTests.Case(
      name: "stargazers and languages, whose edges have fields",
      query: """
        { repository(owner: "a", name: "b") { id stargazerCount stargazers(first: 100, orderBy: {
        field: STARRED_AT, direction: ASC }) { edges { starredAt node { login } } } languages(first:
        10) { edges { size node { name } } } } }
        """,
      tables: [
        "repository: id text, stargazerCount integer (Query.repository)",
        "repository_stargazers < repository: starredAt any, login text (Repository.stargazers)",
        "repository_languages < repository: size integer, name text (Repository.languages)",
      ],
      connections: [
        "repository.stargazers: path; first 100, after; 1",
        "repository.languages: path; first 10, after; 2",
      ]),
    GitHubTablePlanTests.Case(
      name: "the history of default branches",
      query: """
        { viewer { repositories(first: 50, ownerAffiliations: OWNER) { nodes { nameWithOwner
        repositoryTopics(first: 20) { nodes { topic { name } } } defaultBranchRef { target { ... on
        Commit { oid history(first: 50) { nodes { oid committedDate author { user { login } } } } }
        } } } } } }
        """,
      tables: [
        "viewer_repositories: nameWithOwner text, defaultBranchRef_target_oid any (User.repositories)",
        "viewer_repositories_repositoryTopics < viewer_repositories: topic_name text (Repository.repositoryTopics)",
        "viewer_repositories_defaultBranchRef_target_history < viewer_repositories: oid any, committedDate any, author_user_login text (Commit.history)",
      ],
      connections: [
        "viewer.repositories: path; first 50, after; 0",
        "viewer.repositories.nodes.repositoryTopics: node(id: id) of Repository; first 20, after; 1",
        "viewer.repositories.nodes.defaultBranchRef.target.history: node(id: defaultBranchRef.target.id) of Commit; first 50, after; 2",
      ]),
    GitHubTablePlanTests.Case(
      name: "discussions with replies and polls",
      query: """
        { repository(owner: "a", name: "b") { discussions(first: 20) { nodes { title category { name
        } comments(first: 20) { nodes { body replies(first: 20) { nodes { body } } } } poll {
        question options(first: 10) { nodes { option totalVoteCount } } } } } } }
        """,
      tables: [
        "repository_discussions: title text, category_name text, poll_question text (Repository.discussions)",
        "repository_discussions_comments < repository_discussions: body text (Discussion.comments)",
        "repository_discussions_comments_replies < repository_discussions_comments: body text (DiscussionComment.replies)",
        "repository_discussions_poll_options < repository_discussions: option text, totalVoteCount integer (DiscussionPoll.options)",
      ],
      connections: [
        "repository.discussions: path; first 20, after; 0",
        "repository.discussions.nodes.comments: node(id: id) of Discussion; first 20, after; 1",
        "repository.discussions.nodes.comments.nodes.replies: node(id: id) of DiscussionComment; first 20, after; 2",
        "repository.discussions.nodes.poll.options: node(id: poll.id) of DiscussionPoll; first 10, after; 3",
      ]),
    GitHubTablePlanTests.Case(
      name: "releases with assets",
      query: """
        { repository(owner: "a", name: "b") { releases(first: 20) { nodes { tagName isDraft
        releaseAssets(first: 50) { nodes { name downloadCount } } mentions(first: 10) { nodes {
        login } } } } } }
        """,
      tables: [
        "repository_releases: tagName text, isDraft boolean (Repository.releases)",
        "repository_releases_releaseAssets < repository_releases: name text, downloadCount integer (Release.releaseAssets)",
        "repository_releases_mentions < repository_releases: login text (Release.mentions)",
      ],
      connections: [
        "repository.releases: path; first 20, after; 0",
        "repository.releases.nodes.releaseAssets: node(id: id) of Release; first 50, after; 1",
        "repository.releases.nodes.mentions: node(id: id) of Release; first 10, after; 2",
      ]),
    GitHubTablePlanTests.Case(
      name: "collaborators of the repositories of a node",
      query: """
        { node(id: "x") { ... on Organization { login repositories(first: 100) { nodes { name
        collaborators(first: 100) { edges { permission permissionSources { organization { login } }
        node { login } } } } } } } }
        """,
      tables: [
        "node: login text (Query.node)",
        "node_repositories < node: name text (Organization.repositories)",
        "node_repositories_collaborators < node_repositories: permission text, login text (Repository.collaborators)",
        "node_repositories_collaborators_permissionSources < node_repositories_collaborators: organization_login text (RepositoryCollaboratorEdge.permissionSources)",
      ],
      connections: [
        "node.repositories: path; first 100, after; 1",
        "node.repositories.nodes.collaborators: node(id: id) of Repository; first 100, after; 2",
      ]),
    GitHubTablePlanTests.Case(
      name: "the timeline of a pull request, a union of many types",
      query: """
        { repository(owner: "a", name: "b") { pullRequest(number: 1) { timelineItems(first: 100) {
        nodes { ... on LabeledEvent { createdAt label { name } } ... on PullRequestReview { state
        submittedAt } } } } } }
        """,
      tables: [
        "repository_pullRequest_timelineItems: createdAt any, label_name text, state text, submittedAt any (PullRequest.timelineItems)"
      ],
      connections: [
        "repository.pullRequest.timelineItems: path; first 100, after; 0"
      ]),
  ]
}

import GQLRunLanguage

/// The demo server's schema in the schema definition language.
enum SchemaSDL {
  static let text = #"""
    """
    The demo server: the countries of the world, a generated feed and a generated shop of any size,
    repositories with issues, and fields that fail on purpose.
    """
    schema {
      query: Query
      mutation: Mutation
      subscription: Subscription
    }

    "Delivers a fragment after the rest of the response."
    directive @defer(
      if: Boolean! = true
      "A text that the client uses to recognize the fragment."
      label: String
    ) on FRAGMENT_SPREAD | INLINE_FRAGMENT

    "Delivers the elements of a list after the rest of the response."
    directive @stream(
      if: Boolean! = true
      "A text that the client uses to recognize the list."
      label: String
      "The number of elements that the rest of the response has."
      initialCount: Int! = 0
    ) on FIELD

    type Query {
      continent(code: ID!): Continent
      continents(filter: ContinentFilterInput = {}): [Continent!]!
      "One country by its ISO 3166-1 code, or null when there is none."
      country(code: ID!): Country
      countries(filter: CountryFilterInput = {}): [Country!]!
      language(code: ID!): Language
      languages(filter: LanguageFilterInput = {}): [Language!]!
      """
      Generated posts: the same post is always the same, whatever the page. The answer is streamed, so
      `first` may be millions.
      """
      feed(
        "How many posts to return, at least 0."
        first: Int!
        "The cursor of the post before the first one wanted."
        after: String
      ): PostConnection!
      "A user, tag, post or comment by its id, or null when there is none."
      node(id: ID!): Node
      "Nodes in the order of the ids, with null for those there are not."
      nodes(ids: [ID!]!): [Node]!
      user(id: ID!): User
      "The first users, of all roles or of one, among the first thousand."
      users(role: Role, first: Int! = 10): [User!]!
      post(id: ID!): Post
      "Posts and users whose title or login contains the text, among the first thousand of each."
      search(text: String!, first: Int! = 10): [SearchResult!]!
      "The customers of a generated shop, by id."
      customers(
        first: Int = 50
        after: String
        "Only customers that have changed after this time."
        updatedAfter: DateTime
      ): CustomerConnection!
      customer(id: ID!): Customer
      "An order by its id, or null when there is none; orders are no `Node`s."
      order(id: ID!): Order
      "`gqlrun/app`, `gqlrun/server` or `gqlrun/docs`, or null."
      repository(owner: String!, name: String!): Repository
      "Fields that fail, to see errors, partial data and null propagation."
      trouble: Trouble
    }

    type Mutation {
      "Adds a like to a post; null when there is no such post. Kept in memory."
      likePost(id: ID!): Post
      "Adds a comment to a post and returns it. Kept in memory."
      addComment(input: AddCommentInput!): Comment!
      "Changes the name of a customer; null when there is none. Kept in memory."
      renameCustomer(id: ID!, name: String!): Customer
      "Closes an issue; null when there is none. Kept in memory."
      closeIssue(id: ID!): Issue
      "Describes a file, which is hashed as it arrives and not stored."
      uploadFile(file: Upload!): UploadedFile!
      "Describes files, in the order of the list."
      uploadFiles(files: [Upload!]!): [UploadedFile!]!
      "Describes the files of an input object."
      attach(input: AttachInput!): [UploadedFile!]!
    }

    type Subscription {
      "The post as it is, at once and after each like."
      likesChanged(post: ID!): Post!
      "Counts down to 0, an event per number."
      countdown(
        "The first number, at least 0."
        from: Int!
        "Milliseconds between two events, from 0 to 60000."
        delay: Int! = 100
        "The number whose event is an error without data."
        failAt: Int
      ): Int!
    }

    type Continent {
      code: ID!
      name: String!
      countries: [Country!]!
    }

    type Country {
      "The ISO 3166-1 alpha-2 code."
      code: ID!
      """
      The name in English, or in the language given: `de`, `es`, `fr`, `ja`, or the country's own first
      language.
      """
      name(lang: String): String!
      "The name in the country's own language."
      native: String!
      "The calling codes, joined by commas."
      phone: String!
      phones: [String!]!
      capital: String
      "The ISO 4217 codes of the currencies, joined by commas."
      currency: String
      currencies: [String!]!
      continent: Continent!
      languages: [Language!]!
      "The flag."
      emoji: String!
      "The flag as code points, such as `U+1F1E8 U+1F1E6`."
      emojiU: String!
      "States, provinces or the like; empty for most countries."
      states: [State!]!
      subdivisions: [Subdivision!]!
    }

    type Language {
      code: ID!
      name: String!
      native: String!
      "Whether it is written from right to left."
      rtl: Boolean!
      countries: [Country!]!
    }

    type State {
      code: String
      name: String!
      country: Country!
    }

    type Subdivision {
      code: ID!
      name: String!
      emoji: String
    }

    input CountryFilterInput {
      code: StringQueryOperatorInput
      name: StringQueryOperatorInput
      continent: StringQueryOperatorInput
      currency: StringQueryOperatorInput
    }

    input ContinentFilterInput {
      code: StringQueryOperatorInput
    }

    input LanguageFilterInput {
      code: StringQueryOperatorInput
    }

    "All conditions that are given must hold."
    input StringQueryOperatorInput {
      eq: String
      ne: String
      in: [String!]
      nin: [String!]
      "A regular expression that matches somewhere in the value."
      regex: String
      "A pattern for the whole value, where `*` matches any text and `?` one character."
      glob: String
    }

    "A time in ISO 8601, such as `2026-01-01T00:00:00Z`."
    scalar DateTime @specifiedBy(url: "https://scalars.graphql.org/andimarek/date-time")

    "An object with an identity of its own."
    interface Node {
      id: ID!
    }

    union SearchResult = Post | User

    type User implements Node {
      id: ID!
      login: String!
      name: String
      bio: String
      avatarUrl: String!
      followers: Int!
      reputation: Float
      role: Role!
    }

    enum Role {
      ADMIN
      MEMBER
      GUEST @deprecated(reason: "Guests are members now.")
    }

    type Tag implements Node {
      id: ID!
      name: String!
      color: String
    }

    type Post implements Node {
      id: ID!
      title: String!
      body: String!
      publishedAt: DateTime!
      likeCount: Int!
      likes: Int! @deprecated(reason: "Use `likeCount`.")
      ratio: Float!
      isPinned: Boolean!
      author: User!
      tags: [Tag!]!
      comments(first: Int!, after: String): CommentConnection!
    }

    type PostConnection {
      totalCount: Int!
      edges: [PostEdge!]!
      pageInfo: PageInfo!
    }

    type PostEdge {
      cursor: String!
      node: Post!
    }

    type Comment implements Node {
      id: ID!
      body: String!
      createdAt: DateTime!
      author: User!
      score: Int!
    }

    type CommentConnection {
      totalCount: Int!
      edges: [CommentEdge!]!
      pageInfo: PageInfo!
    }

    type CommentEdge {
      cursor: String!
      node: Comment!
    }

    type PageInfo {
      hasNextPage: Boolean!
      endCursor: String
    }

    type Customer implements Node {
      id: ID!
      name: String!
      email: String
      tags: [String!]!
      address: Address
      createdAt: DateTime!
      updatedAt: DateTime!
      orders(first: Int = 50, after: String): OrderConnection!
    }

    type CustomerConnection {
      totalCount: Int!
      edges: [CustomerEdge!]!
      nodes: [Customer!]!
      pageInfo: PageInfo!
    }

    type CustomerEdge {
      cursor: String!
      node: Customer!
    }

    type Address {
      street: String!
      city: String!
      country: Country!
    }

    type Order {
      id: ID!
      status: OrderStatus!
      placedAt: DateTime!
      "The sum over all lines of the price times the quantity."
      total: Float!
      isPaid: Boolean!
      note: String
      customer: Customer!
      lines(first: Int = 50, after: String): LineConnection!
    }

    enum OrderStatus {
      OPEN
      SHIPPED
      RETURNED
    }

    type OrderConnection {
      totalCount: Int!
      edges: [OrderEdge!]!
      nodes: [Order!]!
      pageInfo: PageInfo!
    }

    type OrderEdge {
      cursor: String!
      node: Order!
    }

    type Line {
      id: ID!
      product: Product!
      quantity: Int!
      price: Float!
    }

    type LineConnection {
      totalCount: Int!
      edges: [LineEdge!]!
      nodes: [Line!]!
      pageInfo: PageInfo!
    }

    type LineEdge {
      cursor: String!
      node: Line!
    }

    type Product {
      sku: ID!
      name: String!
    }

    "A repository as GitHub's schema has it, with fewer fields."
    type Repository implements Node {
      id: ID!
      name: String!
      nameWithOwner: String!
      issues(first: Int = 50, after: String, filterBy: IssueFilters): IssueConnection!
      labels(first: Int = 50, after: String): LabelConnection!
    }

    input IssueFilters {
      "Only issues that have changed at this time or later."
      since: DateTime
    }

    type Issue implements Node {
      id: ID!
      number: Int!
      title: String!
      body: String!
      state: IssueState!
      createdAt: DateTime!
      updatedAt: DateTime!
      closedAt: DateTime
      author: User
      labels(first: Int = 50, after: String): LabelConnection!
      comments(first: Int = 50, after: String): IssueCommentConnection!
    }

    enum IssueState {
      OPEN
      CLOSED
    }

    type IssueConnection {
      totalCount: Int!
      edges: [IssueEdge!]!
      nodes: [Issue!]!
      pageInfo: PageInfo!
    }

    type IssueEdge {
      cursor: String!
      node: Issue!
    }

    type IssueComment implements Node {
      id: ID!
      body: String!
      createdAt: DateTime!
      author: User
    }

    type IssueCommentConnection {
      totalCount: Int!
      edges: [IssueCommentEdge!]!
      nodes: [IssueComment!]!
      pageInfo: PageInfo!
    }

    type IssueCommentEdge {
      cursor: String!
      node: IssueComment!
    }

    type Label implements Node {
      id: ID!
      name: String!
      color: String!
    }

    type LabelConnection {
      totalCount: Int!
      edges: [LabelEdge!]!
      nodes: [Label!]!
      pageInfo: PageInfo!
    }

    type LabelEdge {
      cursor: String!
      node: Label!
    }

    input AddCommentInput {
      postId: ID!
      body: String!
    }

    "A file of a form that follows the multipart request specification."
    scalar Upload @specifiedBy(url: "https://github.com/jaydenseric/graphql-multipart-request-spec")

    "A number of bytes, which may be larger than an `Int`."
    scalar ByteCount

    "A file that a request contained."
    type UploadedFile {
      "The file name, as it was sent."
      filename: String!
      "The media type, as it was sent."
      contentType: String!
      size: ByteCount!
      "The SHA-256 of the contents in hexadecimal digits."
      sha256: String!
    }

    input AttachInput {
      attachments: [Upload!]!
    }

    "Fields that fail on purpose."
    type Trouble {
      ok: String!
      "Always an error, and null."
      error(message: String! = "This field always fails.", code: String! = "DEMO_ERROR"): String
      "Always an error; being non-null, it nulls the nearest nullable field around it."
      requiredError(message: String! = "This field always fails."): String!
      "Numbers from 0, where every `failEvery`th is an error and null."
      items(size: Int! = 3, failEvery: Int! = 2): [Int]!
      "The same, where the first error nulls the list."
      requiredItems(size: Int! = 3, failEvery: Int! = 2): [Int!]
      nested: Trouble
      requiredNested: Trouble!
    }
    """#
}

extension Schema {
  /// The schema of the demo server.
  static let demo: Schema = {
    do {
      return try Schema(sdl: Document(parsing: SchemaSDL.text)).withCapabilities
    } catch {
      preconditionFailure("the demo's schema is wrong: \(error)")
    }
  }()
}

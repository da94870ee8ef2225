import GQLRunJSON

extension Resolvers {
  /// The fields of the types of ``ListedObject`` and of their connections.
  static let listFields: [String: [String: FieldBehaviour]] = {
    var all = [
      "Customer": customerFields, "Address": addressFields, "Order": orderFields,
      "Line": lineFields, "Product": productFields, "Repository": repositoryFields,
      "Issue": issueFields, "IssueComment": issueCommentFields, "Label": labelFields,
    ]
    for kind in ListedObject.Kind.allCases where kind != .repository {
      all["\(kind.typeName)Connection"] = connectionFields
      all["\(kind.typeName)Edge"] = edgeFields
    }
    return all
  }()

  /// The fields of the query type that begin the lists.
  static let listRootFields: [String: FieldBehaviour] = [
    "customers": root { arguments, context in
      let numbers = context.lists.changed(
        .customer, in: 0..<context.lists.customers,
        after: arguments["updatedAfter"]?.stringValue.flatMap(DemoTime.seconds),
        inclusive: false, edits: context.edits.lists)
      return page(of: .customer, numbers, arguments)
    }.refusing { badPage(.customer, $0) ?? badTime("updatedAfter", $0["updatedAfter"]) },
    "customer": object(.customer),
    "order": object(.order),
    "repository": root { arguments, _ in
      guard arguments.text("owner") == "gqlrun",
        let number = Lists.repositories.firstIndex(where: { $0.name == arguments.text("name") })
      else { return .null }
      return .object(.listed(ListedObject(.repository, number)))
    },
  ]

  /// The fields of the mutation type that change objects of lists.
  static let listMutationFields: [String: FieldBehaviour] = [
    "renameCustomer": change(.customer), "closeIssue": change(.issue),
  ]

  private static func object(_ kind: ListedObject.Kind) -> FieldBehaviour {
    root { arguments, context in .optional(listed(arguments, as: kind, context).map(Entity.listed))
    }
  }

  private static func change(_ kind: ListedObject.Kind) -> FieldBehaviour {
    root { arguments, context in
      guard let object = listed(arguments, as: kind, context) else { return .null }
      let name = arguments["name"]?.stringValue
      return changing(&context) { (store) throws(RequestError) in
        try store.change { (edits) throws(RequestError) in
          try edits.lists.change(object, name: name)
          return .listed(object)
        }
      }
    }.failing()
  }

  /// The object of the argument `id`; `nil` if it has another type, or there is none.
  private static func listed(
    _ arguments: Arguments, as kind: ListedObject.Kind, _ context: ResolverContext
  ) -> ListedObject? {
    guard let object = ListedObject(id: arguments.text("id")), object.kind == kind,
      context.lists.contains(object)
    else { return nil }
    return object
  }

  /// Extracts the parent of the fields of a type.
  private static func parent(
    _ kind: ListedObject.Kind
  ) -> @Sendable (Entity) -> ListedObject? {
    { entity in
      guard case .listed(let object) = entity, object.kind == kind else { return nil }
      return object
    }
  }

  /// A field that is a connection of objects of a kind.
  private static func list(
    _ kind: ListedObject.Kind, of owner: ListedObject.Kind,
    _ numbers: @escaping @Sendable (ListedObject) -> NumberList
  ) -> FieldBehaviour {
    FieldBehaviour(of: parent(owner)) { object, arguments, _ in
      page(of: kind, numbers(object), arguments)
    }.refusing { badPage(kind, $0) }
  }

  private static func page(
    of kind: ListedObject.Kind, _ all: NumberList, _ arguments: Arguments
  ) -> ResolvedValue {
    let after = arguments["after"]?.stringValue.flatMap(ListedObject.init(cursor:))
    let positions = all.page(after: after?.number, first: arguments["first"]?.intValue ?? 50)
    return .object(
      .page(
        ResolvedPage(elementType: kind.typeName, total: all.count, positions: positions) {
          .listed(ListedObject(kind, all[$0]))
        }))
  }

  /// An error if `first` is negative, or `after` is no cursor of a kind of object.
  private static func badPage(
    _ kind: ListedObject.Kind, _ arguments: Arguments
  ) -> RequestError? {
    if let error = arguments.refusal(of: "first") { return error }
    guard let after = arguments["after"]?.stringValue,
      ListedObject(cursor: after)?.kind != kind
    else { return nil }
    return RequestError(
      .badUserInput,
      "Argument \"after\" is not the cursor of an object of the type "
        + "\"\(kind.typeName)\".")
  }

  /// An error if a value is no time.
  private static func badTime(_ name: String, _ value: JSONValue?) -> RequestError? {
    guard let value, !value.isNull, value.stringValue.flatMap(DemoTime.seconds) == nil else {
      return nil
    }
    return RequestError(
      .badUserInput, "\"\(name)\" must be a time such as 2026-01-01T00:00:00Z.")
  }

  // MARK: The shop

  private static let customerFields = fields(
    of: parent(.customer),
    [
      "id": id,
      "name": { customer, _, context in
        .string(context.edits.lists.changes[customer]?.name ?? name(of: customer))
      },
      "email": { customer, _, _ in
        .optional(
          customer.number % 17 == 16 ? nil : "customer\(customer.number)@shop.example.com")
      },
      "tags": { customer, _, _ in
        let chosen = customer.draw(2).below(8)
        let tags = ["newsletter", "wholesale", "vip"].enumerated()
        return .list(tags.filter { chosen >> $0.offset & 1 == 1 }) { .string($0.element) }
      },
      "address": { customer, _, _ in
        customer.number % 13 == 12 ? .null : .object(.address(customer))
      },
      "createdAt": { customer, _, context in
        let days = 400 + customer.draw(3).below(400)
        return time(context.lists.updatedAt(customer, ListEdits()) - days * 86_400)
      },
      "updatedAt": updatedAt,
    ],
    others: [
      "orders": list(.order, of: .customer) {
        NumberList(rest: Lists.orders.numbers(of: $0.number))
      }
    ])

  private static let addressFields = fields(
    of: { entity -> ListedObject? in if case .address(let value) = entity { value } else { nil } },
    [
      "street": { customer, _, _ in .string("\(1 + customer.draw(4).below(99)) Mill Street") },
      "city": { customer, _, context in
        let country = country(of: customer, context)
        return .string(country.capital ?? country.name)
      },
      "country": { customer, _, context in .object(.country(country(of: customer, context))) },
    ])

  private static func name(of customer: ListedObject) -> String {
    let first = ["Ada", "Bela", "Chidi", "Dana", "Emil", "Fatma", "Grace", "Hiro", "Ines", "Jörg"]
    let last = ["Abe", "Berg", "Costa", "Diaz", "Egger", "Okafor", "O'Neill", "Şahin", "Li", "Wu"]
    return "\(first[customer.draw(0).below(10)]) \(last[customer.draw(1).below(10)])"
  }

  private static func country(of customer: ListedObject, _ context: ResolverContext) -> Country {
    let all = context.geography.countries
    return all[customer.draw(5).below(all.count)]
  }

  private static let orderFields = fields(
    of: parent(.order),
    [
      "id": id,
      "status": { order, _, _ in .string(["OPEN", "SHIPPED", "SHIPPED", "RETURNED"][status(order)])
      },
      "placedAt": { order, _, context in time(context.lists.placedAt(order)) },
      "total": { order, _, _ in .float(Double(Lists.total(of: order)) / 100) },
      "isPaid": { order, _, _ in .boolean(status(order) != 0 || order.number % 2 == 0) },
      "note": { order, _, _ in
        order.number % 5 == 0 ? .text(FeedText(words: 8, draw: order.draw(1))) : .null
      },
      "customer": { order, _, _ in
        .object(.listed(ListedObject(.customer, Lists.orders.owner(of: order.number))))
      },
    ],
    others: [
      "lines": list(.line, of: .order) { NumberList(rest: Lists.lines.numbers(of: $0.number)) }
    ])

  private static func status(_ order: ListedObject) -> Int { order.draw(0).below(4) }

  private static let lineFields = fields(
    of: parent(.line),
    [
      "id": id,
      "product": { line, _, _ in .object(.product(Lists.product(of: line))) },
      "quantity": { line, _, _ in .int(Lists.quantity(of: line)) },
      "price": { line, _, _ in .float(Double(Lists.price(of: line)) / 100) },
    ])

  private static let productFields = fields(
    of: { entity -> Int? in if case .product(let value) = entity { value } else { nil } },
    [
      "sku": { product, _, _ in .string("SKU-\(1000 + product)") },
      "name": { product, _, _ in
        let kinds = ["Bolt", "Hinge", "Lamp", "Mug", "Rope", "Shelf", "Tile", "Vase"]
        return .string("\(kinds[product % kinds.count]) \(product)")
      },
    ])

  // MARK: Repositories

  private static let repositoryFields = fields(
    of: parent(.repository),
    refusals: ["issues": { badPage(.issue, $0) ?? badTime("since", since($0)) }],
    [
      "id": id,
      "name": { repository, _, _ in .string(Lists.repositories[repository.number].name) },
      "nameWithOwner": { repository, _, _ in
        .string("gqlrun/" + Lists.repositories[repository.number].name)
      },
      "issues": { repository, arguments, context in
        let numbers = context.lists.changed(
          .issue, in: Lists.repositories[repository.number].issues,
          after: since(arguments)?.stringValue.flatMap(DemoTime.seconds),
          inclusive: true, edits: context.edits.lists)
        return page(of: .issue, numbers, arguments)
      },
    ],
    others: [
      "labels": list(.label, of: .repository) { repository in
        let first = repository.number * Lists.labels.count
        return NumberList(rest: first..<(first + Lists.labels.count))
      }
    ])

  private static func since(_ arguments: Arguments) -> JSONValue? {
    arguments["filterBy"]?["since"]
  }

  private static let issueFields = fields(
    of: parent(.issue),
    [
      "id": id,
      "number": { issue, _, _ in
        let repository = Lists.repositories[Lists.repository(of: issue)]
        return .int(issue.number - repository.issues.lowerBound + 1)
      },
      "title": { issue, _, _ in
        let what = ["Crash", "Wrong result", "Slow", "No message", "Unclear message"]
        let whence = ["of an empty list", "after a restart", "without a network", "in a page"]
        return .string("\(what[issue.draw(2).below(5)]) \(whence[issue.draw(3).below(4)])")
      },
      "body": { issue, _, _ in .text(FeedText(words: 24, draw: issue.draw(4))) },
      "state": { issue, _, context in .string(isClosed(issue, context) ? "CLOSED" : "OPEN") },
      "createdAt": { issue, _, context in time(context.lists.createdAt(issue: issue)) },
      "updatedAt": updatedAt,
      "closedAt": { issue, arguments, context in
        isClosed(issue, context) ? updatedAt(issue, arguments, &context) : .null
      },
      "author": author,
    ],
    others: [
      "labels": list(.label, of: .issue, Lists.labels),
      "comments": list(.issueComment, of: .issue) {
        NumberList(rest: Lists.comments.numbers(of: $0.number))
      },
    ])

  private static func isClosed(_ issue: ListedObject, _ context: ResolverContext) -> Bool {
    context.edits.lists.changes[issue] != nil || issue.draw(5).below(3) > 0
  }

  private static let issueCommentFields = fields(
    of: parent(.issueComment),
    [
      "id": id,
      "body": { comment, _, _ in .text(FeedText(words: 14, draw: comment.draw(0))) },
      "createdAt": { comment, _, context in time(context.lists.createdAt(comment: comment)) },
      "author": author,
    ])

  private static let labelFields = fields(
    of: parent(.label),
    [
      "id": id,
      "name": { label, _, _ in .string(Lists.labels[label.number % Lists.labels.count]) },
      "color": { label, _, _ in
        .string(["d73a4a", "0075ca", "a2eeef", "7057ff", "008672", "d876e3"][label.number % 6])
      },
    ])

  // MARK: Fields of several types

  private static let id: FieldBody<ListedObject> = { object, _, _ in .string(object.id) }
  private static let updatedAt: FieldBody<ListedObject> = { object, _, context in
    time(context.lists.updatedAt(object, context.edits.lists))
  }
  /// A user of the feed; null for a few, whose account is gone.
  private static let author: FieldBody<ListedObject> = { object, _, context in
    guard object.number % 19 != 18, context.feed.size > 0 else { return .null }
    return .object(.user(User(number: object.draw(6).below(min(40, context.feed.userCount)))))
  }

  private static func time(_ seconds: Int) -> ResolvedValue { .string(DemoTime.text(seconds)) }
}

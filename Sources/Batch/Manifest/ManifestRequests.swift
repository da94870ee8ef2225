import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
package import GQLRunPipeline

/// The first requests of a manifest's tasks, without its journal and sinks: what a load repeats.
package struct ManifestRequests: Sendable {
  /// The requests of one operation, in the order of its rows.
  package struct Operation: Sendable {
    /// The operation's id.
    package var id: String
    /// One request for each row; at least one.
    package var requests: [GraphQLRequest]
    /// The conditions of `expect`.
    package var expectations: Expectations
  }

  /// One entry per query and mutation, in the manifest's order.
  package var operations: [Operation] = []
  /// One entry per subscription, in the manifest's order.
  package var subscriptions: [Operation] = []
  /// The ids of operations with more rows than were read.
  package var shortened: [String] = []
  /// The ids of mutations.
  package var mutations: [String] = []

  /// Reads the rows and creates the requests. A task with several pages has one request, for the first.
  ///
  /// - Parameters:
  ///   - manifest: The manifest.
  ///   - isStored: Whether the cache is used: for responses that are written to it or read from it.
  ///   - maxRows: The number of rows per operation after which no more are read.
  /// - Throws: ``RowProblems`` for rows that cannot be sent, for operations that need the results of others, and if all
  ///   are subscriptions; ``InputProblem`` if rows cannot be read; an error of the state file.
  package init(
    _ manifest: Manifest, isStored: Bool = false, maxRows: Int = 10_000
  ) throws {
    let state = try StateFile.read(manifest.stateFile)
    var problems: [String] = []
    for operation in manifest.operations {
      guard operation.needs.isEmpty else {
        problems.append(
          "\(operation.location): `\(operation.id)` needs the results of others, so its requests are known only in a run; "
            + "give it rows of its own")
        continue
      }
      if operation.template.type == .mutation { mutations.append(operation.id) }
      var entry = Operation(id: operation.id, requests: [], expectations: operation.expect)
      // What is emitted is known to sinks only.
      if let condition = operation.expect.ofRecords {
        problems.append(
          "\(operation.location): `expect` of `\(operation.id)` counts records (`\(condition)`), and a load emits none; "
            + "count a list of the data: `count(data.…)`")
      }
      var rows = TaskRows(TaskMaker(operation, state: state), RowContext(manifest: manifest))
      while problems.count < 50, let item = try rows.next() {
        guard entry.requests.count < maxRows else {
          shortened.append(operation.id)
          break
        }
        do throws(TaskProblem) {
          if let problem = item.problem { throw TaskProblem(problem) }
          entry.requests.append(
            try manifest.request(item, variables: item.variables, isStored: isStored))
        } catch {
          problems.append("`\(operation.id)`: \(error.message)")
        }
      }
      if entry.requests.isEmpty, problems.isEmpty {
        problems.append(
          "\(operation.location): `\(operation.id)` has no rows, so it has no requests")
      }
      if operation.template.type == .subscription {
        subscriptions.append(entry)
      } else {
        operations.append(entry)
      }
    }
    if operations.isEmpty, problems.isEmpty {
      problems.append(
        "all operations are subscriptions, and a load consists of requests; --subscribe with --document measures events alone"
      )
    }
    guard problems.isEmpty else { throw RowProblems(problems: problems) }
  }
}

extension Manifest {
  /// The request of a task.
  ///
  /// - Parameters:
  ///   - item: The task.
  ///   - other: A document that requests a part of the operation; `nil` for its own.
  ///   - variables: The variables of the request.
  ///   - isStored: Whether the response is stored in the normalized cache.
  /// - Throws: ``TaskProblem`` for variables that the document does not have, and for a file that cannot be sent.
  func request(
    _ item: TaskItem, template other: OperationTemplate? = nil, variables: JSONObject,
    isStored: Bool
  ) throws(TaskProblem) -> GraphQLRequest {
    let operation = operations[item.operation]
    let template = other ?? operation.template
    let files = item.uploads.filter { file in
      template.definition.variables.lazy.map(\.name.value).contains {
        file.variable == $0 || file.variable.hasPrefix("\($0).")
      }
    }
    do {
      // A task's variables are already coerced; later pages change them.
      let coerced =
        operation.pagination == nil && other == nil
        ? variables : try template.coerce(variables, uploads: files.map(\.variable))
      var uploads: [String: Upload] = [:]
      for file in files { uploads[file.variable] = try upload(file) }
      var request = GraphQLRequest(
        try template.prepared(coerced: coerced, isStored: isStored),
        cachePolicy: operation.policy, uploads: uploads)
      request.timeout = operation.timeout
      if operation.idempotency != nil { request.isIdempotent = true }
      return request
    } catch {
      throw TaskProblem(
        (error as? CacheError)?.message ?? (error as? ChainError)?.message ?? "\(error)")
    }
  }
}

import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

/// Completes connections inside records through `node(id:)`.
extension TaskRunner {
  /// The data with all pages of every nested connection.
  func completed(
    _ data: (any ResultData)?, _ nested: [Pagination.Nested], _ item: TaskItem,
    _ operation: BatchOperation
  ) async throws -> (any ResultData)? {
    guard let data else { return nil }
    let value = try JSONValue(parsing: data.bytes())
    let steps = (operation.emit?.steps ?? [])[...]
    let result = try await changed(value, steps) { record in
      var record = record
      for connection in nested {
        record = try await changed(record, connection.path.steps[...]) {
          try await complete($0, of: record, connection, item, operation)
        }
      }
      return record
    }
    return result.jsonBytes()
  }

  /// Replaces the values at a path.
  private func changed(
    _ value: JSONValue, _ steps: ArraySlice<ResultPath.Step>,
    _ change: (JSONValue) async throws -> JSONValue
  ) async throws -> JSONValue {
    guard let step = steps.first else { return value.isNull ? value : try await change(value) }
    let rest = steps.dropFirst()
    switch step {
    case .key(let key):
      guard case .object(var object) = value, let inner = object[key] else { return value }
      object[key] = try await changed(inner, rest, change)
      return .object(object)
    case .index(let index):
      guard case .array(var elements) = value, elements.indices.contains(index) else {
        return value
      }
      elements[index] = try await changed(elements[index], rest, change)
      return .array(elements)
    case .each:
      guard case .array(var elements) = value else { return value }
      for index in elements.indices {
        elements[index] = try await changed(elements[index], rest, change)
      }
      return .array(elements)
    }
  }

  private func complete(
    _ connection: JSONValue, of record: JSONValue, _ nested: Pagination.Nested, _ item: TaskItem,
    _ operation: BatchOperation
  ) async throws -> JSONValue {
    guard case .object(var result) = connection, let key = nested.path.keys.last else {
      return connection
    }
    var seen: Set<String> = []
    while result["pageInfo"]?["hasNextPage"]?.boolValue == true,
      let cursor = result["pageInfo"]?["endCursor"]?.stringValue
    {
      guard seen.insert(cursor).inserted else {
        throw TaskProblem("the nested connection `\(nested.path)` gave a cursor a second time")
      }
      guard let id = record["id"] else {
        throw TaskProblem("a record has no `id` to complete `\(nested.path)` by")
      }
      var variables = JSONObject()
      for variable in nested.template.definition.variables {
        variables[variable.name.value] = item.variables[variable.name.value]
      }
      variables[NestedDocument.idVariable] = id
      variables[NestedDocument.cursorVariable] = .string(cursor)
      guard let page = try await nestedPage(nested.template, variables, operation),
        let more = page[NestedDocument.objectKey]?[key]
      else {
        throw TaskProblem("the server did not complete `\(nested.path)` through node(id:)")
      }
      for list in ["nodes", "edges"] {
        guard case .array(let old)? = result[list], case .array(let new)? = more[list] else {
          continue
        }
        result[list] = .array(old + new)
      }
      result["pageInfo"] = more["pageInfo"] ?? .null
    }
    return .object(result)
  }

  private func nestedPage(
    _ template: OperationTemplate, _ variables: JSONObject, _ operation: BatchOperation
  ) async throws -> JSONValue? {
    var request = GraphQLRequest(try template.prepared(variables), cachePolicy: operation.policy)
    request.timeout = operation.timeout
    guard let page = try await send(request, operation) else {
      throw TaskProblem("stopped while nested pages were read")
    }
    if let error = page.error { throw TaskProblem("\(error)") }
    if let error = page.response?.errors.first {
      throw TaskProblem("a nested page failed: \(error.description(in: operation.documentName))")
    }
    return try page.response?.data.map { try JSONValue(parsing: $0.bytes()) }
  }

  // MARK: Snapshots

  /// Compares data with its snapshot file; creates the file if there is none.
  func compareSnapshot(
    _ operation: BatchOperation, _ item: TaskItem, _ data: any ResultData
  ) throws {
    guard let template = operation.snapshot, data.count <= 16 << 20 else { return }
    var scope = item.scope
    scope.key = OutputPath.component(item.key)
    let path: String
    do {
      path = try OutputPath(folder: manifest.folder).resolve(template.text(in: scope))
    } catch let refused as OutputPath.Refused {
      throw TaskProblem("the snapshot cannot be kept there: \(refused.reason)")
    }
    let value = try JSONValue(parsing: data.bytes())
    if !options.updatesSnapshots, let kept = FileManager.default.contents(atPath: path) {
      let old: JSONValue
      do {
        old = try JSONValue(parsing: [UInt8](kept))
      } catch {
        throw TaskProblem("the snapshot \(path) is not JSON: \(error.message)")
      }
      if old != value {
        let index = Self.difference(old, value, "data")
        throw TaskProblem(
          "the data differs from the snapshot \(path) at \(index); --update-snapshots takes the new one"
        )
      }
      return
    }
    try AtomicFile.write(value.jsonBytes(pretty: true) + [0x0A], to: path)
  }

  private static func difference(_ old: JSONValue, _ new: JSONValue, _ path: String) -> String {
    switch (old, new) {
    case (.object(let old), .object(let new)):
      for member in new where old[member.key] != member.value {
        guard let before = old[member.key] else { return "\(path).\(member.key) (new)" }
        return difference(before, member.value, "\(path).\(member.key)")
      }
      return old.first { new[$0.key] == nil }.map { "\(path).\($0.key) (gone)" } ?? path
    case (.array(let old), .array(let new)):
      for (index, pair) in zip(old, new).enumerated() where pair.0 != pair.1 {
        return difference(pair.0, pair.1, "\(path)[\(index)]")
      }
      return "\(path) (\(old.count) elements before, \(new.count) now)"
    default:
      return "\(path) (\(old.jsonText().prefix(40)) before, \(new.jsonText().prefix(40)) now)"
    }
  }
}

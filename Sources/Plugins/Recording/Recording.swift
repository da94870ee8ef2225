import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

/// A recording: a file with one JSON line per exchange, in the order in which they ended.
///
/// Equal requests are answered in recorded order; the last response is repeated.
final class Recording: Sendable {
  /// The error of a recording that cannot answer a request.
  struct Failure: Error, Sendable, CustomStringConvertible {
    var message: String

    var description: String { message }

    static func foreignFile(_ path: String) -> Failure {
      Failure(message: "\(path) is not a recording of gqlrun (unchanged); name another file")
    }
  }

  private static let header = #"{"gqlrun_recording":1}"#
  /// The largest file that is read, in bytes.
  fileprivate static let maximumBytes = 1 << 30

  private let path: String
  private let state: Locked<State>

  fileprivate struct State {
    /// Whether the first exchange replaces the file.
    var isNew: Bool
    var isLoaded = false
    /// Whether the file existed when it was loaded.
    var isFound = false
    var responses: [String: [RecordedResponse]] = [:]
    /// The number of returned responses per request.
    var returnedCounts: [String: Int] = [:]
    /// The recorded requests by operation, for messages.
    var requests: [String: [RecordedRequest]] = [:]
  }

  init(path: String, isNew: Bool) {
    self.path = path
    state = Locked(State(isNew: isNew))
  }

  /// The next response to a request; `nil` if the recording has none.
  func response(to request: RecordedRequest) throws -> RecordedResponse? {
    try state.withLock { state in
      try state.load(path)
      guard let known = state.responses[request.key], let last = known.last else { return nil }
      let number = state.returnedCounts[request.key, default: 0]
      state.returnedCounts[request.key] = number + 1
      return number < known.count ? known[number] : last
    }
  }

  /// The reason why there is no response.
  func missing(_ request: RecordedRequest) throws -> Failure {
    try state.withLock { state in
      try state.load(path)
      let remedy =
        "; record it with the option `mode: auto`, or everything again with `mode: record`"
      guard let others = state.requests[request.operation], let other = others.last else {
        let names = state.requests.keys.sorted().prefix(10).joined(separator: ", ")
        return Failure(
          message: "\(path) has no \(request.operation)"
            + (names.isEmpty
              ? state.isFound ? "; it is empty" : "; it does not exist" : "; it has \(names)")
            + remedy)
      }
      let differing = ["query", "variables", "operationName", "extensions"].filter {
        other.body[$0] != request.body[$0]
      }
      let difference =
        if !differing.isEmpty {
          "other \(differing.joined(separator: " and "))"
        } else {
          other.method == request.method ? "another body" : "another method"
        }
      return Failure(
        message: "\(path) has \(request.operation) with \(difference)\(remedy)")
    }
  }

  /// Throws if the file is something else than a recording, which the first exchange would replace.
  func checkReplaceable() throws {
    try state.withLock { state in
      guard state.isNew else { return }
      var status = stat()
      guard stat(path, &status) == 0, status.st_size > 0 || status.st_mode & S_IFMT != S_IFREG
      else { return }
      let beginning = try? SystemIO.beginning(of: path, count: Self.header.utf8.count)
      guard beginning.map({ $0.elementsEqual(Self.header.utf8) }) ?? false else {
        throw Failure.foreignFile(path)
      }
    }
  }

  /// Appends an exchange.
  func add(_ request: RecordedRequest, _ response: RecordedResponse) throws {
    var line = JSONObject()
    line["operation"] = .string(request.operation)
    line["request"] = .object(["method": .string(request.method), "body": request.body])
    line["response"] = response.json
    let bytes = JSONValue.object(line).jsonBytes() + [UInt8(ascii: "\n")]
    try state.withLock { state in
      let exists = FileManager.default.fileExists(atPath: path)
      if state.isNew || !exists {
        try PrivateFile.write(Array("\(Self.header)\n".utf8) + bytes, to: path)
        state.isNew = false
      } else {
        try PrivateFile.append(bytes, to: path)
      }
      state.insert(request, response)
      // The caller has just received this response from the server.
      state.returnedCounts[request.key, default: 0] += 1
    }
  }
}

extension Recording.State {
  fileprivate mutating func insert(_ request: RecordedRequest, _ response: RecordedResponse) {
    responses[request.key, default: []].append(response)
    requests[request.operation, default: []].append(request)
  }

  fileprivate mutating func load(_ path: String) throws {
    guard !isLoaded else { return }
    let bytes: [UInt8]?
    do {
      bytes = try PrivateFile.read(path, limit: Recording.maximumBytes)
    } catch {
      throw Recording.Failure(message: "\(error)")
    }
    isLoaded = true
    guard let bytes else { return }
    isFound = true
    for (index, line) in bytes.split(separator: UInt8(ascii: "\n")).enumerated() {
      let value = try? JSONValue(parsing: Array(line))
      if index == 0 {
        guard value?["gqlrun_recording"]?.intValue == 1 else {
          isLoaded = false
          throw Recording.Failure.foreignFile(path)
        }
        continue
      }
      guard let value, let request = RecordedRequest(value),
        let response = value["response"].flatMap({ RecordedResponse($0) })
      else {
        isLoaded = false
        throw Recording.Failure(
          message: "\(path):\(index + 1): this line is not a recorded exchange; record the file "
            + "again with the option `mode: record`")
      }
      insert(request, response)
    }
  }
}

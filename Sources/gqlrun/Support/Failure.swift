import ArgumentParser
import Foundation
import GQLRunCache
import GQLRunGenerator
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import GQLRunProfile
import GQLRunSupport
import HTTPTypes

/// An error as the command line reports it: one message and its exit code.
struct Failure: Error, CustomStringConvertible {
  enum Status: Int32 {
    case failed = 1
    case cacheMiss = 3
    case graphQLErrors = 4
    case filterFailed = 5
    case usage = 64
    case badInput = 65
    case unreachable = 69
    case tryLater = 75
    case authentication = 77
    case badPipeline = 78
    case interrupted = 130
  }

  var status: Status
  /// The operation, the problem, and the remedy. Empty if the error was already reported.
  var message: String

  var description: String { message }

  init(_ status: Status, _ message: String) {
    self.status = status
    self.message = message
  }
}

extension Failure {
  init(_ error: CacheError) {
    switch error.code {
    case .busy: self.init(.tryLater, error.message)
    case .storage, .readOnly: self.init(.failed, error.message)
    case .cancelled: self.init(.interrupted, "interrupted")
    case .invalidKeyRule, .invalidPattern: self.init(.usage, error.message)
    case .invalidOperation, .invalidVariables, .invalidData, .invalidQuery, .malformedResponse,
      .unexpectedShape,
      .truncatedResponse,
      .invalidJSON, .foreignDatabase, .otherKeys, .damagedDatabase:
      self.init(.badInput, error.message)
    }
  }
}

extension ParsableArguments {
  /// Throws unless a number is in a range, if it is given.
  func require(
    _ option: String, _ number: Int?, in range: ClosedRange<Int>,
    or problem: String = "is out of range"
  ) throws {
    guard let number, !range.contains(number) else { return }
    throw ValidationError(
      "\(option) \(number) \(problem); use \(range.lowerBound) to \(range.upperBound)")
  }

  /// Throws if two options name one output. A device or a pipe in `/dev` can have several.
  func requireDifferentFiles(_ outputs: [(option: String, path: String?)]) throws {
    var options: [String: String] = [:]
    for (option, path) in outputs {
      guard let path else { continue }
      // `-` is standard output.
      let file = path == "-" ? path : FilePath.real(path)
      guard !path.hasPrefix("/dev/"), !file.hasPrefix("/dev/") else { continue }
      if let other = options.updateValue(option, forKey: file) {
        throw ValidationError("\(other) and \(option) name one file, \(path); name two")
      }
    }
  }
}

extension AsyncParsableCommand {
  /// Runs the command. Prints its error as one message, and throws its exit code; throws what needs no message, and
  /// errors in the use of the command, as they are.
  mutating func runReporting() async throws {
    do {
      try await run()
      RunLog.printHeld()
    } catch let error
      where error is ExitCode || error is CleanExit || error is ArgumentParser.ValidationError
      || error is ClosedOutput
    {
      throw error
    } catch let halt as JQHalt {
      // As jq does: the message is printed as it is.
      Terminal.note(Terminal.safe(halt.message.trimmingCharacters(in: .newlines)))
      PartialFiles.removeAll()
      throw ExitCode(halt.code)
    } catch {
      let failure = Failure(describing: error)
      RunLog.end(with: failure.message)
      if !failure.message.isEmpty { Terminal.error(failure.message) }
      PartialFiles.removeAll()
      throw ExitCode(failure.status.rawValue)
    }
  }
}

extension Failure {
  init(describing error: any Error) {
    switch error {
    case let failure as Failure: self = failure
    case let error as CacheError: self.init(error)
    case let miss as CacheMiss: self.init(.cacheMiss, "\(miss)")
    case let error as GenerationFailure: self.init(.badInput, error.description)
    case let error as ProfileError: self.init(.badInput, error.message)
    case is CancellationError: self.init(.interrupted, "interrupted")
    case let error as ChainError: self.init(error)
    case let diagnostics as PipelineDiagnostics:
      diagnostics.show()
      self.init(.badPipeline, "")
    default: self.init(.failed, Self.words(of: error))
    }
  }

  /// An error of a library, without names of types.
  private static func words(of error: any Error) -> String {
    switch error {
    case let error as CocoaError: error.localizedDescription
    case let error as POSIXError: String(cString: strerror(error.code.rawValue))
    case let error as any CustomStringConvertible: error.description
    default: "an unexpected error: \(ErrorWords.text(error))"
    }
  }
}

extension Failure {
  init(_ error: ChainError) {
    let hint =
      error.code == .cacheMiss ? "; `gqlrun cache explain` with the same operation shows why" : ""
    self.init(Self.status(of: error), error.description + hint)
    if error.code == .tooManyAttempts, let cause = error.cause as? ChainError {
      self = Failure(Self.status(of: cause), error.description)
    }
  }

  private static func status(of error: ChainError) -> Status {
    if let status = error.http?.status {
      switch status {
      case 401, 403: return .authentication
      case 429: return .tryLater
      // With Retry-After the server asked for a delay, as with 429.
      case 503 where error.http?.headers[.retryAfter] != nil: return .tryLater
      default: return .failed
      }
    }
    switch error.code {
    case .cacheMiss: return .cacheMiss
    case .invalidRequest, .notPersisted: return .badInput
    case .missingToken, .tokenRenewalFailed, .connectionRejected: return .authentication
    case .timedOut, .rateLimited: return .tryLater
    case .nameResolutionFailed, .connectionFailed, .connectionClosed, .tlsFailed,
      .proxyFailed:
      return .unreachable
    default: return .failed
    }
  }
}

extension Failure {
  /// An invalid input, with the location and the line in the message.
  init(_ message: String, at location: SourceLocation, in bytes: [UInt8], name: String) {
    self.init(.badInput, Input.located(message, at: location, in: bytes, name: name))
  }
}

extension Input {
  /// `file:line:column: message`, followed by the source line and a caret.
  static func located(
    _ message: String, at location: SourceLocation, in bytes: [UInt8], name: String
  ) -> String {
    let head = "\(name):\(location.line):\(location.column): \(message)"
    guard let line = line(location.line, of: bytes), line.count <= 400 else { return head }
    let text = String(decoding: line, as: UTF8.self).unicodeScalars
    // There is nothing to show on an empty line, such as the one after the last.
    guard text.contains(where: { !$0.properties.isWhitespace }) else { return head }
    let lead = text.prefix(max(location.column - 1, 0))
    return "\(head)\n  \(Terminal.safe(String(text)))\n  \(blank(lead))^"
  }

  /// The bytes of a line, from 1. CR, LF and CRLF each end a line.
  private static func line(_ number: Int, of bytes: [UInt8]) -> ArraySlice<UInt8>? {
    var start = 0
    var current = 1
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") {
        if current == number { return bytes[start..<index] }
        let isPair =
          byte == UInt8(ascii: "\r") && index + 1 < bytes.count
          && bytes[index + 1] == UInt8(ascii: "\n")
        if isPair { index += 1 }
        current += 1
        start = index + 1
      }
      index += 1
    }
    return current == number ? bytes[start...] : nil
  }

  /// White space of the same width as `text` on a terminal.
  private static func blank(_ text: Substring.UnicodeScalarView) -> String {
    text.map { scalar -> String in
      if scalar == "\t" { return "\t" }
      let shown = Terminal.safe(String(scalar))
      if shown.unicodeScalars.count > 1 { return String(repeating: " ", count: shown.count) }
      return String(repeating: " ", count: scalar.width)
    }.joined()
  }
}

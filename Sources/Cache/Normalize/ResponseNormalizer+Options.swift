import Foundation
import GQLRunJSON

/// How nulls that are caused by errors are stored.
public enum ErrorPolicy: String, Sendable, Hashable, CaseIterable {
  /// They are not stored and do not overwrite stored values; all other data is written.
  case skipErrored = "skip-errored"
  /// A response with errors is not written.
  case discard
  /// Nulls are written as received.
  case keep
}

extension ResponseNormalizer {
  /// The options of a normalizer.
  public struct Options: Sendable {
    /// Whether the `data` of the response is collected as the caller's result. `true` by default.
    public var wantsResult = true
    /// How nulls that are caused by errors are stored. ``ErrorPolicy/skipErrored`` by default.
    public var errorPolicy = ErrorPolicy.skipErrored
    /// The limits of the response.
    public var limits = ResponseLimits()
    /// Whether root fields are stored, or only the objects in them. `true` by default.
    public var writesRoots = true
    /// The size of staged records at which they are written to the store, in bytes. 1 MiB by
    /// default.
    public var flushThreshold = 1 << 20
    /// Whether the response is checked against the schema, as by ``ResponseShape``. `false` by
    /// default, which leaves it to the operation.
    public var checksShape = false
    /// Whether pages are joined with stored lists; not for data written by a program.
    var joinsPages = true
    /// When the response was received, in seconds since 1970; the start of its records' age. By
    /// default, the time at which the options were created.
    public var received = Int(Date().timeIntervalSince1970)
    /// Whether a response whose records cannot be written is read to its end;
    /// ``NormalizedResponse/storeFailure`` then has the error. `false` by default.
    public var goesOnWithoutStore = false
    /// How the bytes are passed to the parser. Tests use small chunks.
    var parsing = JSONParser.Options()

    /// Creates the default options.
    public init() {}
  }
}

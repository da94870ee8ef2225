extension JSONFailureCode {
  /// The code of the error that the cancelled parse throws.
  var code: JSONError.Code {
    switch self {
    case .depthExceeded, .stringTooLong, .keyTooLong, .numberTooLong: .limitExceeded
    case .duplicateKey: .duplicateKey
    default: .cancelled
    }
  }

  /// The error message.
  func explanation(_ limits: JSONLimits) -> String {
    switch self {
    case .depthExceeded: "nested deeper than the limit of \(limits.maxDepth) levels"
    case .stringTooLong: "a string is longer than the limit of \(limits.maxStringBytes) bytes"
    case .keyTooLong: "a key is longer than the limit of \(limits.maxKeyBytes) bytes"
    case .numberTooLong: "a number is longer than the limit of \(limits.maxNumberBytes) bytes"
    case .duplicateKey: "an object has two members with the same key"
    default: "reading was cancelled"
    }
  }
}

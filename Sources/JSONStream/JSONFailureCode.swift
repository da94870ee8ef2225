/// Why a handler cancelled the parse: one byte, so that setting it is cheap on the hot path.
///
/// Raw values from ``firstHandlerCode`` on are for the handlers' own codes.
@frozen
public struct JSONFailureCode: RawRepresentable, Hashable, Sendable {
  /// The code as a byte.
  public var rawValue: UInt8

  /// Creates a code from its byte.
  @inlinable
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Nothing has failed.
  @inlinable public static var none: Self { Self(rawValue: 0) }
  /// More containers are open than ``JSONLimits/maxDepth``.
  @inlinable public static var depthExceeded: Self { Self(rawValue: 1) }
  /// A string is longer than ``JSONLimits/maxStringBytes``.
  @inlinable public static var stringTooLong: Self { Self(rawValue: 2) }
  /// A key is longer than ``JSONLimits/maxKeyBytes``.
  @inlinable public static var keyTooLong: Self { Self(rawValue: 3) }
  /// A number is longer than ``JSONLimits/maxNumberBytes``.
  @inlinable public static var numberTooLong: Self { Self(rawValue: 4) }
  /// An object has two members with the same key.
  @inlinable public static var duplicateKey: Self { Self(rawValue: 5) }
  /// The handler needs no more events, or its task was cancelled.
  @inlinable public static var cancelled: Self { Self(rawValue: 6) }
  /// The first raw value available for the handlers' own codes.
  @inlinable public static var firstHandlerCode: UInt8 { 128 }
}

import Foundation
import GQLRunLanguage

extension IntrospectionValue {
  /// What `JSONSerialization` read.
  init(json: Any) {
    switch json {
    case let object as [String: Any]:
      self = .object(object.mapValues(IntrospectionValue.init(json:)))
    case let list as [Any]: self = .list(list.map(IntrospectionValue.init(json:)))
    case let text as String: self = .string(text)
    case let value as Bool: self = .boolean(value)
    case let number as NSNumber: self = .number(number.stringValue)
    default: self = .null
    }
  }
}

/// The schema of an introspection result, which is JSON.
func introspectedSchema(_ json: String) throws -> Schema {
  let result = try JSONSerialization.jsonObject(with: Data(json.utf8))
  return try Schema(introspection: IntrospectionValue(json: result))
}

extension String {
  /// A fingerprint (FNV-1a, 64 bits), for outputs too long to keep.
  var fingerprint: UInt64 {
    utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}

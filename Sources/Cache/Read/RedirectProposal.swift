import GQLRunJSON
import GQLRunLanguage

/// A redirect that would answer a missing field from stored records.
///
/// Without a schema the type of the field is not known: that a record with the key is stored suggests the rule, and
/// only the author of the document knows whether the field returns this object.
public struct RedirectProposal: Sendable, Hashable {
  /// The type that has the field: `Query`.
  public var type: String
  /// The name of the field.
  public var field: String
  /// The rule.
  public var redirect: CacheRedirect
  /// The cache keys of the stored records that it leads to.
  public var records: [String]

  /// The line under `fields:` of a pipeline file: `Query.country: { key_args: [code], type: Country }`.
  public var rule: String {
    let name = redirect.type ?? ""
    let type = redirect.isList ? "\"[\(name)]\"" : name
    let arguments = redirect.arguments.joined(separator: ", ")
    return "\(self.type).\(field): { key_args: [\(arguments)], type: \(type) }"
  }
}

/// The redirects that fit a missing field.
struct RedirectProposals {
  private let type: String
  private let name: String
  private var candidates: [(redirect: CacheRedirect, target: RedirectTarget)] = []

  /// The type and the name of the field.
  var coordinate: String { "\(type).\(name)" }

  /// - Parameters:
  ///   - field: The stored name of the field, with its arguments.
  ///   - type: The type of the object that lacks it.
  ///   - plan: The plan of the operation.
  ///   - types: The types that the store has met, for operations without a schema.
  init(field: String, in type: String, plan: OperationPlan, types: ConcreteTypes) {
    self.type = type
    let start = field.firstIndex(of: "(") ?? field.endIndex
    name = String(field[..<start])
    guard let arguments = try? JSONValue(parsing: String(field[start...].dropFirst().dropLast()))
    else { return }
    let values = Self.values(in: arguments, path: "")
    let declared = plan.facts?.schema?.field(name, on: type)?.type
    let known = Set(types.all).union(plan.keys.types.keys).sorted()
    let keys = RedirectKeys(rules: plan.keys, facts: plan.facts)
    for candidate in declared.map({ [$0.namedType.value] }) ?? known {
      let fields = plan.keyFields(of: candidate)
      let chosen = fields.compactMap { field in
        values.first { Self.matches($0.path, field) }
          ?? (fields.count == 1 && values.count == 1 ? values[0] : nil)
      }
      let lists = chosen.count { $0.value.arrayValue != nil }
      guard chosen.count == fields.count, lists == declared?.listDepth ?? min(lists, 1),
        let target = keys.target(chosen.map(\.value), returning: candidate)
      else { continue }
      candidates.append(
        (CacheRedirect(chosen.map(\.path), type: candidate, isList: lists == 1), target))
    }
  }

  /// The values of arguments and of the fields of input objects in them, by path.
  private static func values(
    in value: JSONValue, path: String
  ) -> [(path: String, value: JSONValue)] {
    guard case .object(let object) = value else { return [(path, value)] }
    return object.flatMap {
      values(in: $0.value, path: path.isEmpty ? $0.key : "\(path).\($0.key)")
    }
  }

  /// Whether the path ends with the name of a key field: `code`, `input.code`, `codes`.
  private static func matches(_ path: String, _ field: String) -> Bool {
    let last = path.split(separator: ".").last ?? ""
    return last == field || last == field + "s"
  }

  /// Removes the redirects whose records are not all stored.
  mutating func keep(_ isStored: (RedirectTarget) -> Bool) {
    candidates.removeAll { !isStored($0.target) }
  }

  /// The only one that is left, or the one whose type has the name of the field.
  var best: RedirectProposal? {
    let named = candidates.filter { $0.redirect.type?.lowercased() == name.lowercased() }
    guard let best = candidates.count == 1 ? candidates.first : named.first else { return nil }
    return RedirectProposal(
      type: type, field: name, redirect: best.redirect,
      records: best.target.keys.map { String(decoding: $0, as: UTF8.self) })
  }
}

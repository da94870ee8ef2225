/// The targets of a package manifest, read as text.
///
/// Good for manifests as we write them: a target is a call of `.target`, `.executableTarget`,
/// `.testTarget` or `.systemLibrary` whose name and dependencies are literals.
struct Manifest {
  struct Target: Equatable {
    var name: String
    var isTest: Bool
    /// Names of targets and products.
    var dependencies: [String]
  }

  let targets: [Target]

  init(_ text: String) {
    var rest = Text(SwiftSource(text))
    var targets: [Target] = []
    while let (kind, call) = rest.nextTarget() {
      var label = call.argument("name")
      guard let name = label?.popString() else { continue }
      targets.append(
        Target(
          name: name, isTest: kind == "testTarget",
          dependencies: call.argument("dependencies").map(Self.names) ?? []))
    }
    self.targets = targets
  }

  func target(_ name: String) -> Target? { targets.first { $0.name == name } }

  /// `"A"`, `.target(name: "A")` and `.product(name: "A", package: "a")` are all called `A`.
  private static func names(in list: Text) -> [String] {
    var list = list
    var names: [String] = []
    while let first = list.popString() {
      names.append(first)
      // What follows inside the same call (`package: "a"`) names no module.
      list.skipCall()
    }
    return names
  }

  /// A piece of source, byte by byte, beside itself with the contents of string literals blank:
  /// brackets and commas in strings do not count.
  private struct Text {
    private var bytes: ArraySlice<(written: UInt8, code: UInt8)>

    init(_ source: SwiftSource) {
      bytes =
        zip(
          source.uncommented.joined(separator: "\n").utf8, source.code.joined(separator: "\n").utf8
        ).map { ($0, $1) }[...]
    }

    private init(_ bytes: ArraySlice<(written: UInt8, code: UInt8)>) { self.bytes = bytes }

    /// The next call that describes a target, and what stands between its parentheses.
    mutating func nextTarget() -> (kind: String, arguments: Text)? {
      while let start = bytes.firstIndex(where: { $0.code == UInt8(ascii: ".") }) {
        bytes = bytes[(start + 1)...]
        for kind in ["target", "executableTarget", "testTarget", "systemLibrary"]
        where starts(with: kind + "(") {
          bytes = bytes.dropFirst(kind.utf8.count + 1)
          let arguments = Text(bytes.prefix(lengthOfNested))
          bytes = bytes.dropFirst(arguments.bytes.count)
          return (kind, arguments)
        }
      }
      return nil
    }

    /// The value of the argument `label`, up to the next comma or bracket of its own level.
    func argument(_ label: String) -> Text? {
      var rest = self
      while !rest.bytes.isEmpty {
        rest.bytes = rest.bytes.drop {
          $0.code == UInt8(ascii: " ") || $0.code == UInt8(ascii: "\n")
        }
        if rest.starts(with: label + ":") {
          rest.bytes = rest.bytes.dropFirst(label.utf8.count + 1)
          return Text(rest.bytes.prefix(rest.lengthOfArgument))
        }
        rest.bytes = rest.bytes.dropFirst(rest.lengthOfArgument + 1)
      }
      return nil
    }

    /// Drops everything up to the end of the next string literal, and tells its contents.
    mutating func popString() -> String? {
      guard let start = bytes.firstIndex(where: { $0.code == UInt8(ascii: "\"") }) else {
        return nil
      }
      let inner = bytes[(start + 1)...]
      guard let end = inner.firstIndex(where: { $0.code == UInt8(ascii: "\"") }) else { return nil }
      bytes = bytes[(end + 1)...]
      return String(decoding: inner[..<end].map(\.written), as: UTF8.self)
    }

    /// Drops the rest of the call that this text begins in, if it begins in one.
    mutating func skipCall() {
      let rest = bytes.dropFirst(lengthOfNested)
      if rest.first?.code == UInt8(ascii: ")") { bytes = rest.dropFirst() }
    }

    private func starts(with prefix: String) -> Bool {
      bytes.lazy.map(\.code).starts(with: prefix.utf8)
    }

    /// How much stands before the bracket that ends this level.
    private var lengthOfNested: Int { length(endsAtComma: false) }

    /// How much stands before the comma or bracket that ends this argument.
    private var lengthOfArgument: Int { length(endsAtComma: true) }

    private func length(endsAtComma: Bool) -> Int {
      var depth = 0
      for (offset, byte) in bytes.enumerated() {
        switch byte.code {
        case UInt8(ascii: "("), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: ")"), UInt8(ascii: "]"):
          if depth == 0 { return offset }
          depth -= 1
        case UInt8(ascii: ",") where depth == 0 && endsAtComma: return offset
        default: break
        }
      }
      return bytes.count
    }
  }
}

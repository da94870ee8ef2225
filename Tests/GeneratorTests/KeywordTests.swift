import Foundation
import GQLRunTestSupport
import Testing

@testable import GQLRunGenerator

/// The compiler of the tests.
private enum Compiler {
  /// The folder of the products, beside the test bundle.
  static let products: URL = {
    let bundle =
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: bundle).deletingLastPathComponent()
  }()

  static let path: String? = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(
    separator: ":"
  )
  .map { "\($0)/swiftc" }.first { FileManager.default.isExecutableFile(atPath: $0) }

  /// The errors and warnings of the compiler for files.
  static func diagnostics(of files: [URL]) throws -> String {
    try ChildProcess(
      path ?? "",
      [
        "-typecheck", "-swift-version", "6", "-package-name", "tests",
        "-I", products.appending(path: "Modules").path,
        "-Xcc", "-fmodule-map-file=\(Repository.root)/Sources/CYajl/module.modulemap",
      ] + files.map(\.path)
    ).finish().errors
  }
}

/// Names of a schema that mean something in Swift, at every position, parsed and type-checked.
@Suite(
  "Keywords of Swift as names", .enabled(if: Compiler.path != nil, "there is no swiftc in PATH"))
struct KeywordTests {
  /// The keywords of Swift 6.3 (`Keyword` of swift-syntax), without those with two underscores, which are reserved in
  /// GraphQL; then names that the generated code or its protocols have.
  private static let words = """
    Any Protocol Self Sendable Type _alignment _backDeploy _borrow _borrowing _cdecl _compilerInitialized _const \
    _consuming _documentation _dynamicReplacement _effects _expose _forward _implements _linear _local _modify _move \
    _mutating _noMetadata _opaqueReturnTypeOf _originallyDefinedIn _read _specialize _spi_available _underlyingVersion \
    _version abi accesses actor addressWithNativeOwner addressWithOwner any as assignment associatedtype associativity \
    async attached autoclosure availability available await backDeployed before block borrow borrowing break canImport \
    case catch class compiler consume consuming continue convenience convention copy default defer deinit dependsOn \
    deprecated derivative didSet differentiable discard distributed do dynamic each else enum escaping exported extension \
    fallthrough false file fileprivate final for forward freestanding func get guard higherThan if import in indirect \
    infix init initializes inout internal introduced is isolated kind lazy left let line linear lowerThan macro message \
    metadata modify module mutableAddressWithNativeOwner mutate mutating nil noDerivative noasync noescape none nonisolated \
    nonmutating nonsending objc obsoleted of open operator optional override package postfix precedencegroup \
    preconcurrency prefix private protocol public read reasync renamed repeat required rethrows retroactive return reverse \
    right safe scoped self sending set some specialized spi spiModule static struct subscript super swift switch target \
    then throw throws transpose true try typealias unavailable unchecked unowned unsafe unsafeAddress using var visibility \
    weak where while willSet wrt yield \
    x object json typename other data variables conditions value name rawValue allCases hashValue description document \
    operationName write id error Optional String Int Bool Double Array unknown encode decode Data Date URL UUID Decimal \
    Result Task Never Void Error Hashable Foundation Swift _ _1 self_ init_
    """.split(separator: " ").map(String.init)

  private static func lines(_ names: [String], _ line: (String) -> String) -> String {
    names.map { line($0) + "\n" }.joined()
  }

  /// Names that different Swift types have.
  private static func distinct(_ names: [String], without taken: Set<String>) -> [String] {
    var types = taken
    return names.filter { types.insert(SwiftNames.type($0)).inserted }
  }

  private static let types = words.filter {
    $0.first?.isLetter == true
      && !["String", "Int", "Float", "Boolean", "ID", "Query", "On"].contains($0)
  }

  private static let sdl = """
    type Query {
    \(lines(words) { "\($0)(a: Int, i: In, e: En, o: One): String" })
    \(lines(types) { "o_\($0): O_\($0) t_\($0): \($0)" })
    u: U dep(i: DepIn): Dep old: Int @deprecated(reason: "*/ \\\\( ") gone: Gone
    }
    type Gone { a: Int @deprecated _a: Int @deprecated read: Int @deprecated modify: Int @deprecated _read: Int }
    enum En { \(lines(words.filter { !["true", "false", "null"].contains($0) }) { $0 }) }
    input In { \(lines(words) { "\($0): String" }) }
    input One @oneOf { \(lines(words) { "\($0): String" }) }
    \(lines(types) { "type O_\($0) { \($0): Int f: O_\($0) en: En } type \($0) { v: Int }" })
    union U = \(types.joined(separator: " | "))
    "A description with */ and \\\"quotes\\\" and \\\\(code)"
    enum Dep { a @deprecated(reason: "x\\\\(y) \\\"q\\\" # */ \\n z") await @deprecated }
    input DepIn { await: Int @deprecated(reason: "no") repeat: Int @deprecated self: Int @deprecated _self_: Int }
    """

  private static var document: String {
    let fragments = distinct(types, without: ["En", "In", "One", "U", "On"]).filter { $0 != "on" }
    let operations = distinct(
      words.filter { $0.first?.isLetter == true },
      without: ["Fields", "Aliases", "Variables", "Conditions", "Objects", "Variants"])
    return """
      query Fields { \(lines(words) { $0 }) dep(i: {}) old gone { a _a read modify _read } }
      query Aliases { \(lines(words) { "\($0): x" }) }
      query Variables(\(lines(words) { "$\($0): Int" }) $in_: In, $en_: En, $one_: One, $dep_: DepIn) {
        \(lines(words) { "a_\($0): x(a: $\($0))" }) z: x(i: $in_, e: $en_, o: $one_) dep(i: $dep_)
      }
      query Conditions(\(lines(words) { "$\($0): Boolean!" })) {
        \(lines(words) { "a_\($0): x @include(if: $\($0)) ... @include(if: $\($0)) { b_\($0): x }" })
      }
      query Objects { \(lines(types) { "o_\($0) { \($0) f { \($0) } en } \($0): o_\($0) { v_\($0): \($0) }" }) }
      query Variants { u { \(lines(types) { "... on \($0) { v }" }) } \(lines(fragments) { "t_\($0) { ...\($0) }" }) }
      \(lines(fragments) { "fragment \($0) on \($0) { v }" })
      \(lines(operations) { "query \($0) { x }" })
      """
  }

  @Test(
    "are written so that the code compiles without a warning",
    arguments: [
      GeneratorOptions(),
      GeneratorOptions(access: .public, conformances: [.hashable, .identifiable]),
      GeneratorOptions(fields: .camel, enumCases: .verbatim, conformances: [.codable]),
    ])
  func compiles(_ options: GeneratorOptions) throws {
    let files = try generate(Self.document, sdl: Self.sdl, options: options)
    let folder = FileManager.default.temporaryDirectory.appending(path: "gqlrun-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // Few files, because the compiler needs time for each.
    let imports: Set<String> = ["import Foundation", "import GQLRunTyped"]
    let text =
      imports.sorted().joined(separator: "\n") + "\n"
      + files.map { file in
        file.text.split(separator: "\n")
          .filter { !$0.hasPrefix("import ") && !$0.hasPrefix("public import ") }
          .joined(separator: "\n")
      }.joined(separator: "\n")
    let file = folder.appending(path: "Generated.swift")
    try text.write(to: file, atomically: true, encoding: .utf8)
    let diagnostics = try Compiler.diagnostics(of: [file])
    #expect(diagnostics == "")
  }

  @Test(
    "a Swift type is one that can be written where a type belongs",
    arguments: [
      ("Date", true), ("Shop.Money", true), ("Money?", true), ("[Int]", true),
      ("[String: [Int?]]", true),
      ("Tagged<Shop.User, Int>", true), ("A<B<C>, [D: E]>?", true), ("Foo;evil", false),
      ("", false),
      ("[Int", false), ("Int]", false), ("A<", false), ("A B", false), ("1", false), ("A.", false),
      ("() -> Int", false), ("A & B", false), ("let", false), ("A<>", false), ("[:]", false),
      ("A//", false),
      ("A\nB", false),
    ])
  func types(_ text: String, _ isType: Bool) {
    #expect(SwiftNames.isType(text) == isType)
  }

  @Test("a text with more nested brackets than the stack has room for is no type")
  func nestedType() {
    let start = String(repeating: "[", count: 50_000)
    let end = String(repeating: "]", count: 50_000)
    #expect(!SwiftNames.isType("\(start)A\(end)"))
  }

  @Test("well-known scalars have the types that their names mean")
  func knownScalars() throws {
    let names = [
      "BigInt", "Date", "DateTime", "Decimal", "JSON", "Long", "Time", "URL", "UUID", "Upload",
      "Color",
    ]
    let fields = names.map { "f\($0): \($0) " }.joined()
    let files = try generate(
      "query Q { \(names.map { "f\($0)" }.joined(separator: " ")) }",
      sdl: names.map { "scalar \($0) " }.joined() + "type Query { \(fields)}")
    let text = files.map(\.text).joined()
    for (name, type) in [
      ("fDate", "String"), ("fDecimal", "Foundation.Decimal"), ("fURL", "Foundation.URL"),
      ("fUUID", "Foundation.UUID"), ("fTime", "Time"), ("fLong", "Long"),
    ] {
      #expect(text.contains("let \(name): \(type)?"), "\(name)")
    }
    for (name, type) in [
      ("BigInt", "Foundation.Decimal"), ("DateTime", "Foundation.Date"), ("JSON", "JSONValue"),
      ("Long", "Int"), ("Time", "String"), ("Color", "String"),
    ] {
      #expect(text.contains("typealias \(name) = \(type)\n"), "\(name)")
    }
    #expect(files.flatMap(\.warnings).map { $0.prefix(20) } == ["the scalar `Color` i"])
  }
}

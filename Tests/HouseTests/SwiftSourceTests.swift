import Testing

/// The reading of sources that the other tests of this target rely on.
@Suite("Reading sources")
struct SwiftSourceTests {
  @Test(
    "imports are found wherever they stand",
    arguments: [
      ("import A", ["A"]),
      ("  import A", ["A"]),
      ("@testable import A", ["A"]),
      ("@_spi(Testing) public import A", ["A"]),
      ("public import A", ["A"]),
      ("package import A", ["A"]),
      ("internal import A", ["A"]),
      ("import struct A.B", ["A"]),
      ("private import func A.B.c", ["A"]),
      ("import A.B", ["A"]),
      ("import `A`", ["A"]),
      ("import A; import B", ["A", "B"]),
      ("import A // and import B", ["A"]),
      ("/* import A */ import B", ["B"]),
      ("/* import A /* */ import B */", []),
      ("let text = \"\"\"\n  import A\n  \"\"\"", []),
      ("let text = \"\\\"\"; import A", ["A"]),
      ("let text = #\"\\\"#; import A", ["A"]),
      ("let text = \"\\(f(\"import \"))\"; import A", ["A"]),
      ("let text = \"//\"; import A", ["A"]),
      ("let text = #/\"/#; import A", ["A"]),
      ("#if canImport(A)\n#endif", []),
      ("let important = 1", []),
      ("importer()", []),
    ])
  func imports(text: String, modules: [String]) {
    #expect(SwiftSource(text).imports.map(\.module) == modules)
  }

  @Test("an import knows its line")
  func importLines() {
    #expect(
      SwiftSource("/*\n\n*/ import A\n\nimport B").imports
        == [.init(module: "A", line: 3), .init(module: "B", line: 5)])
  }

  @Test("what is not code is blank and keeps its place")
  func blanks() {
    let source = SwiftSource("f(\"a\\(b)é\") // c\ng()")
    #expect(source.code == ["f(\"  (b)  \")     ", "g()"])
    #expect(source.uncommented == ["f(\"a\\(b)é\")     ", "g()"])
  }

  @Test("targets of a manifest are read with their dependencies")
  func manifest() {
    let manifest = Manifest(
      """
      let a: [Target] = [
        .systemLibrary(name: "C", pkgConfig: "c", providers: [.apt(["libc, (dev)"])]),
        // .target(name: "Gone"),
        .target(name: "A", swiftSettings: settings),
        .executableTarget(
          name: "B",
          dependencies: [
            "A", .product(name: "P", package: "é.swift"), .target(name: "C"),
            .byName(name: "D"),
          ],
          resources: [.embedInCode("Data/x.json")]),
        .testTarget(name: "BTests", dependencies: ["B"]),
      ]
      let package = Package(products: [.executable(name: "b", targets: ["B"])])
      """)
    #expect(
      manifest.targets == [
        .init(name: "C", isTest: false, dependencies: []),
        .init(name: "A", isTest: false, dependencies: []),
        .init(name: "B", isTest: false, dependencies: ["A", "P", "C", "D"]),
        .init(name: "BTests", isTest: true, dependencies: ["B"]),
      ])
  }
}

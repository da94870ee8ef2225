import Foundation
import GQLRunTestSupport
import Testing

/// `make install` and `make uninstall`, with the program of the tests instead of a release build.
@Suite("Installation", .serialized, .timeLimit(.minutes(10)))
struct InstallTests {
  private func make(_ goal: String, in folder: Folder) async throws -> RunResult {
    try await Program.shell(
      "make -C '\(Repository.root)' -o build \(goal) PROGRAM=\"$GQLRUN\" MANUAL=\"$PWD/manual\" "
        + "DESTDIR=\"$PWD/root\" PREFIX=/opt/gqlrun", in: folder)
  }

  private func files(_ folder: Folder) -> [String] {
    let names = FileManager.default.enumerator(atPath: folder.file("root"))?.allObjects ?? []
    return names.compactMap { $0 as? String }
      .filter { name in
        var isFolder: ObjCBool = false
        _ = FileManager.default.fileExists(
          atPath: folder.file("root/\(name)"), isDirectory: &isFolder)
        return !isFolder.boolValue
      }
      .map { $0.replacing("opt/gqlrun/", with: "") }.sorted()
  }

  @Test("installs a stripped program, manual pages and completions, and removes all of them")
  func install() async throws {
    let folder = try Folder()
    let result = try await make("install", in: folder)
    try #require(result.status == 0, "\(result)")
    let installed = files(folder)
    #expect(
      installed.filter { !$0.hasSuffix(".1") } == [
        "bin/gqlrun", "share/bash-completion/completions/gqlrun",
        "share/fish/vendor_completions.d/gqlrun.fish", "share/zsh/site-functions/_gqlrun",
      ])
    #expect(
      installed.filter { $0.hasSuffix(".1") }
        == HelpTextTests.commands
        .map { "share/man/man1/\($0.name.replacing(" ", with: "-")).1" }.sorted())
    let program = folder.file("root/opt/gqlrun/bin/gqlrun")
    let size = { (path: String) in
      try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }
    #expect(try size(program) < size(Program.path) * 9 / 10)
    let version = try await Program.shell("'\(program)' --version", in: folder)
    #expect(version.status == 0 && version.output.hasPrefix("gqlrun "), "\(version)")
    let removed = try await make("uninstall", in: folder)
    #expect(removed.status == 0 && files(folder) == [], "\(removed)")
  }

  @Test("a build shows its progress, and the errors and the log if it fails")
  func progress() async throws {
    let folder = try Folder()
    let steps = (1...400).map { "echo '[\($0)/400] Compiling File\($0).swift'" }
      .joined(separator: "\n")
    try folder.write(steps + "\necho 'Build complete!'\n", to: "good")
    try folder.write(
      steps
        + "\necho '/x/A.swift:3:5: error: no such thing'\necho '/x/A.swift:3:5: error: no such thing'\nexit 3\n",
      to: "bad")
    let quietly = "'\(Repository.root)/.ci/quietly' logs/build.log sh"
    let good = try await Program.shell("\(quietly) good", in: folder)
    #expect(good.status == 0 && good.output == "", "\(good)")
    #expect(good.errors.split(separator: "\n").count == 10, "\(good)")
    #expect(try folder.text("logs/build.log").hasSuffix("File400.swift\nBuild complete!\n"))
    let bad = try await Program.shell("\(quietly) bad", in: folder)
    #expect(bad.status == 3, "\(bad)")
    #expect(bad.errors.components(separatedBy: "error: no such thing").count == 2, "\(bad)")
    #expect(bad.errors.hasSuffix("the build failed; its complete output is in logs/build.log\n"))
    // A terminal has one line, which is rewritten.
    let terminal = try await Program.shell(
      "script -qec \"\(quietly) good\" /dev/null </dev/null", in: folder)
    #expect(terminal.output.components(separatedBy: "\r\u{1b}[K").count > 400, "\(terminal)")
    #expect(!terminal.output.contains("\n"), "\(terminal)")
  }
}

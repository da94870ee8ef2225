import Foundation

/// Runs a fuzz target with libFuzzer: `gqlrun-fuzz TARGET [libFuzzer's arguments]`; `gqlrun-fuzz list` prints the targets
/// with their dictionaries.
///
/// libFuzzer's own `main` would collide with that of SwiftPM, so it is linked without.
/// https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
  count: UnsafeMutablePointer<Int32>,
  arguments: UnsafeMutablePointer<
    UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  >,
  execute: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// The target that the first argument names.
private let selected = FuzzTarget.all.first { $0.name == CommandLine.arguments.dropFirst().first }

@main struct Main {
  static func main() {
    guard selected != nil else {
      for target in FuzzTarget.all { print(target.name, target.dictionary, target.maxBytes) }
      exit(CommandLine.arguments.dropFirst().first == "list" ? 0 : 64)
    }
    // libFuzzer reads the rest of the arguments.
    var count = CommandLine.argc - 1
    var arguments = CommandLine.unsafeArgv + 1
    exit(
      runDriver(count: &count, arguments: &arguments) { start, count in
        guard let selected else { return 0 }
        do {
          try selected.run(FuzzInput(UnsafeBufferPointer(start: start, count: count)))
        } catch {
          fail("an error where none is possible: \(error)")
        }
        return 0
      })
  }
}

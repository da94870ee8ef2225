import Foundation

/// The commands of `gqlrun-bench`.
enum Command {
  static let usage = """
    usage: gqlrun-bench run [--posts N,…] [--shapes all|none|NAME,…] [--shape-mb N] [--rounds N]
                            [--rows ID,…] [--feed FOLDER] [--scratch FOLDER] [--output FILE]
           gqlrun-bench language [--schema FILE] [--rounds N] [--operations N]
           gqlrun-bench compare A.json B.json
           gqlrun-bench generate SHAPE MEGABYTES RESPONSE DOCUMENT

    """

  static func run(_ arguments: [String]) async throws {
    guard let command = arguments.first else { throw BenchError(usage, isUsage: true) }
    let rest = Array(arguments.dropFirst())
    switch command {
    case "run": try await Suite(options: Options(rest)).run()
    case "language": try LanguageSuite(options: LanguageOptions(rest)).run()
    case "compare":
      guard rest.count == 2 else {
        throw BenchError("compare needs two result files\n\(usage)", isUsage: true)
      }
      try Compare(Results.read(rest[0]), Results.read(rest[1])).print()
    case "generate":
      guard rest.count == 4, let size = Double(rest[1]), size > 0 else {
        throw BenchError("generate needs a shape, a size and two files\n\(usage)", isUsage: true)
      }
      guard let shape = Shape(rawValue: rest[0]) else { throw Shape.unknown(rest[0]) }
      try shape.generate(bytes: Int(size * 1e6), response: rest[2])
      try shape.document.write(toFile: rest[3], atomically: true, encoding: .utf8)
    case "stage":
      // How `run` calls itself: one measured piece of work in a process of its own.
      guard rest.count == 3, let stage = Stage(rawValue: rest[0]) else {
        throw BenchError(usage, isUsage: true)
      }
      var report = try await stage.run(Files(folder: rest[1]))
      report.peakMiB = try Measurement.ownPeakMiB()
      try JSONEncoder().encode(report).write(to: URL(fileURLWithPath: rest[2]))
      // No tidying up: what the program does after its work is not measured.
      exit(0)
    case "checkpoint":
      guard rest.count == 1 else { throw BenchError(usage, isUsage: true) }
      try await Work.checkpoint(Files(folder: rest[0]))
    default: throw BenchError("there is no command \"\(command)\"\n\(usage)", isUsage: true)
    }
  }
}

/// What `run` was asked for.
struct Options {
  var posts = [250, 2500, 25000]
  var shapes = Shape.allCases
  var shapeMegabytes = 11.0
  var rounds = 5
  var rows: Set<String>?
  var feed: String?
  var scratch = FileManager.default.temporaryDirectory.appendingPathComponent("gqlrun-bench").path
  var output: String?

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      guard let value = rest.popFirst() else {
        throw BenchError("\(name) needs a value\n\(Command.usage)", isUsage: true)
      }
      let list = value.split(whereSeparator: { $0 == "," || $0 == " " }).map(String.init)
      switch name {
      case "--posts": posts = try list.map { try Self.number($0, of: name) }
      case "--shapes":
        shapes =
          switch value {
          case "all": Shape.allCases
          case "none", "": []
          default:
            try list.map {
              guard let shape = Shape(rawValue: $0) else { throw Shape.unknown($0) }
              return shape
            }
          }
      case "--shape-mb": shapeMegabytes = Double(try Self.number(value, of: name))
      case "--rounds": rounds = try Self.number(value, of: name)
      case "--rows":
        let known = Stage.allCases.map(\.rawValue)
        if let unknown = list.first(where: { !known.contains($0) }) {
          throw BenchError(
            "there is no row \"\(unknown)\"; the rows are \(known.joined(separator: ", "))",
            isUsage: true)
        }
        rows = Set(list)
      case "--feed": feed = value
      case "--scratch": scratch = value
      case "--output": output = value
      default:
        throw BenchError("there is no option \(name)\n\(Command.usage)", isUsage: true)
      }
    }
  }

  static func number(_ text: String, of name: String) throws -> Int {
    guard let number = Int(text), number > 0 else {
      throw BenchError("\(name) needs whole numbers above 0, not \"\(text)\"", isUsage: true)
    }
    return number
  }
}

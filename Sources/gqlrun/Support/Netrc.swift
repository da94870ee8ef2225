import Foundation

/// The user name and password that a `.netrc` file has for a host.
///
/// The format is that of curl: `machine HOST login NAME password WORD`, comments from `#` to the end of
/// the line, quoted words, macros that are skipped. An entry is for exactly its host; unlike curl,
/// `default` entries are not used, which would send a password to any server.
///
/// https://everything.curl.dev/usingcurl/netrc.html
struct Netrc {
  struct Entry: Equatable {
    var login = ""
    var password = ""
  }

  /// `$NETRC`, or `~/.netrc`.
  static func path(_ variable: (String) -> String?) throws -> String {
    if let path = variable("NETRC"), !path.isEmpty { return path }
    guard let home = variable("HOME"), !home.isEmpty else {
      throw Failure(.usage, "--netrc finds no file: set NETRC or HOME")
    }
    return home + "/.netrc"
  }

  private let words: [String]

  /// Reads a file; warns if every user of the machine can read it.
  init(path: String) throws {
    var status = stat()
    if stat(path, &status) == 0 { OutputFile.warnIfShared(path, status.st_mode) }
    self.init(String(decoding: try Input.bytes(path, "the passwords"), as: UTF8.self))
  }

  init(_ text: String) { words = Self.words(of: text) }

  /// The first entry for a host; host names are compared without regard to case.
  func entry(for host: String) -> Entry? {
    var found: Entry?
    var words = words[...]
    while let word = words.popFirst() {
      switch word {
      case "machine":
        if found != nil { return found }
        if words.popFirst()?.lowercased() == host.lowercased() { found = Entry() }
      case "default": if found != nil { return found }
      case "login": found?.login = words.popFirst() ?? ""
      case "password": found?.password = words.popFirst() ?? ""
      case "account": words = words.dropFirst()
      default: break
      }
      // The words of entries for other hosts are skipped, too.
    }
    return found
  }

  private static func words(of text: String) -> [String] {
    var words: [String] = []
    var isMacro = false
    for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      // A macro ends with an empty line.
      if isMacro {
        isMacro = !line.allSatisfy(\.isWhitespace)
        continue
      }
      var rest = line[...]
      while let word = nextWord(&rest) {
        if word.hasPrefix("#") { break }
        if word == "macdef" {
          isMacro = true
          break
        }
        words.append(word)
      }
    }
    return words
  }

  private static func nextWord(_ rest: inout Substring) -> String? {
    rest = rest.drop(while: \.isWhitespace)
    guard rest.first == "\"" else {
      let word = rest.prefix { !$0.isWhitespace }
      rest = rest[word.endIndex...]
      return word.isEmpty ? nil : String(word)
    }
    rest.removeFirst()
    var word = ""
    while let character = rest.popFirst(), character != "\"" {
      guard character == "\\" else {
        word.append(character)
        continue
      }
      switch rest.popFirst() {
      case "n": word.append("\n")
      case "r": word.append("\r")
      case "t": word.append("\t")
      case let escaped?: word.append(escaped)
      case nil: break
      }
    }
    return word
  }
}

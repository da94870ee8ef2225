import GQLRunPipeline
import Testing

@Suite struct AuthorityTests {
  @Test(
    arguments: [
      ("example.com", "example.com", nil), ("example.com:8080", "example.com", 8080),
      ("[::1]", "::1", nil), ("[::1]:443", "::1", 443), ("example.com:", "example.com", nil),
      ("", "", nil),
    ] as [(String, String, Int?)])
  func `an authority has a host, and it may have a port`(text: String, host: String, port: Int?) {
    let authority = Authority(text)
    #expect(authority.host == host)
    #expect(authority.port == port)
  }

  @Test(arguments: [
    ("localhost:4000", true), ("LOCALHOST", true), ("127.0.0.1", true), ("127.1:80", true),
    ("[::1]:80", true), ("127.example.com", false), ("localhost.example.com", false),
    ("127", false),
    ("", false),
  ])
  func `only names and addresses of this machine are its own`(text: String, isLoopback: Bool) {
    #expect(Authority(text).isLoopback == isLoopback)
  }
}

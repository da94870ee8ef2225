import Foundation
import GQLRunTestSupport
import NIOSSL

/// Certificates for servers on this machine, made with openssl for the time of the tests.
struct TestCertificates: Sendable {
  let folder: String

  /// `nil` when there is no openssl.
  static let shared: TestCertificates? = try? TestCertificates()

  enum Name: String {
    /// For localhost and 127.0.0.1.
    case good
    case expired
    /// For another name.
    case other
  }

  private struct NoTool: Error {}

  private init() throws {
    folder = NSTemporaryDirectory() + "certificates-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let configuration = """
      [ca]
      default_ca = d
      [d]
      database = ./index.txt
      new_certs_dir = .
      serial = ./serial
      default_md = sha256
      policy = p
      copy_extensions = copy
      unique_subject = no
      [p]
      commonName = supplied

      """
    try Data(configuration.utf8).write(to: URL(fileURLWithPath: folder + "/ca.cnf"))
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    try shell("touch index.txt && echo 01 > serial")
    for authority in ["ca", "stranger"] {
      try shell(
        "openssl req -x509 \(key) -keyout \(authority).key -out \(authority).pem -subj /CN=\(authority)"
          + " -days 30")
    }
    let local = "DNS:localhost,IP:127.0.0.1"
    for (name, names, time) in [
      ("good", local, "-days 30"), ("other", "DNS:other.example", "-days 30"),
      ("expired", local, "-startdate 20200101000000Z -enddate 20210101000000Z"),
      ("client", "DNS:client", "-days 30"),
    ] {
      try shell(
        "openssl req \(key) -keyout \(name).key -out \(name).csr -subj /CN=\(name)"
          + " -addext subjectAltName=\(names)")
      try shell(
        "openssl ca -batch -notext -config ca.cnf -keyfile ca.key -cert ca.pem -in \(name).csr"
          + " -out \(name).pem \(time)")
    }
  }

  private func shell(_ line: String) throws {
    let (status, _, _) = try ChildProcess("/bin/sh", ["-c", line], in: folder).finish()
    guard status == 0 else { throw NoTool() }
  }

  func path(_ name: String) -> String { "\(folder)/\(name)" }

  /// What a server with one of the certificates is set up with.
  func server(
    _ name: Name, change: (inout TLSConfiguration) -> Void = { _ in }
  ) throws -> TLSConfiguration {
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: try NIOSSLCertificate.fromPEMFile(path("\(name.rawValue).pem")).map {
        .certificate($0)
      },
      privateKey: .privateKey(
        try NIOSSLPrivateKey(file: path("\(name.rawValue).key"), format: .pem)))
    change(&configuration)
    return configuration
  }
}

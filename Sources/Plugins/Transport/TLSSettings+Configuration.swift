import GQLRunPipeline
import NIOSSL

extension TLSSettings {
  /// The error for a file of the settings that cannot be used.
  struct UnusableFile: Error {
    var message: String
  }

  /// The settings for the TLS library.
  func configuration() throws(UnusableFile) -> TLSConfiguration {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = minimumVersion == .tls13 ? .tlsv13 : .tlsv12
    if !verifiesServer { configuration.certificateVerification = .none }
    if let authorityFile {
      configuration.trustRoots = .certificates(
        try certificates(authorityFile, option: "--cacert or the option tls.ca_file"))
    }
    if let certificateFile, let keyFile {
      configuration.certificateChain = try certificates(
        certificateFile, option: "--cert or the option tls.client_certificate"
      ).map { .certificate($0) }
      do {
        configuration.privateKey = .privateKey(
          try NIOSSLPrivateKey(file: keyFile, format: .pem))
      } catch {
        throw UnusableFile(
          message: "the key \(keyFile), which --key or the option tls.client_key of fetch "
            + "names, cannot be used: it must exist, in PEM format, without a passphrase")
      }
    }
    return configuration
  }

  private func certificates(
    _ path: String, option: String
  ) throws(UnusableFile) -> [NIOSSLCertificate] {
    let found: [NIOSSLCertificate]
    do {
      found = try NIOSSLCertificate.fromPEMFile(path)
    } catch {
      found = []
    }
    guard !found.isEmpty else {
      throw UnusableFile(
        message:
          "the certificates in \(path), which \(option) of fetch names, cannot "
          + "be used: the file must exist, in PEM format")
    }
    return found
  }
}

import Foundation
import GQLRunPipeline
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

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
      try checkKey(of: configuration, certificateFile, keyFile)
    }
    return configuration
  }

  /// Without it, the failure of each connection would say that the private key cannot be loaded.
  private func checkKey(
    of configuration: TLSConfiguration, _ certificateFile: String, _ keyFile: String
  ) throws(UnusableFile) {
    var pair = TLSConfiguration.makeClientConfiguration()
    pair.certificateVerification = .none
    pair.certificateChain = configuration.certificateChain
    pair.privateKey = configuration.privateKey
    do {
      _ = try NIOSSLContext(configuration: pair)
    } catch {
      throw UnusableFile(
        message:
          "the key \(keyFile) does not belong to the first certificate in \(certificateFile), where this client's must be; "
          + "they are named by --key and --cert, or the options tls.client_key and tls.client_certificate of fetch"
      )
    }
  }

  /// The server name for SNI and the verification of the certificate; `nil` for an address, which TLS cannot name.
  func name(of host: String) -> String? { serverName ?? (host.isAddress ? nil : host) }

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

extension String {
  /// Whether the text is an IP address.
  var isAddress: Bool { (try? SocketAddress(ipAddress: self, port: 0)) != nil }
}

/// TLS on connections to a Unix domain socket.
///
/// async-http-client has no server name for a socket, so it is given plain connections, and this adds TLS to
/// them before their first request. They use HTTP/1.1.
struct SocketTLS: Sendable {
  let context: NIOSSLContext
  /// The server name for SNI and certificate verification; `nil` if the server is not verified.
  let name: String?
  let timeout: TimeAmount

  init(_ configuration: TLSConfiguration?, name: String?, timeout: TimeAmount) throws {
    var configuration = configuration ?? .makeClientConfiguration()
    configuration.applicationProtocols = ["http/1.1"]
    context = try NIOSSLContext(configuration: configuration)
    self.name = name
    self.timeout = timeout
  }

  /// Adds TLS to a connection; the result completes when the handshake has.
  func add(to channel: any Channel) -> EventLoopFuture<Void> {
    let done = channel.eventLoop.makePromise(of: Void.self)
    do {
      let pipeline = channel.pipeline.syncOperations
      let handshake = HandshakeHandler(done, timeout: timeout)
      try pipeline.addHandler(handshake, position: .first)
      try pipeline.addHandler(
        NIOSSLClientHandler(context: context, serverHostname: name), position: .first)
    } catch {
      done.fail(error)
    }
    done.futureResult.whenFailure { _ in channel.close(promise: nil) }
    return done.futureResult
  }
}

/// Completes a promise at the end of a TLS handshake, and removes itself.
private final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  private let done: EventLoopPromise<Void>
  private let timeout: TimeAmount
  private var timer: Scheduled<Void>?

  init(_ done: EventLoopPromise<Void>, timeout: TimeAmount) {
    self.done = done
    self.timeout = timeout
  }

  func handlerAdded(context: ChannelHandlerContext) {
    timer = context.eventLoop.scheduleTask(in: timeout) { [done, timeout] in
      done.fail(ChannelError.connectTimeout(timeout))
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
    // Has no effect after the end of the handshake.
    done.fail(NIOSSLError.uncleanShutdown)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent {
      done.succeed(())
      context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { done.fail(error) }

  func channelInactive(context: ChannelHandlerContext) {
    done.fail(NIOSSLError.uncleanShutdown)
    context.fireChannelInactive()
  }
}

/// Inspects a rejected certificate to find the reason; the TLS library only reports the rejection.
///
/// Starts a further handshake, in which no data is sent and which is never completed.
enum CertificateProbe {
  /// The problem with the certificate's validity period; `nil` if there is none, or the server
  /// sends no certificate.
  ///
  /// - Parameter name: The server name for SNI; `nil` for an address.
  static func problem(
    host: String, name: String?, port: Int, connect: TimeAmount, now: Double
  ) async -> String? {
    guard let context = try? NIOSSLContext(configuration: .makeClientConfiguration()) else {
      return nil
    }
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let seen = loop.makePromise(of: [Validity].self)
    let bootstrap = ClientBootstrap(group: loop).connectTimeout(connect)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let handler = try NIOSSLClientHandler(
            context: context, serverHostname: name,
            customVerificationCallback: { certificates, result in
              seen.succeed(
                certificates.map {
                  Validity(begin: Double($0.notValidBefore), end: Double($0.notValidAfter))
                })
              result.succeed(.failed)
            })
          try channel.pipeline.syncOperations.addHandler(handler)
        }
      }
    // The time limit for a server that does not answer.
    let timeout = loop.scheduleTask(in: connect) { seen.succeed([]) }
    defer { timeout.cancel() }
    guard let channel = try? await bootstrap.connect(host: host, port: port).get() else {
      seen.succeed([])
      return nil
    }
    channel.closeFuture.whenComplete { _ in seen.succeed([]) }
    let certificates = (try? await seen.futureResult.get()) ?? []
    try? await channel.close()
    return certificates.lazy.compactMap { $0.problem(now: now) }.first
  }

  private struct Validity: Sendable {
    var begin: Double
    var end: Double

    func problem(now: Double) -> String? {
      if now > end { return "expired on \(Self.day(end))" }
      if now < begin {
        return "is not valid before \(Self.day(begin)), and the local date is \(Self.day(now))"
      }
      return nil
    }

    private static func day(_ seconds: Double) -> String {
      Date(timeIntervalSince1970: seconds).formatted(.iso8601.year().month().day())
    }
  }
}

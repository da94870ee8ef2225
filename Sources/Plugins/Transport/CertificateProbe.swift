import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// Inspects a rejected certificate to find the reason; the TLS library only reports the rejection.
///
/// Starts a further handshake, in which no data is sent and which is never completed.
enum CertificateProbe {
  /// The problem with the certificate's validity period; `nil` if there is none, or the server
  /// sends no certificate.
  ///
  /// - Parameter name: The server name for SNI, if it differs from the host.
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
            context: context, serverHostname: name ?? (isAddress(host) ? nil : host),
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

  private static func isAddress(_ host: String) -> Bool {
    (try? SocketAddress(ipAddress: host, port: 0)) != nil
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

/// A TLS server, or one on a Unix domain socket, that passes all bytes on to a server of a test.
enum Front {
  private static let script = #"""
    import os, socket, ssl, sys, threading
    kind, port = sys.argv[1], int(sys.argv[2])
    is_unix = kind in ("unix", "tls-unix")
    if is_unix:
        s = socket.socket(socket.AF_UNIX)
        s.bind("server.sock")
    else:
        s = socket.create_server(("127.0.0.1", 0))
    s.listen()
    context = None
    if kind.startswith("tls"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("server.pem", "server.key")
        if kind == "tls-client":
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations("client.pem")
    def pump(a, b):
        try:
            while True:
                piece = a.recv(65536)
                if not piece: break
                b.sendall(piece)
        except OSError: pass
        for end in (a, b):
            try: end.shutdown(socket.SHUT_RDWR)
            except OSError: pass
    def serve(client):
        try:
            if context: client = context.wrap_socket(client, server_side=True)
        except (ssl.SSLError, OSError): return
        server = socket.create_connection(("127.0.0.1", port))
        threading.Thread(target=pump, args=(server, client), daemon=True).start()
        pump(client, server)
    print("server.sock" if is_unix else s.getsockname()[1], flush=True)
    while True:
        client, _ = s.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()
    """#

  /// Makes self-signed certificates for 127.0.0.1 and api.example, and for a client: `server.pem`, `client.pem`, their keys,
  /// and `both.pem` with certificate and key of the client.
  static func certificates(in folder: Folder) async throws -> Bool {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30"
    return try await Program.shell(
      "for n in server client; do openssl req -x509 \(key) -keyout $n.key -out $n.pem -subj /CN=$n "
        + "-addext subjectAltName=IP:127.0.0.1,DNS:api.example || exit 1; done; cat client.pem client.key > both.pem",
      in: folder
    ).status == 0
  }

  /// Runs shell lines next to a front of a server.
  ///
  /// - Parameters:
  ///   - kind: `tls`, `tls-client`, which requires the client's certificate, `unix`, or `tls-unix`.
  ///   - port: The port of the server.
  ///   - line: The lines; `$FRONT` is the port or the path of the socket.
  static func shell(
    _ kind: String, port: Int, _ line: String, in folder: Folder
  ) async throws -> RunResult {
    try await Program.shell(
      beside: script, arguments: "\(kind) \(port)", lines: "FRONT=$PORT\n\(line)", in: folder)
  }
}

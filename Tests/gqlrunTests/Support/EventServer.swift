/// A server of subscriptions over server-sent events, for the program.
///
/// Its first connection follows the first script, the last script serves all further ones. A script is a list
/// of words: `event` sends the next number, `flood` sends numbers until the client closes the connection, `hold`
/// keeps the connection open until then, `complete` ends the subscription; without one of these the connection is
/// lost. `wait:FILE` waits until a file is there.
/// Queries are answered with the number of events so far, and leave the file `queried`.
enum EventServer {
  private static let script = #"""
    import json, os, re, socket, sys, threading, time
    scripts = [words.split() for words in sys.argv[1:]]
    s = socket.create_server(("127.0.0.1", 0))
    state = {"connections": 0, "count": 0}
    def request(client):
        data = b""
        while b"\r\n\r\n" not in data:
            piece = client.recv(65536)
            if not piece: return None
            data += piece
        head, body = data.split(b"\r\n\r\n", 1)
        length = int(re.search(rb"content-length: *(\d+)", head, re.I).group(1))
        while len(body) < length: body += client.recv(65536)
        return json.loads(body)
    def event(client):
        state["count"] += 1
        data = json.dumps({"data": {"counted": {
            "__typename": "Counter", "id": "1", "value": state["count"]}}})
        client.sendall(b"event: next\ndata: " + data.encode() + b"\n\n")
    def serve(client):
        while True:
            message = request(client)
            if message is None: return client.close()
            if "subscription" not in message["query"]:
                body = json.dumps({"data": {"counter": {
                    "__typename": "Counter", "id": "1", "value": state["count"]}}}).encode()
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                    % len(body) + body)
                open("queried", "w").close()
                continue
            words = scripts[min(state["connections"], len(scripts) - 1)]
            state["connections"] += 1
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
            for word in words:
                if word == "event": event(client)
                elif word == "flood":
                    try:
                        while True: event(client)
                    except OSError: pass
                elif word.startswith("wait:"):
                    while not os.path.exists(word[5:]): time.sleep(0.01)
                elif word == "hold":
                    while client.recv(65536): pass
                    open("closed", "w").close()
                elif word == "complete":
                    client.sendall(b"event: complete\ndata:\n\n")
            return client.close()
    s.listen()
    print(s.getsockname()[1], flush=True)
    while True:
        client, _ = s.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()
    """#

  static let subscription = "subscription Counted { counted { id value } }"

  /// The line that the program prints for an event.
  static func line(_ number: Int) -> String {
    #"{"data":{"counted":{"id":"1","value":\#(number)}}}"# + "\n"
  }

  /// Runs shell lines next to a server; `$URL` is its endpoint.
  static func shell(_ scripts: String..., line: String, in folder: Folder) async throws -> RunResult
  {
    try await Program.shell(
      beside: script, arguments: scripts.map { "'\($0)'" }.joined(separator: " "),
      lines: """
        URL=http://127.0.0.1:$PORT/graphql
        until_in() { until grep -q "$1" "$2" 2> /dev/null; do sleep 0.01; done; }
        \(line)
        """, in: folder)
  }
}

import Foundation
import GQLRunDemoServer
import Testing

@Suite("gqlrun batch and its outputs", .timeLimit(.minutes(10)))
struct BatchOutputTests {
  @Test(
    "a run that is resumed into a standard output that was emptied is refused, one that appends continues"
  )
  func standardOutput() async throws {
    try await Hold.withServer(after: 40) { hold, server in
      let folder = try Folder()
      try folder.write("id\n" + (1...200).map { "U_\($0)\n" }.joined(), to: "ids.csv")
      try folder.write(
        """
        version: 1
        name: users
        run: { concurrency: 4 }
        operations:
          - id: users
            query: "query User($id: ID!) { user(id: $id) { id } }"
            foreach: { csv: ids.csv, key: "{{row.id}}" }
            variables: { id: "{{row.id}}" }
            emit: user
        """, to: "m.batch.yaml")
      let run = Task {
        try await Program.shell(
          """
          # The file has the process before the program begins.
          sh -c 'echo $$ > id; exec "$GQLRUN" batch run m.batch.yaml --timeout 5m --endpoint "$0" > out' \
            '\(server.url)?delay=20' & wait $!
          """, in: folder)
      }
      await server.log.requests(41)
      let id = try #require(Int32(folder.text("id").filter { $0.isNumber }))
      kill(id, SIGINT)
      // The program reports it on the standard error of the shell.
      try await folder.waits(for: "interrupt again", inFilesNamed: "sh-err-")
      await hold.open()
      #expect(try await run.value.status == 130)
      let before = try folder.text("out").split(separator: "\n").count
      #expect(before > 0 && before < 200)
      try FileManager.default.copyItem(atPath: folder.file("out"), toPath: folder.file("copy"))
      let resume = "\"$GQLRUN\" batch run m.batch.yaml --resume --endpoint \(server.url)"
      let sent = server.requestCount
      let emptied = try await Program.shell("\(resume) > out", in: folder)
      #expect(emptied.status == 65 && emptied.errors.contains("append with `>>`"), "\(emptied)")
      #expect(server.requestCount == sent)
      let appended = try await Program.shell("cat copy > out; \(resume) >> out", in: folder)
      #expect(appended.status == 0, "\(appended)")
      let records = try folder.text("out").split(separator: "\n")
      #expect(records.count == 200 && Set(records).count == 200)
    }
  }
}

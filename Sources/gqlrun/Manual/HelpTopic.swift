import GQLRunPlugins
import GQLRunSupport

/// A short text that `gqlrun help NAME` prints.
struct HelpTopic {
  var name: String
  var title: String
  var text: String

  /// The text of `gqlrun help topics` or `gqlrun help TOPIC`; `nil` for other arguments.
  static func page(for arguments: [String]) -> String? {
    guard arguments.count == 2, arguments[0] == "help" else { return nil }
    if arguments[1] == "topics" { return list }
    return all.first { $0.name == arguments[1] }.map { "\($0.title)\n\n\($0.text)\n" }
  }

  /// The list that `gqlrun help topics` prints.
  static var list: String {
    var table = TextTable()
    for topic in all { table.add("  " + topic.name, topic.title) }
    return "TOPICS\n\(table.text)\nRead one with `gqlrun help TOPIC`.\n"
  }

  static let all = [
    HelpTopic(
      name: "environment", title: "Environment variables that gqlrun reads",
      text: """
        \(ProgramReference.table(ProgramReference.environment))

        The proxy variables follow curl's rules: HTTPS_PROXY, ALL_PROXY and NO_PROXY
        work in upper case, too; HTTP_PROXY does not. A pipeline file reads other
        variables with ${env:NAME}.
        """),
    HelpTopic(
      name: "exit-codes", title: "Exit codes",
      text: """
        \(ProgramReference.table(ProgramReference.exitCodes))

        A command with GraphQL errors still prints the partial data.
        """),
    HelpTopic(
      name: "files", title: "Files that gqlrun reads and writes",
      text: ProgramReference.table(ProgramReference.files)),
    HelpTopic(
      name: "pipelines", title: "Pipeline files: endpoint, store, keys and chain",
      text: """
        A pipeline file declares the endpoint, the store, the key fields of types, and
        the chain of plugins that requests pass through from top to bottom:

          version: 1
          name: countries
          endpoint: { url: "http://127.0.0.1:8080/graphql" }
          store: { kind: sqlite, path: countries.db }
          keys: { types: { Country: [code] } }
          chain:
            - max-retry: { max_retries: 3 }
            - cache-read: { policy: cache-first }
            - fetch: { timeout: 30s }
            - response-code
            - parse
            - cache-write

        --pipeline takes a file or the name of a ready-made pipeline:
          \(ReadyMade.names.joined(separator: ", "))
        Their databases and recordings are in the working directory.

        gqlrun pipeline new FILE --from NAME copies a ready-made pipeline. gqlrun
        pipeline check FILE reports all errors of a file. gqlrun plugins lists the
        plugins.
        """),
    HelpTopic(
      name: "policies", title: "Fetch policies: whether cache or network answers",
      text: """
          cache-first        the cache; the network on a cache miss (default)
          cache-and-network  the cache, then the network: two results after a cache hit
          network-first      the network; the cache if the network or the server fails
          network-only       the network; the response is stored
          cache-only         the cache; a cache miss is an error (exit code 3)
          no-cache           the network; the response is not stored

        --policy overrides the policy of the plugin cache-read. A stale field, which is
        older than its max age, counts as a cache miss. network-first returns stale
        data, too.
        """),
    HelpTopic(
      name: "keys", title: "Cache keys: how the cache identifies records",
      text: """
        The cache stores each object once, under the name of its type and the values of
        its key fields: User:1. The default key field is id. Other key fields are
        declared with

          --keys Country=code                        on the command line
          keys: { types: { Country: [code] } }       in a pipeline file

        gqlrun adds __typename and key fields to the operation that it sends, and leaves
        them out of the result. An object without key fields is stored below the object
        that contains it.
        """),
    HelpTopic(
      name: "variables", title: "Variables of an operation",
      text: """
          --var code=DE                  text, parsed as the declared type of $code
          --var 'filter:={"a": 1}'       JSON
          --var input.customer.id=c1     a field of an input object
          --var input.tags.0=new         an element of a list; the same: input.tags[0]
          --var-file body=post.txt       text from a file
          --variables variables.json     all variables, as JSON or YAML

        --var and --var-file override --variables: a part replaces that part of the
        file's value. A variable is given as a whole or in parts, not both. Without
        --schema, the fields of an input object have no known type: JSON such as 7 or
        true is read as such, other text as it is.
        """),
    HelpTopic(
      name: "subscriptions", title: "Subscriptions: transports, ends and lost connections",
      text: """
        gqlrun run 'subscription { … }' -e URL prints one line per event. How it is sent
        depends on the endpoint:

          http://, https://   over HTTP: server-sent events or multipart, as the server
                              answers; if it answers with neither, over WebSocket at
                              the same address
          ws://, wss://       over WebSocket: graphql-transport-ws or graphql-ws, as the
                              server selects

        A pipeline file selects it with `transport`, and may name another URL:

          endpoint:
            url: "https://api.example/graphql"
            subscriptions:
              transport: auto
              url: "wss://api.example/subscriptions"

        transport is auto, graphql-transport-ws, graphql-ws, sse or multipart. gqlrun
        doctor URL finds out what an endpoint supports.

        --first N ends a subscription after N events, --for 30s after a time. The
        ready-made pipeline live, or max-retry in a chain, connects again after a lost
        connection.
        """),
    HelpTopic(
      name: "completion", title: "Completion of commands, options and files in a shell",
      text: """
        gqlrun --generate-completion-script prints the script of a shell: bash, zsh or
        fish; without a name, of the shell in SHELL.

          bash   gqlrun --generate-completion-script bash \\
                   > ~/.local/share/bash-completion/completions/gqlrun
          zsh    gqlrun --generate-completion-script zsh > FOLDER/_gqlrun
                 with a FOLDER in fpath, before compinit
          fish   gqlrun --generate-completion-script fish \\
                   > ~/.config/fish/completions/gqlrun.fish

        For the current bash alone:

          eval "$(gqlrun --generate-completion-script bash)"
        """),
    HelpTopic(
      name: "manifests", title: "Batch manifests: operations, rows and sinks",
      text: """
        A manifest declares the operations of a batch, the rows that they run over, and
        the sinks:

          version: 1
          name: nightly
          endpoint: "http://127.0.0.1:8080/graphql"
          run: { concurrency: 4 }
          sinks:
            - ndjson: { path: "out/{{op}}.ndjson" }
          operations:
            - id: countries
              document: country.graphql
              foreach: { csv: codes.csv, as: row, key: "{{row.code}}" }
              variables: { code: "{{row.code}}" }

        gqlrun batch check FILE reports all errors of a manifest and its rows. gqlrun
        batch run FILE runs it. A journal records the state of each task, so that
        --resume continues an interrupted run. Input paths are relative to the manifest;
        outputs must be below its folder.
        """),
    HelpTopic(
      name: "exec", title: "Plugins in any language: the lines of the plugin exec",
      text: """
        The plugin exec starts a program and exchanges lines of JSON with it. The first
        line, with the event start, requires no answer. Every other line requires one,
        with the same id, in any order. gqlrun logs the program's standard error.

          - exec: { command: [python3, ./sign.py], stage: http }

          {"event":"start","version":1,"stage":"http","options":{}}
          {"event":"request","method":"POST","url":"…","headers":{…},"body":"…","id":1}
          {"id":1,"action":"continue","headers":{"X-Signature":"…"}}

        Members of the lines, by stage and event (option events):
          graphql request   operation {name, type}, attempt, document, variables,
                            context
          graphql response  operation, attempt, source, status, errors
                            [{message, code, path}]; with max_data: data,
                            data_is_whole
          graphql event     the same, number, data: an event of a subscription
          graphql failure   operation, attempt, layer, code, message, delivery
                            (notSent, unknown, answered), status, body
          http request      method, url, headers, body, attempt
          http response     status, headers; with max_body: body, body_is_whole
          http failure      attempt, layer, code, message, delivery, status, body

        Actions of the answers:
          continue  headers to set; graphql: context, extensions; http: remove, body
          answer    a result instead of the server's; graphql: data, errors, extensions;
                    http: status, headers, body. Without data, the data of a graphql
                    response stays, and errors and extensions are replaced
          retry     only for a graphql response or failure, with failure in events:
                    starts the chain again. A mutation that the server may have
                    executed is not sent again
          drop      only for an event, which is neither delivered nor stored
          fail      code and message of the error

          {"event":"response",…,"errors":[{"message":"no","path":["user"],…}],"id":2}
          {"id":2,"action":"answer","errors":[{"message":"denied","path":["user"]}]}
          {"event":"failure",…,"code":"http_status","delivery":"answered","id":3}
          {"id":3,"action":"retry"}

        gqlrun plugins exec lists the options. A file that starts programs must be
        trusted: gqlrun help trust.
        """),
    HelpTopic(
      name: "secrets", title: "Secrets: where they come from, and where they are hidden",
      text: """
        A pipeline file should not contain secrets. It reads them with ${env:NAME},
        ${file:PATH} or ${exec:COMMAND}, or renews tokens with the plugin token-refresh.
        --header keeps a value out of files, but other users can see command lines;
        prefer a variable.

        gqlrun prints ••• instead of the values of secret fields, such as Authorization,
        and of every value from ${env:…}, ${file:…} and ${exec:…}: in messages, logs,
        --curl, --har and reports. The data of responses is printed unchanged.

        gqlrun logout --pipeline FILE deletes the tokens and the cache of a pipeline.
        """),
    HelpTopic(
      name: "trust", title: "Trust: which files may start programs, and write elsewhere",
      text: """
        A pipeline file or manifest can start programs: ${exec:…}, the plugin exec, and
        the command of a token. It can also name files to write outside of its
        repository, the nearest folder with .git: a cache, a recording, tokens, an audit
        log. Commands that only read a file start no programs. Commands that run a file
        do so only if what it starts and writes elsewhere is trusted, for the file and
        the files that it extends:

          gqlrun pipeline trust FILE     trusts a pipeline file until it changes
          gqlrun batch trust FILE        trusts a manifest and its pipeline
          --allow-exec                   allows all of it for one run
          GQLRUN_ALLOW_EXEC=1            the same, for scripts and CI

        A path that is only a variable of yours, such as "${env:GQL_CACHE}", needs no
        trust, nor do ~/.cache/gqlrun (XDG_CACHE_HOME) and the folder of temporary
        files (TMPDIR, or else /tmp).

        --revoke removes files from the trusted files.
        """),
  ]
}

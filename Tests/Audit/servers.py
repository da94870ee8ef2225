#!/usr/bin/env python3
"""Audits common GraphQL servers with `gqlrun doctor --audit`, and prints the result as a table in Markdown.

usage: servers.py [--serve NAME] [GQLRUN]

GQLRUN is the program, by default `gqlrun`. Installs the servers from PyPI into a temporary environment, starts each of
them on 127.0.0.1, and the demo server of gqlrun. The table is that of docs/client-audit.md.

  --serve NAME   only starts a server, and prints its URL: strawberry, ariadne or graphql-core
"""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.error
import urllib.request
import venv

# What a user writes who follows the first page of a server's documentation. The last argument is the port.
SERVERS = {
    "strawberry": (
        "Strawberry", ["strawberry-graphql==0.341.2", "starlette==1.10.0", "uvicorn==0.54.0", "python-multipart==0.0.34"],
        """
        import sys, strawberry, uvicorn
        from strawberry.asgi import GraphQL

        @strawberry.type
        class Query:
            @strawberry.field
            def hello(self) -> str:
                return "Hello"

        @strawberry.type
        class Mutation:
            @strawberry.mutation
            def greet(self) -> str:
                return "Hello"

        schema = strawberry.Schema(query=Query, mutation=Mutation)
        uvicorn.run(GraphQL(schema), port=int(sys.argv[1]), log_level="warning")
        """),
    "ariadne": (
        "Ariadne", ["ariadne==1.1.1", "uvicorn==0.54.0", "python-multipart==0.0.34"],
        """
        import sys, uvicorn
        from ariadne import make_executable_schema
        from ariadne.asgi import GraphQL

        schema = make_executable_schema("type Query { hello: String } type Mutation { greet: String }")
        uvicorn.run(GraphQL(schema), port=int(sys.argv[1]), log_level="warning")
        """),
    "graphql-core": (
        "a WSGI function around graphql-core", ["graphql-core==3.3.2"],
        """
        import json, sys
        from graphql import build_schema, graphql_sync
        from wsgiref.simple_server import make_server

        schema = build_schema("type Query { hello: String } type Mutation { greet: String }")

        def application(environ, start_response):
            body = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"] or 0)))
            result = graphql_sync(
                schema, body["query"], variable_values=body.get("variables"), operation_name=body.get("operationName"))
            start_response("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(result.formatted).encode()]

        make_server("127.0.0.1", int(sys.argv[1]), application).serve_forever()
        """),
}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def wait_for(url, process):
    """Waits until a query is answered."""
    request = urllib.request.Request(
        url, b'{"query":"{ __typename }"}', {"Content-Type": "application/json", "Accept": "application/json"})
    for _ in range(300):
        if process.poll() is not None:
            sys.exit(f"{url} has ended with {process.returncode}")
        try:
            with urllib.request.urlopen(request, timeout=5) as response:
                json.load(response)
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    sys.exit(f"{url} does not answer")


@contextlib.contextmanager
def running(command, url, folder):
    with open(os.path.join(folder, "log"), "wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_for(url, process)
        yield url
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def installed(name, folder):
    """A server in an environment of its own."""
    _, packages, program = SERVERS[name]
    environment = pathlib.Path(folder, name)
    venv.create(environment, with_pip=True)
    python = str(environment / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True)
    script = environment / "server.py"
    script.write_text(textwrap.dedent(program))
    port = free_port()
    with running([python, str(script), str(port)], f"http://127.0.0.1:{port}/", folder) as url:
        yield url


def row(name, gqlrun, url):
    run = subprocess.run([gqlrun, "doctor", url, "--audit", "--json"], stdout=subprocess.PIPE)
    if run.returncode not in (0, 1) or not run.stdout:
        sys.exit(f"the audit of {name} ended with {run.returncode}")
    rules = json.loads(run.stdout)["rules"]
    cells = [name]
    for level in ("MUST", "SHOULD"):
        outcomes = [rule["outcome"] for rule in rules if rule["level"] == level]
        checked = len(outcomes) - outcomes.count("not checked")
        cells.append(f"{outcomes.count('kept')} of {checked}")
    for level in ("MUST", "SHOULD"):
        broken = [rule["id"] for rule in rules if rule["level"] == level and rule["outcome"] == "not kept"]
        cells.append(", ".join(f"`{rule}`" for rule in broken) or "–")
    return f"| {' | '.join(cells)} |"


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--serve"] and len(arguments) == 2 and arguments[1] in SERVERS:
        with tempfile.TemporaryDirectory() as folder, installed(arguments[1], folder) as url:
            print(url, flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    time.sleep(60)
        return
    if len(arguments) > 1 or arguments[:1] in (["--help"], ["--serve"]):
        sys.exit(__doc__)
    gqlrun = arguments[0] if arguments else "gqlrun"
    if os.sep in gqlrun:
        gqlrun = os.path.abspath(gqlrun)
    print("| server | MUST | SHOULD | MUST not kept | SHOULD not kept |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for key, (name, packages, _) in SERVERS.items():
            with installed(key, folder) as url:
                print(row(f"{name} {packages[0].split('==')[1]}", gqlrun, url), flush=True)
        port = free_port()
        version = subprocess.run([gqlrun, "--version"], stdout=subprocess.PIPE, text=True).stdout.strip()
        command = [gqlrun, "serve", "--port", str(port)]
        with running(command, f"http://127.0.0.1:{port}/graphql", folder) as url:
            print(row(f"`gqlrun serve`, {version}", gqlrun, url), flush=True)


main()

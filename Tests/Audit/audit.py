#!/usr/bin/env python3
"""Checks a GraphQL client by the rules of docs/client-audit.md that a server can observe.

usage: audit.py [--only TEXT] [--list] [--] COMMAND...

COMMAND runs one operation and prints its result as JSON on standard output, an event per line. These words are
replaced in it:

  {url}        the endpoint
  {document}   a file with the operation
  {query}      the text of the operation

  audit.py -- gqlrun run {document} --endpoint {url}
  audit.py -- gql-cli {url} --document {query}

Each rule has a server of its own that answers as the rule needs, on 127.0.0.1. Prints a line for each rule, with what
was found where it is not kept. The exit code is the number of rules that are not kept, at most 100.
"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading

QUERY = "query Audit { value }"
MUTATION = "mutation Audit { value }"
SUBSCRIPTION = "subscription Audit { value }"
DATA = '{"data":{"value":"audit-value"}}'
ERRORS = '{"errors":[{"message":"audit-error"}]}'
BOTH = '{"data":{"value":"audit-value"},"errors":[{"message":"audit-error"}]}'
JSON = "application/json"
RESPONSE = "application/graphql-response+json"


class Request:
    """A request as the server read it."""

    def __init__(self, line, fields, body):
        self.method, self.target = line.split(" ")[:2]
        self.fields, self.body = fields, body

    def json(self):
        return json.loads(self.body)


class Server:
    """Answers every request of a connection with `answer(request, number)`: bytes, or None to close."""

    def __init__(self, answer):
        self.answer, self.requests, self.lock = answer, [], threading.Lock()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/graphql"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rb") as reader:
            try:
                while (request := self.read(reader)) is not None:
                    with self.lock:
                        self.requests.append(request)
                        number = len(self.requests)
                    answer = self.answer(request, number)
                    if answer is None:
                        return
                    connection.sendall(answer)
                    if b"connection: close" in answer[:1000]:
                        return
            except (OSError, ValueError):
                return

    @staticmethod
    def read(reader):
        line = reader.readline().decode("latin-1").strip()
        if not line:
            return None
        fields = {}
        while field := reader.readline().decode("latin-1").strip():
            name, value = field.split(":", 1)
            fields[name.strip().lower()] = value.strip()
        if fields.get("transfer-encoding", "").lower() == "chunked":
            body = b""
            while size := int(reader.readline().split(b";")[0], 16):
                body += reader.read(size)
                reader.readline()
            reader.readline()
        else:
            body = reader.read(int(fields.get("content-length", 0)))
        return Request(line, fields, body)

    def close(self):
        self.socket.close()


def http(status, body="", kind=JSON, fields=(), length=None):
    """A response; without a media type if `kind` is None."""
    body = body.encode() if isinstance(body, str) else body
    head = [f"HTTP/1.1 {status} x", "connection: close"]
    head += [f"content-type: {kind}"] if kind else []
    head += [f"content-length: {len(body) if length is None else length}", *fields]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


class Outcome:
    """What a client did."""

    def __init__(self, process, requests):
        self.output = process.stdout.decode("utf-8", "replace")
        self.errors = process.stderr.decode("utf-8", "replace")
        self.status, self.requests = process.returncode, requests

    def requests_are(self, count):
        return None if len(self.requests) == count else f"{len(self.requests)} requests were sent"

    def has(self, *texts):
        for text in texts:
            if text not in self.output + self.errors:
                return f"`{text}` was not shown"
        return None

    def fails(self):
        if self.status == 0:
            return "the client reports success"
        return "the value is shown as a result" if "audit-value" in self.output else None

    def succeeds(self):
        return None if self.status == 0 else f"the client exits with {self.status}: {self.errors[:200]}"


RULES = []


def rule(text, document=QUERY):
    """Adds a rule: a function of the client's run that returns None, or what is wrong."""
    def add(function):
        RULES.append((text, document, function))
        return function
    return add


def first(*problems):
    return next((problem for problem in problems if problem), None)


def fixed(*arguments, **named):
    return lambda request, number: http(*arguments, **named)


@rule("A request is a POST with a JSON object: `query`, and `variables`, `operationName` and `extensions` where there "
      "are any")
def _(run):
    outcome = run(fixed(200, DATA))
    request = outcome.requests[0] if outcome.requests else None
    if request is None or request.method != "POST":
        return "no POST was sent"
    if not request.fields.get("content-type", "").startswith(JSON):
        return f"the media type is {request.fields.get('content-type')}"
    members = request.json()
    unknown = set(members) - {"query", "variables", "operationName", "extensions"}
    return f"unknown members {sorted(unknown)}" if unknown else None if "query" in members else "there is no query"


@rule("`Accept` has `application/graphql-response+json`, and `application/json` for older servers")
def _(run):
    outcome = run(fixed(200, DATA))
    accept = outcome.requests[0].fields.get("accept", "") if outcome.requests else ""
    return None if RESPONSE in accept and JSON in accept else f"Accept is `{accept}`"


@rule("Members without a value are left out")
def _(run):
    outcome = run(fixed(200, DATA))
    empty = [name for name, value in outcome.requests[0].json().items() if value is None]
    return f"{empty} are null" if empty else None


@rule("Only subscriptions accept event streams, which some servers would answer a query with")
def _(run):
    outcome = run(fixed(200, DATA))
    accept = outcome.requests[0].fields.get("accept", "")
    return f"Accept is `{accept}`" if "event-stream" in accept else None


@rule("A body of `application/graphql-response+json` counts, whatever the status is")
def _(run):
    return run(fixed(400, ERRORS, RESPONSE)).has("audit-error")


@rule("A body of `application/json` counts with a status of 200 to 299 only: others may be of a proxy")
def _(run):
    return run(fixed(503, DATA)).fails()


@rule("294, partial success: data and errors are delivered together")
def _(run):
    return run(fixed(294, BOTH, RESPONSE)).has("audit-value", "audit-error")


@rule("422, an invalid document or variable: the errors are the result")
def _(run):
    return run(fixed(422, ERRORS, RESPONSE)).has("audit-error")


@rule("200 with errors only is a result")
def _(run):
    return run(fixed(200, ERRORS)).has("audit-error")


@rule("200 with data and errors is a result with both")
def _(run):
    return run(fixed(200, BOTH)).has("audit-value", "audit-error")


@rule("A web page is no result, and the error says what was received")
def _(run):
    outcome = run(fixed(200, "<h1>audit-page</h1>", "text/html"))
    return first(outcome.fails(), outcome.has("html"))


@rule("A body without a media type is parsed, one with another type is not")
def _(run):
    outcome = run(fixed(200, DATA, None))
    return first(outcome.succeeds(), outcome.has("audit-value"), run(fixed(200, DATA, "text/html")).fails())


@rule("An empty body is an error, not empty data")
def _(run):
    return run(fixed(200, "")).fails()


@rule("A body that ends early is an error, and nothing of it is stored")
def _(run):
    return run(fixed(200, DATA[:-1], length=len(DATA))).fails()


@rule("A coding that was not asked for is refused")
def _(run):
    return run(fixed(200, DATA, fields=["content-encoding: audit"])).fails()


@rule("A mutation that the server may have executed is not sent again", MUTATION)
def _(run):
    outcome = run(lambda request, number: None)
    return first(outcome.fails(), outcome.requests_are(1))


@rule("No redirect turns a POST into a GET")
def _(run):
    for status in (301, 302, 303, 307, 308):
        outcome = run(lambda request, number: http(status, "", fields=["location: /other"])
                      if number == 1 else http(200, DATA))
        if any(request.method == "GET" for request in outcome.requests):
            return f"{status} was followed with a GET"
    return None


def stream(*events):
    return http(200, "".join(events), "text/event-stream")


def event(body):
    return f"event: next\ndata: {body}\n\n"


def values(count, text='{{"data":{{"value":"event-{0}"}}}}'):
    return [event(text.format(number)) for number in range(count)]


@rule("Each event is a result", SUBSCRIPTION)
def _(run):
    outcome = run(lambda *_: stream(*values(3), "event: complete\ndata:\n\n"))
    return first(outcome.succeeds(), outcome.has("event-0", "event-1", "event-2"))


@rule("Errors of an event do not end the subscription", SUBSCRIPTION)
def _(run):
    return run(lambda *_: stream(event(ERRORS), *values(1), "event: complete\ndata:\n\n")).has(
        "audit-error", "event-0")


def multipart(*parts):
    body = "".join(f"--audit\r\ncontent-type: {JSON}\r\n\r\n{part}\r\n" for part in parts)
    return http(200, f"{body}--audit--\r\n", 'multipart/mixed; boundary="audit"; subscriptionSpec=1.0')


@rule("Empty parts are heartbeats", SUBSCRIPTION)
def _(run):
    payload = '{"payload":{"data":{"value":"event-0"}}}'
    outcome = run(lambda *_: multipart("{}", payload, "{}"))
    return first(outcome.succeeds(), outcome.has("event-0"))


@rule("A payload of null ends it with its errors", SUBSCRIPTION)
def _(run):
    outcome = run(lambda *_: multipart(f'{{"payload":null,{ERRORS[1:]}'))
    return first(outcome.has("audit-error"), outcome.fails())


def main():
    arguments = sys.argv[1:]
    only = None
    if arguments[:1] == ["--list"]:
        print("\n".join(text for text, _, _ in RULES))
        return 0
    if arguments[:1] == ["--only"] and len(arguments) > 1:
        only, arguments = arguments[1], arguments[2:]
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    if not arguments or not re.search(r"\{(url)\}", " ".join(arguments)):
        sys.exit(__doc__)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for text, document, check in RULES:
            if only and only not in text:
                continue
            path = os.path.join(folder, "audit.graphql")
            with open(path, "w") as file:
                file.write(document)

            def run(answer):
                server = Server(answer)
                words = {"{url}": server.url, "{document}": path, "{query}": document}
                command = [re.sub(r"\{(url|document|query)\}", lambda m: words[m.group()], a) for a in arguments]
                try:
                    process = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
                except subprocess.TimeoutExpired as error:
                    process = subprocess.CompletedProcess(
                        command, 124, error.stdout or b"", (error.stderr or b"") + b"no end after 60 s")
                server.close()
                return Outcome(process, server.requests)

            try:
                problem = check(run)
            except (IndexError, ValueError) as error:
                problem = f"no usable request was sent: {error}"
            failed += problem is not None
            print(f"kept      {text}" if problem is None else f"NOT KEPT  {text}\n          {problem}", flush=True)
    return min(failed, 100)


sys.exit(main())

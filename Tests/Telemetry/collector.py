#!/usr/bin/env python3
"""A collector of OpenTelemetry for tests: runs a command, and writes what it has exported.

    collector.py [--hang] [--status N] FILE COMMAND...

The command gets the address of the collector in OTEL_EXPORTER_OTLP_ENDPOINT. FILE is a JSON object: `spans`, each with
the `path` of names from the root; `metrics`; `resource`; `requests`; and `problems` with everything that is not the JSON
encoding of OTLP. With the package opentelemetry-proto, requests are parsed by its messages, too. --hang answers no
request; --status answers with this code. The exit code is that of the command.

https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
"""
import argparse, base64, http.server, json, os, re, subprocess, sys, threading

try:
    from google.protobuf import json_format
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
    MESSAGES = {
        "/v1/traces": trace_service_pb2.ExportTraceServiceRequest,
        "/v1/metrics": metrics_service_pb2.ExportMetricsServiceRequest,
    }
except ImportError:
    MESSAGES = {}

TEXT, BOOLEAN, NUMBER = str, bool, (int, float)
INT64 = re.compile(r"-?(0|[1-9][0-9]*)\Z")
UINT64 = re.compile(r"(0|[1-9][0-9]*)\Z")
ID8, ID16 = re.compile(r"[0-9a-f]{16}\Z"), re.compile(r"[0-9a-f]{32}\Z")
VALUE = {"stringValue": TEXT, "boolValue": BOOLEAN, "intValue": INT64, "doubleValue": NUMBER}
ATTRIBUTES = [{"key": TEXT, "value": VALUE}]
POINT = {"attributes": ATTRIBUTES, "startTimeUnixNano": UINT64, "timeUnixNano": UINT64}
NUMBER_POINT = {**POINT, "asInt": INT64, "asDouble": NUMBER}
SCOPE = {"name": TEXT, "version": TEXT}
# The members of each message, as far as the program uses them; others are reported.
SHAPES = {
    "/v1/traces": {"resourceSpans": [{
        "resource": {"attributes": ATTRIBUTES},
        "scopeSpans": [{"scope": SCOPE, "spans": [{
            "traceId": ID16, "spanId": ID8, "parentSpanId": ID8, "traceState": TEXT, "flags": int, "name": TEXT,
            "kind": int, "startTimeUnixNano": UINT64, "endTimeUnixNano": UINT64, "attributes": ATTRIBUTES,
            "status": {"code": int, "message": TEXT},
        }]}]}]},
    "/v1/metrics": {"resourceMetrics": [{
        "resource": {"attributes": ATTRIBUTES},
        "scopeMetrics": [{"scope": SCOPE, "metrics": [{
            "name": TEXT, "description": TEXT, "unit": TEXT,
            "sum": {"dataPoints": [NUMBER_POINT], "aggregationTemporality": int, "isMonotonic": BOOLEAN},
            "gauge": {"dataPoints": [NUMBER_POINT]},
            "histogram": {"dataPoints": [{
                **POINT, "count": UINT64, "sum": NUMBER, "bucketCounts": [UINT64], "explicitBounds": [NUMBER],
            }], "aggregationTemporality": int},
        }]}]}]},
}


def problems(value, shape, path):
    """What of a value does not have the shape."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{path} is no object"]
        found = [f"{path}.{name} is unknown" for name in value.keys() - shape.keys()]
        return found + [p for name in value.keys() & shape.keys()
                        for p in problems(value[name], shape[name], f"{path}.{name}")]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{path} is no array"]
        return [p for i, element in enumerate(value) for p in problems(element, shape[0], f"{path}[{i}]")]
    if isinstance(shape, re.Pattern):
        return [] if isinstance(value, str) and shape.match(value) else [f"{path} is {value!r}"]
    is_right = isinstance(value, shape) and (shape is BOOLEAN or not isinstance(value, bool))
    return [] if is_right else [f"{path} is {value!r}"]


def attributes(message):
    result = {}
    for attribute in message.get("attributes", []):
        (kind, value), = attribute["value"].items()
        result[attribute["key"]] = int(value) if kind == "intValue" else value
    return result


def with_bytes(value):
    """The identifiers as the mapping of Protocol Buffers has bytes."""
    if isinstance(value, list):
        return [with_bytes(element) for element in value]
    if not isinstance(value, dict):
        return value
    names = ("traceId", "spanId", "parentSpanId")
    return {name: base64.b64encode(bytes.fromhex(member)).decode() if name in names else with_bytes(member)
            for name, member in value.items()}


class Collector(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, hangs, status):
        super().__init__(("127.0.0.1", 0), Handler)
        self.hangs, self.status, self.lock = hangs, status, threading.Lock()
        self.spans, self.metrics, self.resource, self.requests, self.problems = [], {}, {}, [], []

    def receive(self, path, fields, body):
        self.requests.append({"path": path, "fields": {name.lower(): value for name, value in fields.items()}})
        if fields.get("Content-Type") != "application/json":
            self.problems.append(f"Content-Type is {fields.get('Content-Type')}")
        if path not in SHAPES:
            return self.problems.append(f"{path} is no path of OTLP")
        message = json.loads(body)
        found = problems(message, SHAPES[path], path)
        self.problems += found
        if found:
            return
        if path in MESSAGES:
            json_format.Parse(json.dumps(with_bytes(message)), MESSAGES[path]())
        if path == "/v1/traces":
            for resource in message["resourceSpans"]:
                self.resource = attributes(resource["resource"])
                self.spans += [span for scope in resource["scopeSpans"] for span in scope["spans"]]
        else:
            for resource in message["resourceMetrics"]:
                self.resource = attributes(resource["resource"])
                for metric in [m for scope in resource["scopeMetrics"] for m in scope["metrics"]]:
                    (kind, data), = [(k, metric[k]) for k in ("sum", "gauge", "histogram") if k in metric]
                    # The values are cumulative, so the last ones are all.
                    self.metrics[metric["name"]] = {
                        "kind": kind, "unit": metric["unit"],
                        "points": [{**point, "attributes": attributes(point)} for point in data["dataPoints"]]}

    def report(self):
        by_id = {span["spanId"]: span for span in self.spans}
        if len(by_id) < len(self.spans):
            self.problems.append("an identifier of a span is used twice")

        def path(span):
            parent = by_id.get(span.get("parentSpanId"))
            return (path(parent) + "/" if parent else "") + span["name"]

        spans = [{**span, "attributes": attributes(span), "path": path(span)} for span in self.spans]
        for span in spans:
            if int(span["endTimeUnixNano"]) < int(span["startTimeUnixNano"]):
                self.problems.append(f"{span['path']} ends before it begins")
        return {
            "spans": sorted(spans, key=lambda span: span["path"]), "metrics": self.metrics,
            "resource": self.resource, "requests": self.requests, "problems": self.problems}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.hangs:
            threading.Event().wait()
        with self.server.lock:
            try:
                self.server.receive(self.path, self.headers, body)
            except Exception as error:
                self.server.problems.append(f"{self.path}: {error!r}")
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hang", action="store_true")
    parser.add_argument("--status", type=int, default=200)
    parser.add_argument("file")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    collector = Collector(options.hang, options.status)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{collector.server_address[1]}"
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": address}
    if not options.hang:
        # On a busy machine, this process may have no processor for seconds.
        variables |= {"OTEL_EXPORTER_OTLP_TIMEOUT": "600000", "OTEL_BSP_EXPORT_TIMEOUT": "600000"}
    result = subprocess.run(options.command, env={**os.environ, **variables})
    with collector.lock, open(options.file, "w") as file:
        json.dump(collector.report(), file)
    # Threads that hang are not waited for.
    sys.stdout.flush()
    os._exit(result.returncode if result.returncode >= 0 else 128 - result.returncode)


main()

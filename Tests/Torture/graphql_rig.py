"""A GraphQL server in the standard library of Python: documents, execution, introspection, and HTTP for tests.

Objects are `Object`s, or dictionaries; a value may be a function of the arguments. A value that is a `Fault`, or a function
that raises one, is an error of its field. Nothing is validated: what a client sends is expected to fit the schema.
"""

import asyncio, json, re, threading

TOKEN = re.compile(
    r'(?:[\s,\ufeff]|#[^\n]*)*("""(?:\\"""|(?!""").)*"""|"(?:\\.|[^"\\\n])*"|\.\.\.|[A-Za-z_]\w*'
    r"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[!$()\[\]{}:=@|&])", re.DOTALL)


class Fault(Exception):
    """An error of a field."""


class Document:
    """A parsed document: `operations` and `fragments` by name."""

    def __init__(self, text):
        self.tokens = TOKEN.findall(text)
        self.place = 0
        self.operations, self.fragments = {}, {}
        while self.place < len(self.tokens):
            kind = "query" if self.next == "{" else self.take()
            name = self.take() if self.next not in ("{", "(", "@") else None
            if kind == "fragment":
                self.take("on")
                condition = self.take()
                self.directives()
                self.fragments[name] = (condition, self.selections())
                continue
            defaults = {}
            if self.accept("("):
                while not self.accept(")"):
                    self.take("$")
                    variable = self.take()
                    self.take(":")
                    self.type()
                    if self.accept("="):
                        defaults[variable] = self.value()
                    self.directives()
            self.directives()
            self.operations[name] = (kind, defaults, self.selections())

    @property
    def next(self):
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def take(self, wanted=None):
        token = self.next
        if token is None or wanted not in (None, token):
            raise ValueError(f"{wanted or 'something'} is missing at token {self.place}: {token}")
        self.place += 1
        return token

    def accept(self, token):
        is_next = self.next == token
        self.place += is_next
        return is_next

    def type(self):
        if self.accept("["):
            self.type()
            self.take("]")
        else:
            self.take()
        self.accept("!")

    def value(self):
        """A literal as a function of the variables; absent variables give `None`."""
        token = self.take()
        if token == "$":
            name = self.take()
            return lambda variables: variables.get(name)
        if token == "[":
            values = []
            while not self.accept("]"):
                values.append(self.value())
            return lambda variables: [value(variables) for value in values]
        if token == "{":
            members = {}
            while not self.accept("}"):
                name = self.take()
                self.take(":")
                members[name] = self.value()
            return lambda variables: {name: value(variables) for name, value in members.items()}
        if token.startswith('"""'):
            constant = token[3:-3].replace('\\"""', '"""').strip()
        elif token[0] == '"' or token[0].isdigit() or token[0] == "-" or token in ("true", "false", "null"):
            constant = json.loads(token)
        else:
            constant = token
        return lambda variables: constant

    def arguments(self):
        found = {}
        if self.accept("("):
            while not self.accept(")"):
                name = self.take()
                self.take(":")
                found[name] = self.value()
        return found

    def directives(self):
        found = {}
        while self.accept("@"):
            name = self.take()
            found[name] = self.arguments()
        return found

    def selections(self):
        """A list of `(kind, name, alias, arguments, directives, selections)`."""
        found = []
        self.take("{")
        while not self.accept("}"):
            if self.accept("..."):
                if self.next not in ("on", "@", "{"):
                    found.append(("spread", self.take(), None, None, self.directives(), None))
                    continue
                condition = self.take() if self.accept("on") else None
                found.append(("inline", condition, None, None, self.directives(), self.selections()))
                continue
            alias = name = self.take()
            if self.accept(":"):
                name = self.take()
            arguments, directives = self.arguments(), self.directives()
            found.append(("field", name, alias, arguments, directives, self.selections() if self.next == "{" else None))
        return found


class Object:
    """An object of a type."""

    def __init__(self, type, values):
        self.type, self.values = type, values


class Schema:
    """Types by name, as introspection has them."""

    def __init__(self):
        self.types = {}
        for name in ("Int", "Float", "String", "Boolean", "ID"):
            self.add(name, "SCALAR")
        self.root = {
            "__typename": "__Schema", "queryType": {"__typename": "__Type", "name": "Query"}, "mutationType": None, "subscriptionType": None, "directives": [],
            "description": None}

    def add(self, name, kind="OBJECT", fields=(), interfaces=(), values=(), possible=()):
        """Adds a type; `fields` are `(name, type, {argument: type})`, with types such as `[Item!]!`."""
        plain = {"description": None, "isDeprecated": False, "deprecationReason": None}
        self.types[name] = {
            "__typename": "__Type", "kind": kind, "name": name, "description": None, "specifiedByURL": None, "isOneOf": None, "inputFields": None,
            "fields": None if kind in ("SCALAR", "ENUM") else [
                plain | {
                    "__typename": "__Field", "name": field, "type": lambda type=type: self.reference(type), "args": [
                        plain | {"__typename": "__InputValue", "name": argument, "type": lambda type=type: self.reference(type), "defaultValue": None}
                        for argument, type in arguments.items()]}
                for field, type, arguments in fields],
            "interfaces": None if kind in ("SCALAR", "ENUM") else lambda: [self.reference(name) for name in interfaces],
            "enumValues": [plain | {"__typename": "__EnumValue", "name": value} for value in values] if kind == "ENUM" else None,
            "possibleTypes": (lambda: [self.reference(name) for name in possible]) if kind == "INTERFACE" else None}
        self.types[name]["possible"] = {name, *possible}

    def reference(self, text):
        for kind, is_meant, inner in (
            ("NON_NULL", text.endswith("!"), text[:-1]), ("LIST", text.startswith("["), text[1:-1])):
            if is_meant:
                return {"__typename": "__Type", "kind": kind, "name": None, "ofType": self.reference(inner)}
        return {"__typename": "__Type", "kind": self.types[text]["kind"], "name": text, "ofType": None}

    def is_a(self, type, condition):
        return condition is None or type == condition or type in self.types[condition]["possible"]


class Execution:
    """The result of an operation: `data` and `errors`."""

    def __init__(self, schema, document, operation, variables, root):
        self.schema, self.document, self.errors = schema, document, []
        operations = document.operations
        kind, defaults, selections = operations[operation] if operation else next(iter(operations.values()))
        self.variables = {name: value({}) for name, value in defaults.items()} | variables
        introspection = {"__schema": schema.root | {"types": list(schema.types.values())}, "__type": lambda name: schema.types.get(name)}
        self.data = self.complete(Object("Query", root.values | introspection), [selections], [])

    def response(self):
        return {"data": self.data} | ({"errors": self.errors} if self.errors else {})

    def complete(self, value, selections, path):
        if isinstance(value, list) and selections:
            return [self.complete(each, selections, path + [index]) for index, each in enumerate(value)]
        if value is None or not selections:
            return value
        if isinstance(value, dict):
            value = Object(value.get("__typename"), value)
        fields = {}
        for each in selections:
            self.collect(each, value.type, fields)
        return {alias: self.field(value, found, path + [alias]) for alias, found in fields.items()}

    def collect(self, selections, type, fields):
        for kind, name, alias, arguments, directives, inner in selections:
            included = [directives[d]["if"](self.variables) == (d == "include") for d in ("skip", "include") if d in directives]
            if not all(included):
                continue
            if kind == "field":
                fields.setdefault(alias, []).append((name, arguments, inner))
            else:
                condition, inner = self.document.fragments[name] if kind == "spread" else (name, inner)
                if type.startswith("__") or self.schema.is_a(type, condition):
                    self.collect(inner, type, fields)

    def field(self, object, found, path):
        name, arguments, _ = found[0]
        try:
            value = object.type if name == "__typename" else object.values[name]
            if callable(value):
                given = {name: value(self.variables) for name, value in arguments.items()}
                value = value(**given)
            if isinstance(value, Fault):
                raise value
        except Fault as fault:
            self.errors.append({"message": str(fault), "path": path})
            return None
        return self.complete(value, [inner for _, _, inner in found if inner], path)


class HTTPServer:
    """Answers requests of many clients, in a thread of its own.

    `answer(path, request)` is a coroutine that returns `(status, headers, body)`, with a body that becomes JSON, or raises
    `ConnectionError` to close the connection. `request` is `None` unless the request has a body.
    """

    def __init__(self, answer):
        self.answer = answer
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self._serve, args=(ready,), daemon=True).start()
        ready.wait()

    def _serve(self, ready):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=1024))
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ready.set()
        self.loop.run_forever()

    async def _connection(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"(?i)\r\ncontent-length: *(\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                try:
                    status, headers, value = await self.answer(head.split(" ")[1], json.loads(body) if body else None)
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    # The client reports it.
                    status, headers, value = 400, {}, {"errors": [{"message": f"the request is wrong: {error!r}: {body[:2000]}"}]}
                body = json.dumps(value, ensure_ascii=False).encode()
                headers = {"content-type": "application/json", "content-length": len(body)} | headers
                lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
                writer.write(f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

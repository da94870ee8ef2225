"""Random trees of connections: a schema, data, a document for all of it, the answers of a server, and the right tables.

A case is made from its seed alone, so that the process of the server and that of the checks have the same one.
"""

import asyncio, base64, csv, json, os, random, sqlite3, time

from common import expect
from graphql_rig import Document, Execution, Fault, Object, Schema

# How the server behaves while a case is read. Of `clear` and `slow` cases, the requests are counted; `metered` ones have a
# bucket of points, as Shopify has it.
WEATHERS = {"clear": 20, "slow": 4, "costly": 6, "busy": 4, "faulty": 8, "moving": 4, "metered": 1}
# What goes wrong for good.
ENDS = {"well": 40, "cursorless": 1, "circle": 1, "null": 1, "gone": 1, "refused": 2, "shared": 1, "unreachable": 1}
ARGUMENTS = {"first": "Int", "after": "String", "last": "Int", "before": "String"}
LEAVES = ["Int", "Float", "String", "String", "Boolean", "ID", "Color", "[String]", "Any", "Int!", "[Int!]!"]
TEXTS = ["", "a", "Zoë", "two\nlines", 'a "quoted", text', "back\\slash", "東京🚀", "null", "007", " pad "]


class Kind:
    """A type of objects. Leaves and single objects are `(name, alias, type)`."""

    def __init__(self, name, key=None):
        # The name of the field that identifies its objects; `None` for objects without identity.
        self.name, self.key, self.has_key_column = name, key, False
        self.leaves, self.singles, self.lists = [], [], []

    def below(self):
        """Its lists, and those in its single objects."""
        return self.lists + [each for _, _, single in self.singles for each in single.below()]


class List:
    """A field that is a list of objects: a connection if it has a size of pages."""

    def __init__(self, name, alias, kinds, interface):
        self.name, self.alias, self.kinds, self.interface = name, alias, kinds, interface
        self.size, self.edge_leaves = None, []
        self.backward = self.edges = self.has_total = self.is_shared = self.is_nested = False
        self.type = interface or kinds[0].name
        # The names of the types of the connection and its edges.
        self.page, self.edge = f"{name.title()}Connection", f"{name.title()}Edge"


class Elements:
    """The list of one object: pairs of an object and the leaves of its edge."""

    def __init__(self, number, list, holder):
        self.number, self.list, self.holder, self.all = number, list, holder, []


class Case:
    """One case. `end` and `weather` are chosen unless they are given; `rows` is about the number of rows."""

    def __init__(self, seed, number, end=None, weather=None, mode=None, rows=None):
        self.number, self.chance = number, random.Random(f"{seed} {number}")
        chance = self.chance
        self.end = end or chance.choices(list(ENDS), ENDS.values())[0]
        self.weather = weather or chance.choices(list(WEATHERS), WEATHERS.values())[0]
        if self.end != "well":
            self.weather = "clear"
        self.mode = mode or chance.choice(["node", "node", "nodes", "key", "code", "neither"])
        if self.end == "unreachable":
            self.mode = "neither"
        self.format = chance.choice(["sqlite", "sqlite", "sqlite", "csv", "ndjson"])
        self.pack, self.concurrency = chance.choice([None, None, 1, 2, 5, 50]), chance.choice([None, None, 1, 4])
        # The size that the server allows, and whether it finds out by an empty page that there are no more.
        self.cap, self.has_lazy_end = chance.choice([None, None, None, 1, 3]), chance.random() < 0.2
        self.encoding = chance.randrange(4)
        self.names, self.kinds, self.fragments, self.defaults, self.variables = 0, [], [], {}, {}
        self.make_lists()
        self.schema = self.make_schema()
        self.objects, self.elements = {}, []
        self.budget = rows or chance.choice([10, 60, 200])
        self.data = self.object(self.root, None)
        self.document = self.make_document()
        self.bad_place = self.gone = None
        self.choose_end()
        # Without the schema, a list is known by its pages, and an object by its id.
        lists = self.root.below() + [each for kind in self.kinds for each in kind.below()]
        is_plain = self.mode == "node" and all(each.size and not each.interface for each in lists)
        self.hides_schema = is_plain and all(kind.has_key_column for kind in self.kinds) and chance.random() < 0.2
        document = Document(self.document)
        cost = self.cost(document, *document.operations.values(), self.variables)
        self.limit = int(cost * chance.choice([1, 1.3, 2])) if self.weather == "costly" else None
        # The capacity of the bucket and the points that return per second; its contents, and when these were counted.
        self.capacity, self.rate = 3 * cost, 10 * cost
        self.points, self.counted = self.capacity, time.monotonic()
        # What has happened.
        self.requests, self.throttled, self.attempts, self.is_healed = 0, 0, {}, False

    # The types.

    def fresh(self, *stems):
        self.names += 1
        return f"{self.chance.choice(stems)}{self.names}"

    def alias(self, stem):
        """Another response key; `None` for that of the field."""
        return self.fresh(stem) if self.chance.random() < 0.15 else None

    def make_lists(self):
        chance = self.chance
        self.root = Kind("Query")
        depth = chance.choices([1, 2, 3, 4, 5], [2, 4, 4, 2, 2])[0]
        for _ in range(chance.choice([1, 1, 2])):
            owner = self.root
            for _ in range(chance.choice([0, 0, 0, 1, 2])):
                owner = self.single(owner, chance.randint(0, 2))
            owner.lists.append(self.list(depth))
        nested = [each for kind in self.kinds for each in kind.below()]
        for each in nested:
            each.is_nested = True
        if not any(each.size for each in nested):
            self.end = "well" if self.end == "unreachable" else self.end
        elif self.end != "unreachable" and self.mode == "neither":
            self.mode = "node"
        shareable = [e for e in nested if not e.interface and e.kinds[0].key and not e.kinds[0].below()]
        if shareable and self.weather != "moving" and (self.end == "shared" or chance.random() < 0.1):
            chance.choice(shareable).is_shared = True

    def single(self, owner, leaves):
        kind = Kind(self.fresh("Part", "Home"))
        kind.leaves = [self.leaf() for _ in range(leaves)]
        owner.singles.append((self.fresh("part", "home"), self.alias("aPart"), kind))
        return kind

    def leaf(self):
        return self.fresh("x", "y", "someName"), self.alias("aLeaf"), self.chance.choice(LEAVES)

    def kind(self, depth, is_known):
        chance = self.chance
        is_known = is_known or self.weather == "moving" or chance.random() < (0.8 if depth == 1 else 0.95)
        kind = Kind(self.fresh("Thing", "Item"), ("code" if self.mode == "code" else "id") if is_known else None)
        self.kinds.append(kind)
        kind.leaves = [self.leaf() for _ in range(chance.randint(1, 4))]
        if chance.random() < 0.3:
            single = self.single(kind, chance.randint(1, 2))
            if depth > 1 and chance.random() < 0.3:
                single.lists.append(self.list(depth - 1, is_known))
        if depth > 1:
            # The pages of a list need an object that is found again.
            kind.lists += [self.list(depth - 1, is_known) for _ in range(chance.choice([1, 1, 1, 2]))]
        return kind

    def list(self, depth, may_have_pages=True):
        chance, interface = self.chance, None
        kinds = [self.kind(depth, False)]
        if chance.random() < 0.15 and kinds[0].key:
            kinds.append(self.kind(1, True))
            interface = self.fresh("Either")
        found = List(self.fresh("items", "orders", "rows"), self.alias("aList"), kinds, interface)
        if may_have_pages and chance.random() < 0.85:
            found.size = chance.choice([1, 2, 2, 3, 3, 5, 10])
            found.backward = chance.random() < 0.1 and self.weather != "moving"
            found.edges, found.has_total = chance.random() < 0.5, chance.random() < 0.3
            if found.edges and chance.random() < 0.4:
                found.edge_leaves = [self.leaf()]
        return found

    def make_schema(self):
        schema, interfaces = Schema(), {}
        schema.add("Color", "ENUM", values=["RED", "GREEN"])
        schema.add("Any", "SCALAR")
        schema.add("PageInfo", fields=[
            ("hasNextPage", "Boolean!", {}), ("endCursor", "String", {}), ("hasPreviousPage", "Boolean!", {}),
            ("startCursor", "String", {})])

        def fields(kind):
            found = [(kind.key, "ID!", {})] if kind.key else []
            found += [(name, type, {}) for name, _, type in kind.leaves]
            for name, _, single in kind.singles:
                found.append((name, single.name, {}))
                schema.add(single.name, fields=fields(single))
            for each in kind.lists:
                found.append((each.name, each.page if each.size else f"[{each.type}]", ARGUMENTS if each.size else {}))
                if each.size:
                    schema.add(each.page, fields=[
                        ("totalCount", "Int!", {}), ("pageInfo", "PageInfo!", {}), ("edges", f"[{each.edge}]", {}),
                        ("nodes", f"[{each.type}]", {})])
                    schema.add(each.edge, fields=[("cursor", "String!", {}), ("node", each.type, {})] + [
                        (leaf, type, {}) for leaf, _, type in each.edge_leaves])
                if each.interface:
                    schema.add(each.interface, "INTERFACE", [(each.kinds[0].key, "ID!", {})],
                               possible=[kind.name for kind in each.kinds])
                    interfaces.update({kind: each.interface for kind in each.kinds})
            return found

        query = fields(self.root)
        known = [(kind, fields(kind)) for kind in self.kinds]
        has_node = self.mode in ("node", "nodes")
        for kind, found in known:
            either = [interfaces[kind]] if kind in interfaces else []
            schema.add(kind.name, fields=found, interfaces=["Node"] * (has_node and kind.key is not None) + either)
        if has_node:
            schema.add("Node", "INTERFACE", [("id", "ID!", {})], possible=[kind.name for kind in self.kinds if kind.key])
            query.append(("node", "Node", {"id": "ID!"}) if self.mode == "node" else ("nodes", "[Node]!", {"ids": "[ID!]!"}))
        if self.mode in ("key", "code"):
            query += [(f"one{kind.name}", kind.name, {kind.key: "ID!"}) for kind in self.kinds if kind.key]
        schema.add("Query", fields=query)
        return schema

    # The data.

    def object(self, kind, holder):
        """- holder: The object that finds its connections again."""
        object = Object(kind.name, {name: self.value(type) for name, _, type in kind.leaves})
        object.kind, object.lists = kind, {}
        if kind.key:
            # Some types have numbers as ids.
            number = len(self.objects) + 1
            object.values[kind.key] = number if kind.name.startswith("Thing") else f"{kind.name}-{number}"
            object.key = f"{kind.name}:{object.values[kind.key]}"
            self.objects[str(object.values[kind.key])] = holder = object
        for name, _, single in kind.singles:
            is_absent = kind is not self.root and not single.below() and self.chance.random() < 0.1
            object.values[name] = None if is_absent else self.object(single, holder)
        for each in kind.lists:
            elements = object.lists[each.name] = Elements(len(self.elements), each, holder)
            self.elements.append(elements)
            self.fill(elements)
            object.values[each.name] = self.resolver(elements)
        return object

    def fill(self, elements):
        chance, each = self.chance, elements.list
        size = each.size or 2
        count = chance.choice([0, 1, size, size + 1, 2 * size + 1, 3 * size, 4 * size])
        if elements.holder is None:
            count = max(count, chance.randint(1, 2 * size))
        count = max(min(count, 30, self.budget), 0)
        self.budget -= count
        for _ in range(count):
            kind = chance.choice(each.kinds)
            known = [o for o in self.objects.values() if o.kind is kind and all(o is not other for other, _ in elements.all)]
            if each.is_shared and known and chance.random() < 0.6:
                object = chance.choice(known)
            elif chance.random() < 0.03 and self.weather != "moving":
                object = None
            else:
                object = self.object(kind, elements.holder)
            elements.all.append((object, {name: self.value(type) for name, _, type in each.edge_leaves}))

    def value(self, type):
        chance = self.chance
        if type.endswith("!"):
            return next(value for value in iter(lambda: self.value(type[:-1]), self) if value is not None)
        if chance.random() < 0.1:
            return None
        if type.startswith("["):
            return [self.value(type[1:-1].removesuffix("!") + "!") for _ in range(chance.randint(0, 3))]
        return chance.choice({
            "Int": [0, 1, -1, 2147483647, -2147483648], "Float": [0.5, -1.25, 3, 1e21, 0.1], "String": TEXTS,
            "ID": ["7", 12, "x-1"], "Boolean": [True, False], "Color": ["RED", "GREEN"],
            "Any": [*TEXTS, 5, 2 ** 53 + 1, {"a": [1, None]}, [True, "x"], False]}[type])

    # The document.

    def make_document(self):
        body = self.selection(self.root)
        variables = ", ".join(f"${name}: Int{default}" for name, default in self.defaults.items())
        return "\n".join([f"query Tree{f'({variables})' if variables else ''} {{ {body} }}", *self.fragments, ""])

    def selection(self, kind, has_key_column=None):
        parts = [f"{alias}: {name}" if alias else name for name, alias, _ in kind.leaves]
        if kind.key:
            kind.has_key_column = self.chance.random() < 0.5 if has_key_column is None else has_key_column
            parts += [kind.key] * kind.has_key_column
        for name, alias, single in kind.singles:
            parts.append(f"{f'{alias}: ' if alias else ''}{name} {{ {self.selection(single)} }}")
        parts += [self.list_selection(each) for each in kind.lists]
        if kind is not self.root and self.chance.random() < 0.15:
            name = self.fresh("Some")
            self.fragments.append(f"fragment {name} on {kind.name} {{ {' '.join(parts)} }}")
            return f"...{name}"
        return " ".join(parts)

    def list_selection(self, each):
        chance = self.chance
        if each.interface:
            has_key = chance.random() < 0.5
            inner = " ".join(f"... on {kind.name} {{ {self.selection(kind, has_key)} }}" for kind in each.kinds)
        else:
            inner = self.selection(each.kinds[0])
        head = f"{each.alias}: {each.name}" if each.alias else each.name
        if not each.size:
            return f"{head} {{ {inner} }}"
        size = each.size
        if chance.random() < 0.2:
            size = self.fresh("n")
            self.defaults[size] = chance.choice(["", f" = {each.size}"])
            if not self.defaults[size]:
                self.variables[size] = each.size
            size = f"${size}"
        head += f"({'last' if each.backward else 'first'}: {size})"
        names = "hasPreviousPage startCursor" if each.backward else "hasNextPage endCursor"
        page = chance.choice(["", f"pageInfo {{ {names} }}"]) + " totalCount" * each.has_total
        if each.edges:
            leaves = " ".join(f"{alias}: {name}" if alias else name for name, alias, _ in each.edge_leaves)
            inner = f"edges {{ {leaves} node {{ {inner} }} }}"
        else:
            inner = f"nodes {{ {inner} }}"
        return f"{head} {{ {page} {inner} }}"

    # Pages.

    def cursor(self, elements, index):
        text = f"{elements.number}:{index}"
        return [text, base64.b64encode(text.encode()).decode(), json.dumps({"at": text}), f"→ {text} «\\n'»"][self.encoding]

    def page(self, elements, cursor, size=None):
        """The places of a page, whether there are more, and the cursor of the next."""
        each, count = elements.list, len(elements.all)
        size = min(size or each.size, self.cap or 1000)
        index = None
        if cursor is not None:
            index = next((i for i in range(count) if self.cursor(elements, i) == cursor), None)
            if index is None:
                raise Fault(f"the cursor {cursor} is not one of {each.name} {elements.number}")
        if each.backward:
            end = count if index is None else index
            start = max(end - size, 0)
            has_more = start > 0 or self.has_lazy_end and 0 < end - start == size
            return range(start, end), has_more, self.cursor(elements, start) if end > start else None
        start = 0 if index is None else index + 1
        if self.weather == "moving" and 0 < start < count and random.Random(f"{elements.number} {start}").random() < 0.5:
            # The list has grown at its beginning since the page before.
            size, start = size + 1, start - 1
        end = min(start + size, count)
        has_more = end < count or self.has_lazy_end and 0 < end - start == size
        return range(start, end), has_more, self.cursor(elements, end - 1) if end > start else None

    def pages(self, elements):
        """All pages from the first to the last: pairs of the cursor that requests it, and its places."""
        if not elements.list.size:
            return [(None, range(len(elements.all)))]
        cursor, has_more, found = None, True, []
        while has_more:
            places, has_more, following = self.page(elements, cursor)
            found.append((cursor, places))
            cursor = following
        if self.weather != "moving":
            expect(sorted(i for _, places in found for i in places) == list(range(len(elements.all))), "the pages are wrong")
        return found

    def resolver(self, elements):
        each = elements.list
        if not each.size:
            return lambda: [object for object, _ in elements.all]

        def resolve(first=None, after=None, last=None, before=None):
            size, cursor = (last, before) if each.backward else (first, after)
            places, has_more, following = self.page(elements, cursor, size)
            place = (elements.number, cursor)
            found = self.suffer(place, [elements.all[i] for i in places])
            if found is None:
                return None
            if place == self.bad_place and self.end == "cursorless":
                has_more, following = True, None
            if place == self.bad_place and self.end == "circle":
                has_more, following = True, self.pages(elements)[1][0]
            edges = [
                Object(each.edge, {"node": object, "cursor": self.cursor(elements, i)} | leaves)
                for i, (object, leaves) in zip(places, found)]
            names = ("hasPreviousPage", "startCursor") if each.backward else ("hasNextPage", "endCursor")
            info = {"hasNextPage": False, "endCursor": None, "hasPreviousPage": False, "startCursor": None}
            info |= dict(zip(names, (has_more, following)))
            return Object(each.page, {
                "edges": edges, "nodes": [object for object, _ in found], "totalCount": len(elements.all),
                "pageInfo": Object("PageInfo", info)})

        return resolve

    def suffer(self, place, found):
        """The elements of a page, unless it fails; `None` if it is null without an error."""
        attempt = self.attempts[place] = self.attempts.get(place, 0) + 1
        if place == self.bad_place and not self.is_healed:
            if self.end == "null":
                return None
            if self.end == "refused":
                raise Fault("this page is refused for good")
        chance = random.Random(f"{self.number} {place}")
        if self.weather != "faulty" or chance.random() > 0.15 or attempt > chance.choice([1, 1, 2]):
            return found
        inner = next((o for o, _ in found if o and o.kind.leaves and not o.kind.leaves[0][2].endswith("!")), None)
        if inner is None or chance.random() < 0.5:
            raise Fault("this page fails for now")
        # A leaf fails, so that a row lacks something.
        broken = Object(inner.type, inner.values | {inner.kind.leaves[0][0]: Fault("this leaf fails for now")})
        return [(broken if o is inner else o, leaves) for o, leaves in found]

    # Answers.

    def find(self, identity):
        object = self.objects.get(str(identity))
        return None if object is self.gone and not self.is_healed else object

    def cost(self, document, operation, variables):
        """The number of objects that an operation asks for."""
        _, defaults, selections = operation
        variables = {name: value({}) for name, value in defaults.items()} | variables

        def of(selections):
            total = 0
            for kind, name, _, arguments, _, inner in selections:
                if kind == "spread":
                    inner = document.fragments[name][1]
                size = 1
                for argument in ("first", "last"):
                    if arguments and argument in arguments:
                        size = arguments[argument](variables)
                if inner:
                    total += size * (of(inner) + (kind == "field" and name not in ("nodes", "edges", "node", "pageInfo")))
            return total

        return of(selections)

    async def answer(self, request):
        """The answer of the server: `(status, headers, body)`."""
        document, variables = Document(request["query"]), request.get("variables") or {}
        name = request.get("operationName")
        root = Object("Query", {
            **self.data.values, "node": lambda id: self.find(id), "nodes": lambda ids: [self.find(each) for each in ids],
            **{f"one{kind.name}": (lambda **key: self.find(*key.values())) for kind in self.kinds}})
        if "__schema" in request["query"] and self.hides_schema:
            return 200, {}, {"errors": [{"message": "introspection is disabled"}]}
        if "__schema" in request["query"]:
            return 200, {}, Execution(self.schema, document, name, variables, root).response()
        self.requests += 1
        chance = random.Random(f"{self.number} {self.requests}")
        if self.weather == "slow":
            await asyncio.sleep(chance.choice([0, 0, 0.005, 0.05]))
        if self.weather == "busy" and chance.random() < 0.2:
            status = chance.choice([503, 503, 429, 502, None])
            if status is None:
                raise ConnectionError
            return status, {"retry-after": 0}, {"errors": [{"message": "busy"}]}
        operation = document.operations[name] if name else next(iter(document.operations.values()))
        cost, extensions = self.cost(document, operation, variables), {}
        if self.limit and cost > self.limit:
            message = f"Query cost is {cost}, which exceeds the single query max cost limit ({self.limit})."
            return 200, {}, {"errors": [{"message": message, "extensions": {"code": "MAX_COST_EXCEEDED"}}]}
        if self.weather == "metered":
            now = time.monotonic()
            self.points = min(self.points + (now - self.counted) * self.rate, self.capacity)
            self.counted, is_enough = now, cost <= self.points
            self.points -= cost if is_enough else 0
            extensions = {"extensions": {"cost": {
                "requestedQueryCost": cost, "actualQueryCost": cost if is_enough else None, "throttleStatus": {
                    "maximumAvailable": self.capacity, "currentlyAvailable": int(self.points), "restoreRate": self.rate}}}}
            if not is_enough:
                self.throttled += 1
                return 200, {}, {"errors": [{"message": "Throttled", "extensions": {"code": "THROTTLED"}}]} | extensions
        return 200, {}, Execution(self.schema, document, name, variables, root).response() | extensions

    # What must come.

    def choose_end(self):
        """Chooses the page where the case goes wrong; without one, it goes well."""
        if self.end in ("well", "unreachable"):
            return
        if self.end == "shared":
            # An object must be in the lists of two parents.
            lists = [e for e in self.elements if e.list.is_shared]
            keys = [o.key for e in lists for o, _ in e.all if o]
            self.end = "well" if len(set(keys)) == len(keys) else "shared"
            return
        longest = {"circle": 3, "cursorless": 1}.get(self.end, 2)
        found = [(e, self.pages(e)) for e in self.elements if e.list.size]
        found = [(e, pages) for e, pages in found if len(pages) >= longest and (e.holder or self.end != "gone")]
        if not found:
            self.end = "well"
            return
        elements, pages = self.chance.choice(found)
        # Without its first page, a list with `totalCount` leaves a hole in the row above, which is then refused, too.
        is_apart = self.end == "refused" and elements.holder and not elements.list.has_total
        first = {"cursorless": 0, "circle": 2}.get(self.end, 0 if is_apart else 1)
        place = 1 if self.end == "gone" else self.chance.randrange(first, len(pages))
        self.bad_place = (elements.number, pages[place][0])
        self.gone = elements.holder if self.end == "gone" else None

    def rows(self, elements):
        """`(position, object, leaves of the edge)` of each element that can be had."""
        position = 0
        for cursor, places in self.pages(elements):
            is_bad = (elements.number, cursor) == self.bad_place and not self.is_healed
            is_gone = self.gone is not None and elements.holder is self.gone and cursor is not None and not self.is_healed
            if is_bad and self.end in ("null", "refused") or is_gone:
                return
            for i in places:
                yield position, *elements.all[i]
                position += 1
            if is_bad and self.end == "cursorless":
                return

    def tables(self):
        """The tables: of each, its columns with their types, and its rows `{path: (key, parent's key, cells)}`.

        The path of a row has the tables and positions from the root to it, which identify it without keys.
        """
        found, self.single_tables = {}, set()

        def columns(kind, prefix=""):
            names = {prefix + (alias or name): type for name, alias, type in kind.leaves}
            names |= {prefix + kind.key: "ID"} if kind.has_key_column else {}
            for name, alias, single in kind.singles:
                names |= columns(single, f"{prefix}{alias or name}_")
            return names | {f"{prefix}{e.alias or e.name}_totalCount": "Int" for e in kind.lists if e.has_total and e.size}

        def cells(object, prefix=""):
            kind, values = object.kind, {}
            values |= {prefix + (alias or name): object.values[name] for name, alias, _ in kind.leaves}
            values |= {prefix + kind.key: object.values[kind.key]} if kind.has_key_column else {}
            for name, alias, single in kind.singles:
                if object.values[name]:
                    values |= cells(object.values[name], f"{prefix}{alias or name}_")
            return values | {
                f"{prefix}{e.alias or e.name}_totalCount": len(object.lists[e.name].all) for e in kind.lists if e.has_total}

        def declare(kind, prefix, has_row):
            for name, alias, single in kind.singles:
                inner = f"{prefix}{alias or name}"
                is_row = not has_row and bool(single.leaves)
                if is_row:
                    self.single_tables.add(inner)
                    found[inner] = (columns(single), {})
                declare(single, inner + "_", has_row or is_row)
            for each in kind.lists:
                table = prefix + (each.alias or each.name)
                names = {alias or name: type for name, alias, type in each.edge_leaves}
                for inner in each.kinds:
                    names |= columns(inner)
                found[table] = (names, {})
                for inner in each.kinds:
                    declare(inner, table + "_", True)

        def walk(object, prefix, path, key):
            for name, alias, single in object.kind.singles:
                inner, table = object.values[name], f"{prefix}{alias or name}"
                if inner is None:
                    continue
                if table in self.single_tables:
                    row = ((table, 0),)
                    found[table][1][row] = (None, None, cells(inner))
                    walk(inner, table + "_", row, None)
                else:
                    walk(inner, table + "_", path, key)
            for each in object.kind.lists:
                table = prefix + (each.alias or each.name)
                for position, element, leaves in self.rows(object.lists[each.name]):
                    if element is None:
                        continue
                    row = path + ((table, position),)
                    named = {alias or name: leaves[name] for name, alias, _ in each.edge_leaves}
                    found[table][1][row] = (getattr(element, "key", None), key, cells(element) | named)
                    walk(element, table + "_", row, getattr(element, "key", None))

        declare(self.root, "", False)
        walk(self.data, "", (), None)
        return found

    @property
    def shared(self):
        """The names of the tables with shared objects."""
        def names(kind, prefix):
            for name, alias, single in kind.singles:
                yield from names(single, f"{prefix}{alias or name}_")
            for each in kind.lists:
                table = prefix + (each.alias or each.name)
                yield from [table] * each.is_shared
                for inner in each.kinds:
                    yield from names(inner, table + "_")

        return list(names(self.root, ""))

    @property
    def least(self):
        """The least possible number of requests."""
        pages = {}
        for elements in self.elements:
            if elements.list.size:
                pages.setdefault(elements.list, []).append(len(self.pages(elements)) - 1)
        pack = self.pack or 20
        # The pages of one list come one after the other.
        return 1 + sum(max(-(-sum(counts) // pack), max(counts)) for counts in pages.values())


# The tables that came.


def read_tables(folder, format):
    """The tables of a target: of each, its columns (`None` if no row has them), and its rows as dictionaries."""
    found = {}
    if format == "sqlite":
        db = sqlite3.connect(f"file:{folder}/out.db?mode=ro", uri=True)
        db.row_factory = sqlite3.Row
        for (name,) in db.execute("select name from sqlite_master where type = 'table'").fetchall():
            if not name.startswith(("gqlrun", "sqlite")):
                rows = db.execute(f'select * from "{name}"')
                found[name] = ([column[0] for column in rows.description], [dict(row) for row in rows])
        wrong = db.execute("pragma foreign_key_check").fetchall()
        expect(not wrong, f"foreign keys: {[tuple(row) for row in wrong[:3]]}")
        db.close()
        return found
    for file in os.listdir(f"{folder}/out"):
        if file.endswith(f".{format}"):
            with open(f"{folder}/out/{file}", newline="") as lines:
                rows = csv.DictReader(lines) if format == "csv" else [json.loads(line) for line in lines]
                columns = rows.fieldnames if format == "csv" else next(map(list, rows), None)
                found[file.removesuffix(f".{format}")] = (columns, list(rows))
    return found


def is_same(value, stored, type, format):
    """Whether a stored value is that of a response."""
    if value is None:
        return stored is None or format == "csv" and stored == ""
    if format == "ndjson":
        return stored == value or type == "ID" and stored == str(value)
    if type.startswith("[") or type == "Any":
        return stored == value or isinstance(stored, str) and json_value(stored) == value
    if type.startswith("Boolean"):
        return stored in (value, "true" if value else "false", str(int(value)))
    if type.startswith(("Int", "Float")):
        return stored not in (None, "") and float(stored) == value
    return str(stored) == str(value)


def json_value(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def placed(rows, table, above):
    """Rows by their paths, which are found through the keys of the rows above.

    - above: The paths of the rows of the table above, by their keys.
    """
    found = {}
    for row in rows:
        parent = row["_parent"] or None
        expect(parent is None or parent in above, f"{table}: the row {row['_key']} has no parent {parent}")
        path = above.get(parent, ()) + ((table, int(row["_position"])),)
        expect(path not in found, f"{table}: {path} is there twice")
        found[path] = row
    return found


def compare(case, folder, is_subset=False):
    """Throws unless the tables in a folder are those of the case, or some of their rows; returns the number of rows."""
    wanted, found, count = case.tables(), read_tables(folder, case.format), 0
    expect(set(found) == set(wanted), f"the tables are {sorted(found)}, not {sorted(wanted)}")
    # Where rows have moved, or are repeated, keys alone identify them.
    by_key = is_subset or case.weather == "moving"
    paths = {}
    for table in sorted(wanted, key=len):
        (types, rows), (columns, stored) = wanted[table], found[table]
        expected = sorted(["_key", "_parent", "_position", *types])
        expect(columns is None or sorted(columns) == expected, f"{table} has the columns {columns}, not {expected}")
        count += len(stored)
        if by_key:
            if any(key is None for key, _, _ in rows.values()):
                continue
            # An object in several lists has a row for each.
            shared = table in case.shared
            rows = {(row[0], row[1] if shared else None): row for row in rows.values()}
            came = {(row["_key"], row["_parent"] if shared else None): row for row in stored}
            expect(len(came) == len(stored), f"{table}: keys are there twice")
        else:
            above = max((other for other in wanted if table.startswith(other + "_")), key=len, default=None)
            came = placed(stored, table, paths.get(above, {}))
            paths[table] = {row["_key"]: path for path, row in came.items()}
        more, less = set(came) - set(rows), set(rows) - set(came)
        expect(
            not more and (is_subset or not less),
            f"{table}: {len(rows)} rows are right, {len(stored)} came; missing {list(less)[:3]}, too many {list(more)[:3]}")
        for path, row in came.items():
            key, parent, cells = rows[path]
            for column, value in (("_key", key), ("_parent", parent)):
                expect(value in (None, row[column]), f"{table}: {column} of {path} is {row[column]}, not {value}")
            for column, type in types.items():
                value = cells.get(column)
                expect(
                    is_same(value, row[column], type, case.format),
                    f"{table}.{column} of {row['_key']} is {row[column]!r}, not {value!r} ({type})")
    return count

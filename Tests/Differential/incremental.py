"""Random operations with @defer and @stream, executed by graphql-core.

Prints a JSON object per line: the query, the messages of its response in parts, and the response in one piece.
graphql-core 3.3.0a6 sends the format of 2022, 3.3.2 the format with ids.

usage: incremental.py SEED COUNT [SEEDS]

SEEDS is the number of seeds from SEED on, each with COUNT operations; one by default.
"""
import asyncio
import json
import random
import selectors
import sys
import warnings

from graphql import build_schema, parse, validate
from graphql.execution import experimental_execute_incrementally

SDL = """
directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
directive @stream(if: Boolean! = true, label: String, initialCount: Int = 0) on FIELD
interface Thing { id: ID! name: String }
type Node implements Thing {
  id: ID! name: String child: Node children: [Node] thing: Thing things: [Thing] tags: [String] grid: [[Int]]
  part: Part parts: [Part] fails: String
}
type Other implements Thing { id: ID! name: String size: Int node: Node part: Part }
type Part { weight: Int owner: Thing nodes: [Node] }
type Query { node: Node thing: Thing nodes: [Node] part: Part parts: [Part] numbers: [Int] }
"""
FIELDS = {
    "Query": {"node": "Node", "thing": "Thing", "nodes": "Node", "part": "Part", "parts": "Part", "numbers": None},
    "Node": {"name": None, "child": "Node", "children": "Node", "thing": "Thing", "things": "Thing", "tags": None,
             "grid": None, "part": "Part", "parts": "Part", "fails": None},
    "Other": {"name": None, "size": None, "node": "Node", "part": "Part"},
    "Thing": {"name": None},
    "Part": {"weight": None, "owner": "Thing", "nodes": "Node"},
}
LISTS = {"nodes", "parts", "numbers", "children", "things", "tags", "grid"}
TYPES = {"Thing": ["Node", "Other", "Thing"], "Node": ["Node", "Thing"], "Other": ["Other", "Thing"]}


class Value:
    """An object whose fields follow from its number."""

    def __init__(self, kind, number):
        self.kind, self.number = kind, number

    def other(self, kind, step):
        number = (self.number * 3 + step) % 17
        if kind == "Thing":
            kind = ["Node", "Other"][number % 2]
        return Value(kind, number) if (number + step) % 6 else None

    def get(self, name):
        kind = FIELDS[self.kind].get(name)
        if name == "id":
            return str(self.number)
        if name == "fails":
            raise ValueError(f"failed {self.number}")
        if name == "grid":
            return [[self.number, 1], None, [2]]
        if name == "numbers" or name == "tags":
            return [f"{self.number}"] * (self.number % 4) if name == "tags" else [1, 2, 3]
        if kind is None:
            return f"{name} {self.number}" if name == "name" else self.number
        if name in LISTS:
            return [self.other(kind, step + len(name)) for step in range(self.number % 5)]
        return self.other(kind, len(name))


def make_resolver(rng, slow):
    async def resolve(source, info, **_):
        for _ in range(rng.randrange(4) if slow else 0):
            await asyncio.sleep(0)
        return (source or Value("Query", 4)).get(info.field_name)
    return resolve


class Generator:
    def __init__(self, rng):
        self.rng, self.count, self.directives = rng, 0, 0

    def unique(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def set(self, kind, depth, is_fragment=False):
        parts = [] if kind == "Query" or is_fragment else ["__typename"] + (["id"] if kind != "Part" else [])
        names = list(FIELDS[kind])
        for name in self.rng.sample(names, min(len(names), 1 + self.rng.randrange(3))):
            parts.append(self.field(kind, name, depth))
        if kind != "Query" or self.rng.random() < 0.5:
            for _ in range(self.rng.randrange(3) if depth < 4 else 0):
                parts.append(self.fragment(kind, depth))
        return "{ " + " ".join(part for part in parts if part) + (" __typename }" if is_fragment else " }")

    def field(self, kind, name, depth):
        child = FIELDS[kind][name]
        if child and depth >= 4:
            return ""
        directive, alias = "", name
        if name in LISTS and self.rng.random() < 0.5:
            # A name of its own: the directives of fields that are merged must agree.
            alias, self.directives = self.unique("s"), self.directives + 1
            directive = f" @stream(if: $on, initialCount: {self.rng.randrange(3)}, label: \"{self.unique('L')}\")"
        elif name in LISTS:
            alias = self.unique("l")
        text = name if alias == name else f"{alias}: {name}"
        return text + directive + (" " + self.set(child, depth + 1) if child else "")

    def fragment(self, kind, depth):
        condition = self.rng.choice(TYPES.get(kind, [kind]))
        directive = ""
        if self.rng.random() < 0.6:
            self.directives += 1
            directive = " @defer(if: $on" + (f", label: \"{self.unique('D')}\")" if self.rng.random() < 0.7 else ")")
        return f"... on {condition}{directive} {self.set(condition, depth + 1, True)}"


async def run(schema, resolver, document, is_on):
    """The messages of the response; one, if it is in one piece."""
    result = experimental_execute_incrementally(
        schema, document, variable_values={"on": is_on}, field_resolver=resolver, type_resolver=kind_of)
    if hasattr(result, "__await__"):
        result = await result
    if not hasattr(result, "initial_result"):
        return [result.formatted]
    messages = [result.initial_result.formatted]
    async for part in result.subsequent_results:
        messages.append(part.formatted)
    return messages


def kind_of(value, _info, _type):
    return value.kind


class Stuck(Exception):
    """Nothing can happen any more: the executor waits for what never comes."""


class Selector(selectors.DefaultSelector):
    def select(self, timeout=None):
        if timeout is None:
            raise Stuck
        return super().select(timeout)


def finished(coroutine):
    """The result of a coroutine that only waits for what runs in its own loop."""
    loop = asyncio.SelectorEventLoop(Selector())
    loop.set_exception_handler(lambda *_: None)
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()


def main(seed, count):
    """Prints the cases, and returns how many operations the executor itself does not execute."""
    schema = build_schema(SDL)
    failures = 0
    for made in range(count):
        rng = random.Random(seed * 1_000_003 + made)
        generator = Generator(rng)
        query = "query($on: Boolean! = true) " + generator.set("Query", 0)
        if not generator.directives:
            query = query.replace("($on: Boolean! = true)", "")
        document = parse(query)
        if validate(schema, document):
            continue
        # Version 3.3.0a6 compares paths of different lengths, and then fails or waits for ever.
        try:
            messages = finished(run(schema, make_resolver(rng, True), document, True))
        except (IndexError, Stuck):
            failures += 1
            continue
        if any("list index out of range" in json.dumps(message) for message in messages):
            failures += 1
            continue
        (whole,) = finished(run(schema, make_resolver(rng, False), document, False))
        print(json.dumps({
            "query": query, "messages": messages, "data": whole["data"], "errors": whole.get("errors") or []}))
    return failures


# What such an execution leaves behind is of no interest.
warnings.simplefilter("ignore")
sys.unraisablehook = lambda _: None
first, count, seeds = int(sys.argv[1]), int(sys.argv[2]), int((sys.argv + ["1"])[3])
failures = sum(main(seed, count) for seed in range(first, first + seeds))
if failures:
    print(f"graphql-core did not execute {failures} of {count * seeds} operations", file=sys.stderr)

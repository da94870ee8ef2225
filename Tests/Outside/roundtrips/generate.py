#!/usr/bin/env python3
"""Writes random schemas, operations over them, and responses of a server; generates the Swift types.

usage: generate.py PROGRAM PACKAGE [--schemas N]

PACKAGE is a copy of this folder. Sources/roundtrips gets the types and Cases.swift, Responses the values. The same seeds
give the same files, and this program does not share code with the generator.
"""
import argparse, json, pathlib, random, subprocess

NAMES = ["id", "name", "class", "self", "in", "default", "value", "object", "type", "count", "json", "init", "some_field",
         "list", "data", "index", "typename", "read", "write", "_hidden", "URL", "camelCase"]
LEAVES = ["String", "Int", "Float", "Boolean", "ID"]
TEXTS = ["", "a", "\"quoted\" \\", "line\nend", "日本 🚀", "\u0000\u001f", "a longer text without anything special in it"]
WRAPPINGS = ["{}", "{}!", "[{}]", "[{}!]!", "[[{}]!]", "[[{}!]!]!", "[[[{}]]]!"]
RESPONSES = 15
OPERATIONS = 3


class Schema:
    """Types whose fields have one type for each name, so that all selections can be merged."""

    def __init__(self, seed):
        self.random, self.prefix = random.Random(seed), f"S{seed:02}"
        self.directives = [(), ("conditions",), ("defer",), ("conditions", "defer")][seed % 4]
        pick, name = self.random, self.prefix
        self.enums = {f"{name}E{n}": [f"VALUE_{k}" for k in range(pick.randint(1, 4))] for n in range(2)}
        self.scalars = {f"{name}Stamp": "Foundation.Date", f"{name}Any": "JSONValue", f"{name}Text": None}
        self.interfaces = [f"{name}I{n}" for n in range(pick.randint(1, 3))]
        self.objects = [f"{name}T{n}" for n in range(pick.randint(2, 6))]
        self.unions = {f"{name}U{n}": pick.sample(self.objects, pick.randint(1, len(self.objects))) for n in range(2)}
        composites = self.interfaces + self.objects + list(self.unions)
        leaves = LEAVES + list(self.enums) + list(self.scalars)
        self.types, self.composite = {}, set()
        for field in pick.sample(NAMES, 12):
            self.types[field] = pick.choice(WRAPPINGS).format(pick.choice(leaves))
        for number in range(6):
            field = f"part{number}"
            self.types[field] = pick.choice(WRAPPINGS).format(composites[number % len(composites)])
            self.composite.add(field)
        self.fields = {type: pick.sample(sorted(self.types), 5) for type in self.interfaces}
        self.implements = {}
        for type in self.objects:
            chosen = [each for each in self.interfaces if pick.random() < 0.6]
            own = set(pick.sample(sorted(self.types), 6))
            self.implements[type] = chosen
            self.fields[type] = sorted(own.union(*(self.fields[each] for each in chosen)))
        self.roots = {f"root{number}": pick.choice(["{}", "{}!", "[{}!]"]).format(type) for number, type in enumerate(composites)}

    def possible(self, type):
        if type in self.unions:
            return set(self.unions[type])
        return {each for each in self.objects if each == type or type in self.implements[each]}

    def text(self):
        lines = ["directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT"]
        lines += [f"scalar {name}" for name in self.scalars]
        lines += [f"enum {name} {{ {' '.join(values)} }}" for name, values in self.enums.items()]
        for type in self.interfaces + self.objects:
            head = f"interface {type}" if type in self.interfaces else f"type {type}"
            over = " & ".join(self.implements.get(type, []))
            body = " ".join(f"{field}: {self.types[field]}" for field in self.fields[type])
            lines.append(f"{head}{' implements ' + over if over else ''} {{ {body} }}")
        lines += [f"union {name} = {' | '.join(members)}" for name, members in self.unions.items()]
        enum, stamp, prefix = next(iter(self.enums)), f"{self.prefix}Stamp", self.prefix
        lines.append(f"input {prefix}Filter {{ text: String! size: Int flags: [Boolean!] grid: [[Int]] kind: {enum} "
                     f"after: {stamp} inner: {prefix}Filter any: [{prefix}Filter!] one: {prefix}One }}")
        lines.append(f"input {prefix}One @oneOf {{ id: ID filter: {prefix}Filter kinds: [{enum}!] }}")
        roots = " ".join(f"{field}(filter: {prefix}Filter): {type}" for field, type in self.roots.items())
        return "\n".join(lines + [f"type Query {{ {roots} }}"]) + "\n"


def bare(type):
    return type.strip("[]!")


class Operations:
    """Random operations and fragments, as lists of selections."""

    def __init__(self, schema):
        self.schema, self.random = schema, schema.random
        self.fragments = {}
        for number in range(4):
            type = self.random.choice(schema.interfaces + schema.objects)
            # A fragment spreads only those before it.
            self.fragments[f"{schema.prefix}F{number}"] = (type, self.selections(type, 1, dict(self.fragments)))
        self.operations = {}
        for number in range(OPERATIONS):
            roots = self.random.sample(sorted(schema.roots), min(2, len(schema.roots)))
            self.operations[f"{schema.prefix}Q{number}"] = [
                ("field", f"r_{root}" if self.random.random() < 0.3 else root, root, "",
                 self.selections(bare(schema.roots[root]), 0, self.fragments)) for root in roots]

    def directive(self, defer=False):
        number = self.random.randint(0, 9)
        if "defer" in self.schema.directives and defer and number < 2:
            return f' @defer(label: "d{self.random.randint(0, 1 << 30)}")'
        if "conditions" in self.schema.directives:
            return {2: " @include(if: $c0)", 3: " @skip(if: $c1)"}.get(number, "")
        return ""

    def selections(self, type, depth, fragments):
        schema, found = self.schema, []
        available = schema.fields.get(type, [])
        for field in self.random.sample(available, min(len(available), self.random.randint(1, 5))):
            isObject = field in schema.composite
            if isObject and depth > 2:
                continue
            key = f"alias_{field}" if self.random.random() < 0.2 else field
            inner = self.selections(bare(schema.types[field]), depth + 1, fragments) if isObject else None
            found.append(("field", key, field, self.directive(), inner))
        types = [each for each in schema.interfaces + schema.objects if schema.possible(each) & schema.possible(type)]
        if depth < 3:
            for each in self.random.sample(types, min(len(types), self.random.randint(0, 2))):
                found.append(("inline", each, self.directive(defer=True), self.selections(each, depth + 1, fragments)))
        for name, (each, _) in fragments.items():
            if schema.possible(each) & schema.possible(type) and self.random.random() < 0.25:
                found.append(("spread", name, self.directive(defer=True)))
        return found or [("field", "__typename", "__typename", "", None)]

    def text(self, selections):
        parts = []
        for selection in selections:
            if selection[0] == "field":
                _, key, field, directive, inner = selection
                name = field if key == field else f"{key}: {field}"
                arguments = "(filter: $filter)" if field in self.schema.roots else ""
                parts.append(name + arguments + directive + (f" {self.text(inner)}" if inner else ""))
            elif selection[0] == "inline":
                parts.append(f"... on {selection[1]}{selection[2]} {self.text(selection[3])}")
            else:
                parts.append(f"...{selection[1]}{selection[2]}")
        return "{ " + " ".join(parts) + " }"

    def document(self):
        lines = [f"fragment {name} on {type} {self.text(selections)}" for name, (type, selections) in self.fragments.items()]
        for name, selections in self.operations.items():
            body = self.text(selections)
            lines.append(f"query {name}({self.declarations(name)}) {body}")
        return "\n".join(lines) + "\n"

    def reached(self, selections):
        """The text of the selections with all fragments that they spread."""
        texts, pending = [], [selections]
        while pending:
            text = self.text(pending.pop())
            if text not in texts:
                texts.append(text)
                pending += [part for name, (_, part) in self.fragments.items() if f"...{name}" in text]
        return " ".join(texts)

    def conditions(self, name):
        text = self.reached(self.operations[name])
        return [variable for variable in ("c0", "c1") if f"${variable})" in text]

    def declarations(self, name):
        return ", ".join([f"$filter: {self.schema.prefix}Filter"] + [f"${each}: Boolean!" for each in self.conditions(name)])


class Server:
    """Random data of an operation."""

    def __init__(self, operations, conditions):
        self.operations, self.schema, self.random = operations, operations.schema, operations.random
        self.conditions = conditions

    def applies(self, directive):
        if "@include" in directive:
            return self.conditions["c0"]
        if "@skip" in directive:
            return not self.conditions["c1"]
        # The part has not arrived.
        return "@defer" not in directive or self.random.random() < 0.6

    def fields(self, type, sets):
        """The selected fields of an object by response key, with the selections of all their uses."""
        found = {}

        def collect(selections):
            for selection in selections:
                if selection[0] == "field":
                    _, key, field, directive, inner = selection
                    if self.applies(directive):
                        found.setdefault(key, (field, []))[1].append(inner)
                else:
                    named = self.operations.fragments.get(selection[1])
                    condition, directive = (named[0] if named else selection[1]), selection[2]
                    inside = type == "Query" or type in self.schema.possible(condition)
                    if self.applies(directive) and inside:
                        collect(named[1] if named else selection[3])

        for selections in sets:
            collect(selections)
        return found

    def object(self, type, sets):
        data = {} if type == "Query" else {"__typename": type}
        for key, (field, inner) in self.fields(type, sets).items():
            if field != "__typename":
                declared = self.schema.roots.get(field) or self.schema.types[field]
                data[key] = self.value(declared, inner)
        return data

    def value(self, type, sets):
        if type.endswith("!"):
            return self.present(type[:-1], sets)
        return None if self.random.random() < 0.2 else self.present(type, sets)

    def present(self, type, sets):
        if type.startswith("["):
            return [self.value(type[1:-1], sets) for _ in range(self.random.randint(0, 2))]
        if sets[0] is None:
            return self.leaf(type)
        return self.object(self.random.choice(sorted(self.schema.possible(type))), sets)

    def leaf(self, type):
        pick = self.random
        if type in self.schema.enums:
            return pick.choice(self.schema.enums[type] + ["ADDED_LATER"])
        if type.endswith("Stamp"):
            return f"20{pick.randint(10, 30)}-01-31T12:00:0{pick.randint(0, 9)}Z"
        if type.endswith("Any"):
            return pick.choice([{"any": [1, None, "x"]}, [], 0.5, "text", True])
        return {"Int": pick.randint(-(1 << 62), 1 << 62), "Float": pick.choice([pick.uniform(-1e6, 1e6), 1e-300, 0.1, 7]),
                "Boolean": pick.random() < 0.5}.get(type, pick.choice(TEXTS))


class Inputs:
    """Input values, each as a Swift expression and as the JSON that it has to become."""

    def __init__(self, schema):
        self.schema, self.random = schema, schema.random

    def filter(self, depth=0):
        pick, enum = self.random, next(iter(self.schema.enums))
        text = pick.choice(["a", "日本", "two words"])
        swift, value = [f'text: "{text}"'], {"text": text}
        kind = pick.choice(self.schema.enums[enum])
        inner, one = (self.filter(depth + 1), self.one(depth + 1)) if depth < 2 else (None, None)
        number = pick.randint(-9, 9)
        stamp = "2020-01-31T12:00:00Z"
        choices = [
            ("size", str(number), number), ("flags", "[true, false]", [True, False]), ("grid", "[[1, nil], nil]", [[1, None], None]),
            ("kind", f".value(.{self.case(kind)})", kind),
            ("after", f'.value(try! Date("{stamp}", strategy: .iso8601))', stamp),
            ("inner", inner and f".value({inner[0]})", inner and inner[1]),
            ("any", inner and f"[{inner[0]}, {inner[0]}]", inner and [inner[1], inner[1]]),
            ("one", one and f".value({one[0]})", one and one[1])]
        for name, expression, json in choices:
            state = pick.randint(0, 3)
            if state == 0:
                swift.append(f"{name}: nil")
                value[name] = None
            elif state > 1 and expression:
                swift.append(f"{name}: {expression}")
                value[name] = json
        return f"{self.schema.prefix}Filter({', '.join(swift)})", value

    def one(self, depth):
        enum = next(iter(self.schema.enums))
        kind = self.random.choice(self.schema.enums[enum])
        inner = self.filter(depth + 1)
        name, expression, json = self.random.choice(
            [("id", '"7"', "7"), ("kinds", f"[.{self.case(kind)}]", [kind]), ("filter", inner[0], inner[1])])
        return f"{self.schema.prefix}One.{name}({expression})", {name: json}

    @staticmethod
    def case(value):
        return value.lower().replace("_", "")


def literal(value):
    return '###"' + json.dumps(value, ensure_ascii=False) + '"###'


def write(seed, program, package):
    schema = Schema(seed)
    operations = Operations(schema)
    source = package / "GraphQL" / schema.prefix
    source.mkdir(parents=True)
    (source / "schema.graphql").write_text(schema.text())
    (source / "operations.graphql").write_text(operations.document())
    output = package / "Sources/roundtrips" / schema.prefix
    scalars = [part for name, swift in schema.scalars.items() if swift for part in ("--scalar", f"{name}={swift}")]
    subprocess.run([program, "generate", "--schema", source / "schema.graphql", "--documents", source / "operations.graphql",
                    "--output", output, *scalars], check=True, stderr=subprocess.DEVNULL)
    types = output / "SchemaTypes.swift"
    # A module has no two files with the same name.
    types.rename(types.with_name(f"{schema.prefix}SchemaTypes.swift"))
    inputs, cases = Inputs(schema), []
    for name in operations.operations:
        used = operations.conditions(name)
        for variant in range(2):
            values = {each: schema.random.random() < 0.5 for each in ("c0", "c1")}
            filter, variables = inputs.filter()
            given = {each: values[each] for each in used}
            arguments = ", ".join([f"filter: .value({filter})"] + [f"{each}: {str(on).lower()}" for each, on in given.items()])
            server = Server(operations, values)
            responses = [server.object("Query", [operations.operations[name]]) for _ in range(RESPONSES)]
            file = f"{name}-{variant}.ndjson"
            (package / "Responses" / file).write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in responses))
            text = operations.reached(operations.operations[name])
            exact = not any(directive in text for directive in ("@include", "@skip", "@defer"))
            cases.append(f"  try checker.check(\n    {name}Query({arguments}),\n    variables: "
                         f"{literal({'filter': variables, **given})}, responses: \"{file}\", isExact: {str(exact).lower()})")
    return f"func check{schema.prefix}(_ checker: inout Checker) throws {{\n" + "\n".join(cases) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("package", type=pathlib.Path)
    parser.add_argument("--schemas", type=int, default=20)
    arguments = parser.parse_args()
    (arguments.package / "Responses").mkdir()
    functions = [write(seed, arguments.program, arguments.package) for seed in range(arguments.schemas)]
    calls = "\n".join(f"  try checkS{seed:02}(&checker)" for seed in range(arguments.schemas))
    (arguments.package / "Sources/roundtrips/Cases.swift").write_text(
        "import Foundation\nimport GQLRunTyped\n\n" + "\n".join(functions)
        + f"\nfunc checkAll(_ checker: inout Checker) throws {{\n{calls}\n}}\n")


if __name__ == "__main__":
    main()

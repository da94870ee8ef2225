#!/usr/bin/env python3
"""Writes cases for the differential test: mutated documents and schemas, and what graphql-core says of them.

Usage: generate.py [--count N] [--seed N] [--shared FOLDER] > cases.jsonl

One JSON object per line: {"kind", "source", "schema"?} and "text", "problems", "changes" or "refused". The kinds are parse, print, strip, sdl (rules of type system documents), schema (rules of the types taken together), printed (print_schema),
introspection (build_client_schema of introspection_from_schema), client (build_client_schema of a mutated introspection result),
extend (rules of documents that extend a schema), extended (print_schema of both together), validate, deprecated, hidden (the two
rules on request), and changes.
Needs graphql-core of the version in requirements.txt.
"""

import argparse
import copy
import json
import os
import random
import re
import sys

import graphql.language.block_string as block_string_module
from graphql import (
    DirectiveLocation,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLSyntaxError,
    InlineFragmentNode,
    Lexer,
    OperationType,
    Source,
    SourceLocation,
    TokenKind,
    build_ast_schema,
    build_client_schema,
    concat_ast,
    introspection_from_schema,
    introspection_types,
    is_abstract_type,
    parse,
    print_ast,
    print_schema,
    specified_scalar_types,
    strip_ignored_characters,
    validate,
    validate_schema,
)
from graphql.utilities.find_breaking_changes import find_breaking_changes, find_dangerous_changes
from graphql.validation import (
    NoDeprecatedCustomRule,
    NoSchemaIntrospectionCustomRule,
    SingleFieldSubscriptionsRule,
    specified_rules,
)
from graphql.validation.validate import validate_sdl

SCHEMAS = [
    '''
"A node." interface Node { id: ID! }
interface Resource implements Node { id: ID! url(size: Int = 3): String }
type Image implements Resource & Node { id: ID! url(size: Int = 3): String thumbnail: Image tags: [String!]! }
"""
A user

  of the system
"""
type User implements Node { id: ID! name(first: Int, style: Style = SHORT): String! posts(filter: Filter, first: Int! = 10): [Post!]
  old: String @deprecated(reason: "gone") friend: User pets: [Pet] }
type Post implements Node { id: ID! title: String author: User! likes: Int score: Float live: Boolean }
union Pet = Cat | Dog
type Cat { name: String meows: Boolean volume: Int }
type Dog { name: String! barks: Boolean volume: Float owner: User }
enum Style { SHORT LONG @deprecated }
input Filter { text: String = "a\\"b" ids: [ID!] range: Range not: Filter style: Style = LONG max: Float = 1.5 }
input Range { from: Int! to: Int = 7 old: Int @deprecated }
input Key @oneOf { id: ID name: String range: Range }
scalar Date @specifiedBy(url: "https://example.com/date")
directive @cache(seconds: Int! = 10, scope: Style) repeatable on FIELD | QUERY | FRAGMENT_SPREAD
directive @tag(name: String!) repeatable on OBJECT | FIELD_DEFINITION | ENUM_VALUE | SCHEMA | INPUT_FIELD_DEFINITION
extend type User @tag(name: "x") { born: Date }
extend enum Style { WIDE }
type Query { me: User node(id: ID!): Node resource(key: Key): Resource pet(filter: Filter!): Pet search(text: String!, in: [Style!] = [SHORT]): [Pet!]! }
type Mutation { rename(id: ID!, name: String!): User like(input: [Range]): Int }
type Subscription { changed(id: ID): Node liked: Int }
''',
    '''
schema @tag { query: Root subscription: Feed }
directive @tag on SCHEMA | SCALAR
type Root { a(x: [[Int]] = [[1, 2], null], y: A = {b: {c: [true]}}): E! i: I u: U }
input A { b: B! = {c: []} z: String = "z" } input B { c: [Boolean!] = [false] }
enum E { X Y Z } interface I { e: E i(a: Int, b: [E!]): [I!] } interface J implements I { e: E! i(a: Int, b: [E!], c: Int): [J!]! j: U }
type K implements J & I { e: E! i(a: Int, b: [E!], c: Int): [K!]! j: U k: Float }
union U = K | Root
type Feed { tick: Int tock: String }
extend schema { mutation: K }
''',
    # Default values that their types do not allow.
    '''
type Query { a(x: Int! = "no", y: In = {n: null}, z: [Int!]! = [1, null]): Int b(i: In!, j: In2 = {s: B}): Int c(e: E = NOPE, o: One = {a: 1, b: "x"}): T }
input In { n: Int! = "no" m: In2 = {} k: Boolean! = true l: [In2!] = [{}, {s: A}] } input In2 { r: String! = "r" s: E! = 3 }
enum E { A B } input One @oneOf { a: Int b: String }
interface I { f(x: Int = "1"): Int } type T implements I { f(x: Int, y: Int = "bad"): Int g(i: Float = 1, j: Float! = "1", k: ID! = 1.5): [T!] }
directive @d(w: Int! = "x", v: E = A) on FIELD | QUERY
''',
]

EXTENSIONS = [
    '''
extend type User implements Resource @tag(name: "y") { url(size: Int = 3): String extra(by: Style = WIDE, key: Key): [Extra!] @deprecated }
type Extra implements Node @tag(name: "e") { id: ID! of: User }
extend interface Node { since: Date }
extend union Pet = User | Extra
extend enum Style @tag(name: "s") { NARROW @tag(name: "n") }
extend input Range { step: Int = 1 wide: [Filter!] }
extend scalar Date @specifiedBy(url: "x")
directive @other(a: Int!, b: Extra2 = {}) on FIELD
input Extra2 { a: Int = 3 }
extend schema { subscription: Extra } extend schema @tag(name: "z")
''',
    '''
extend type Root { more(a: A = {b: {}}): K @deprecated(reason: "x") }
extend input B { d: [[E!]] = [[X], []] } extend interface I { k: K } extend type K { l: New } extend union U = New
type New { u: U } enum E2 { A } scalar Time extend scalar Time @tag
directive @cache on FIELD
''',
]

QUERIES = [
    '''
query One($id: ID!, $f: Filter = {text: "x", range: {from: 1}}, $n: Int, $on: Boolean = true) @cache(seconds: 3) {
  me { ...Person @cache @cache(scope: SHORT) friend @include(if: $on) { id name(first: $n) } }
  node(id: $id) { __typename id ... on User { name posts(filter: $f) { title author { id } } } ... on Post { title likes } }
  pet(filter: {ids: ["a", 1], style: LONG, max: 2}) { ... on Cat { name meows } ... on Dog { name barks } }
}
fragment Person on User { id name style: name(style: LONG) pets { ...P } }
fragment P on Pet { ... on Dog { owner { id } volume } ... on Cat { v: volume } }
''',
    '''
mutation M($in: [Range] = [{from: 1, to: null}]) { like(input: $in) rename(id: 3, name: """block""") { old } }
query Two { resource(key: {id: "1"}) { ... on Image { url(size: 4) tags thumbnail { url } } ...R } search(text: "t", in: SHORT) { ...P } }
fragment R on Resource { id url }
fragment P on Pet { __typename }
subscription S { changed(id: null) { id } }
''',
    '''
query V($v: Int, $w: Int = 3, $e: E) @d { a a2: a(x: $v, z: [$w]) b(i: {}) c(e: $e) { f @d g } }
query W($i: In = {}) @d(w: 1) { a(x: 1, y: {n: 1}, z: 5) b(i: {n: 2, m: {s: A}, l: {s: B}}) c(o: {a: 1}) { f(y: 2) @d(w: 1) g(j: 1, k: 2) { f } } b2: b(i: $i) }
''',
    "{ me { name } __schema { types { name fields { name type { name ofType { name } } } } } }",
]

WORDS = [
    "Int", "String", "Float", "Boolean", "ID", "Query", "User", "Filter", "Style", "SHORT", "id", "name", "on", "true", "null",
    "query", "fragment", "type", "interface", "implements", "union", "enum", "input", "extend", "schema", "directive", "repeatable",
    "scalar", "subscription", "mutation", "__typename", "__x", "@deprecated", "@oneOf", "@skip(if: true)", "@include(if: $on)",
    "@specifiedBy(url: \"u\")", "@deprecated(reason: 5)", "$id", "$zz", "!", "[", "]", "{", "}", "(", ")", ":", "=", "|", "&", "...",
    "1", "-1", "1.5e3", "2147483648", "\"text\"", "\"\"\"block\n  two\"\"\"", "FIELD", "OBJECT", "= 3", "= null", "= {}", "= [1]", "Root", "K", "Node",
]
CHARACTERS = list("{}()[]:=|&!@$.,#\"\\'\n\r\t 019-+eE_azAZ\u00e9\u2028\ufeff\U0001f600\x00\x07")


def tokens(source):
    result, lexer = [], Lexer(Source(source))
    while True:
        token = lexer.advance()
        if token.kind == TokenKind.EOF:
            return result
        result.append((token.start, token.end))


# What graphql-core stumbles over in Python's own words, or says of standard types, which every schema here has anyhow.
LENIENT = re.compile(r"Redefinition of reserved type|must be a string|must be True or False|has no attribute|'name': '(__|Int'|Float'|String'|Boolean'|ID')|object is not|unhashable")


EXECUTABLE = ("query", "mutation", "subscription", "fragment")


def older(source):
    """The document with blanks for descriptions that this version's grammar does not have: those of operations, of fragments and
    of variables. All other places stay where they are."""
    while True:
        try:
            parse(source)
            return source
        except RecursionError:
            return source
        except GraphQLSyntaxError as error:
            start = error.positions[0]
            if "Unexpected description" not in error.message and not re.search(r"Expected '\$', found (Block)?String", error.message):
                return source
            lexer = Lexer(Source(source))
            token = lexer.advance()
            while token.start < start:
                token = lexer.advance()
            if "Unexpected description" in error.message and lexer.lookahead().value not in EXECUTABLE:
                return source
            source = source[:start] + re.sub(r"[^\r\n]", " ", source[start:token.end]) + source[token.end:]


LOCATIONS = {location.name for location in DirectiveLocation}


class Unread(Exception):
    """Something that is no list where the specification has a list."""


def tolerated(result):
    """An introspection result with the things put right that gqlrun tolerates, with a warning, and graphql-core does not: a directive
    with places that are not known, or none, or told twice. What is deprecated without a reason stays deprecated."""
    result = copy.deepcopy(result)

    def deprecate(value):
        if isinstance(value, dict):
            if value.get("isDeprecated") is True and value.get("deprecationReason") is None:
                value["deprecationReason"] = "No longer supported"
            for inner in value.values():
                deprecate(inner)
        elif isinstance(value, list):
            for inner in value:
                deprecate(inner)

    def listed(holder, key):
        # Python iterates over an empty text and an empty object as well.
        if isinstance(holder, dict) and holder.get(key) in ("", {}):
            raise Unread(key)
        found = holder.get(key) if isinstance(holder, dict) else None
        return found if isinstance(found, list) else []

    def last_counts(value):
        # Python reads members that a later one of the same name replaces, too.
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            last_counts(inner)
        for key in ("fields", "args", "inputFields", "enumValues"):
            members = value.get(key) if isinstance(value, dict) else None
            if isinstance(members, list) and all(isinstance(m, dict) and isinstance(m.get("name"), str) for m in members):
                value[key] = list({m["name"]: m for m in members}.values())

    deprecate(result)
    last_counts(result)
    schema = result.get("__schema")
    if not isinstance(schema, dict):
        return result
    own = {t["name"]: t for t in listed(schema, "types") if isinstance(t, dict) and isinstance(t.get("name"), str)}
    members = {"OBJECT": ("interfaces", "fields"), "INTERFACE": ("interfaces", "fields"), "UNION": ("possibleTypes",),
               "ENUM": ("enumValues",), "INPUT_OBJECT": ("inputFields",)}
    for name, type_ in own.items():
        if name not in specified_scalar_types and name not in introspection_types and isinstance(type_.get("kind"), str):
            for key in members.get(type_["kind"], ()):
                for field in listed(type_, key):
                    if key == "fields":
                        listed(field, "args")
    kept, names = [], set()
    for directive in listed(schema, "directives"):
        listed(directive, "args")
        places = listed(directive, "locations")
        if isinstance(directive, dict) and isinstance(directive.get("locations"), list):
            if all(isinstance(p, str) and re.fullmatch("[_A-Za-z][_0-9A-Za-z]*", p) for p in places):
                directive["locations"] = [p for p in places if p in LOCATIONS]
                if not directive["locations"]:
                    continue
            if isinstance(directive.get("name"), str):
                if directive["name"] in names:
                    continue
                names.add(directive["name"])
        kept.append(directive)
    if isinstance(schema.get("directives"), list):
        schema["directives"] = kept
    return result


class Mutator:
    def __init__(self, rng):
        self.rng = rng

    def characters(self, text):
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            at = self.rng.randrange(len(text) + 1)
            what = self.rng.random()
            if what < 0.4:
                text = text[:at] + self.rng.choice(CHARACTERS) + text[at:]
            elif what < 0.7:
                text = text[:at] + text[at + self.rng.randrange(1, 4):]
            else:
                text = text[:at] + self.rng.choice(CHARACTERS) + text[at + 1:]
        return text

    def tokens(self, text):
        """Changes, removes, repeats or swaps tokens: most results still parse."""
        for _ in range(self.rng.choice([1, 1, 1, 2, 2, 3, 5])):
            try:
                spans = tokens(text)
            except GraphQLError:
                return text
            if not spans:
                return text
            start, end = self.rng.choice(spans)
            other = self.rng.choice(spans)
            word = text[start:end]
            what = self.rng.random()
            if what < 0.45:
                # Another token of the same kind: names stay names.
                alike = [s for s in spans if text[s[0]].isalpha() == text[start].isalpha()]
                a, b = self.rng.choice(alike)
                text = text[:start] + text[a:b] + text[end:]
            elif what < 0.6:
                text = text[:start] + self.rng.choice(WORDS) + text[end:]
            elif what < 0.7:
                text = text[:start] + self.rng.choice(WORDS) + " " + text[start:]
            elif what < 0.8:
                text = text[:start] + text[end:]
            elif what < 0.9:
                text = text[:start] + word + " " + text[start:]
            else:
                (a, b), (c, d) = sorted([(start, end), other])
                if b <= c:
                    text = text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]
        return text

    def definitions(self, text):
        """Removes, repeats or moves whole definitions, and fields of them."""
        try:
            document = parse(text, no_location=False)
        except GraphQLError:
            return text
        spans = [(d.loc.start, d.loc.end) for d in document.definitions]
        for d in document.definitions:
            for part in [*(getattr(d, "fields", None) or ()), *(getattr(d, "values", None) or ())]:
                spans.append((part.loc.start, part.loc.end))
        start, end = self.rng.choice(spans)
        piece = text[start:end]
        what = self.rng.random()
        if what < 0.5:
            return text[:start] + text[end:]
        if what < 0.75:
            return text[:end] + "\n" + piece + text[end:]
        at = self.rng.choice(spans)[0]
        return text[:at] + piece + "\n" + text[at:]

    def value(self, value):
        """Changes, removes, repeats or exchanges parts of a JSON value, which is left as it is."""
        value = copy.deepcopy(value)
        for _ in range(self.rng.choice([1, 1, 1, 2, 3])):
            places = []

            def visit(inner):
                for key in inner if isinstance(inner, dict) else range(len(inner)):
                    places.append((inner, key))
                    if isinstance(inner[key], (dict, list)):
                        visit(inner[key])

            visit(value)
            if not places:
                break
            holder, key = self.rng.choice(places)
            what = self.rng.random()
            if what < 0.3:
                del holder[key]
            elif what < 0.5:
                holder[key] = self.rng.choice([None, [], {}, "", "Int", "[", "Cat", True, 3])
            elif what < 0.6 and isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            else:
                # Something else that stands under the same name, or in a list, too.
                alike = [(a, b) for a, b in places if b == key or isinstance(a, list) and isinstance(holder, list)]
                other, at = self.rng.choice(alike)
                holder[key] = copy.deepcopy(other[at])
        return value

    def mutate(self, text):
        what = self.rng.random()
        if what < 0.12:
            return self.characters(text)
        if what < 0.8:
            return self.tokens(text)
        return self.definitions(text)


def location(source, position):
    """Replaces graphql-core's own, which before 3.2.14 puts the first column of a line at the end of the one before."""
    lines = re.split("\r\n|[\n\r]", source.body[:position])
    return SourceLocation(len(lines) + source.location_offset.line - 1, len(lines[-1]) + 1)


Source.get_location = location

# To graphql-core, other characters than line feeds end the lines of block strings that it prints, too.
OTHER_ENDS = str.maketrans({ord(c): 0xE000 + i for i, c in enumerate("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")})
BACK = {other: own for own, other in OTHER_ENDS.items()}


def block_string(value, minimize=False):
    return printed_block_string(value.translate(OTHER_ENDS), minimize).translate(BACK)


printed_block_string = block_string_module.print_block_string
for module in list(sys.modules.values()):
    if module.__name__.startswith("graphql") and getattr(module, "print_block_string", None) is printed_block_string:
        module.print_block_string = block_string


def problem(error):
    return {"message": error.message, "locations": [[l.line, l.column] for l in error.locations or []]}


def problems(errors):
    return [problem(e) for e in errors]


def seeds(shared):
    documents, schemas = list(QUERIES), list(SCHEMAS)
    pairs = [(SCHEMAS[2 if "query V" in q else 0], q) for q in QUERIES]
    folder = os.path.join(shared, "conformance", "graphql")
    for name in ("parse.jsonl", "print.jsonl"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            for line in open(path, encoding="utf-8"):
                documents.append(json.loads(line)["source"])
    path = os.path.join(folder, "validate.jsonl")
    if os.path.exists(path):
        for line in open(path, encoding="utf-8"):
            vector = json.loads(line)
            pairs.append((vector["schema"], vector["document"]))
    path = os.path.join(shared, "real", "github.graphql")
    if os.path.exists(path):
        text = open(path, encoding="utf-8").read()
        definitions = parse(text).definitions
        by_name = {d.name.value: d for d in definitions if hasattr(d, "name") and d.name}
        rng = random.Random(5)
        for _ in range(12):
            chosen = rng.sample(definitions, 12)
            schemas.append("\n".join(text[d.loc.start:d.loc.end] for d in chosen))
        documents += schemas[3:7]
        assert by_name
    for schema, _ in pairs:
        if schema not in schemas:
            schemas.append(schema)
    return documents, schemas, pairs


class NewerSingleFieldSubscriptions(SingleFieldSubscriptionsRule):
    """With what the specification of September 2025 adds: no conditions on the root fields of subscriptions."""

    def enter_operation_definition(self, node, *_args):
        schema = self.context.schema
        root = schema.subscription_type
        if node.operation != OperationType.SUBSCRIPTION or not root:
            return
        conditions, spread = [], set()

        def applies(condition):
            named = condition and schema.get_type(condition.name.value)
            return not condition or named is root or is_abstract_type(named) and schema.is_sub_type(named, root)

        def collect(selection_set):
            for selection in selection_set.selections:
                conditions.extend(d for d in selection.directives if d.name.value in ("skip", "include"))
                if isinstance(selection, InlineFragmentNode):
                    if applies(selection.type_condition):
                        collect(selection.selection_set)
                elif isinstance(selection, FragmentSpreadNode) and selection.name.value not in spread:
                    spread.add(selection.name.value)
                    fragment = self.context.get_fragment(selection.name.value)
                    if fragment and applies(fragment.type_condition):
                        collect(fragment.selection_set)

        collect(node.selection_set)
        if not conditions:
            super().enter_operation_definition(node)
            return
        subject = f"Subscription '{node.name.value}'" if node.name else "Anonymous Subscription"
        self.report_error(GraphQLError(
            subject + " must not use `@skip` or `@include` directives in the top level selection.", conditions))


RULES = [NewerSingleFieldSubscriptions if rule is SingleFieldSubscriptionsRule else rule for rule in specified_rules]


class Cases:
    def __init__(self, out, rng):
        self.out, self.rng = out, rng
        self.seen = set()
        self.count = 0

    def add(self, kind, source, name, expected, **more):
        key = (kind, source, more.get("schema"))
        if key in self.seen:
            return
        try:
            source.encode("utf-8")
        except UnicodeEncodeError:
            return
        self.seen.add(key)
        self.count += 1
        self.out.write(json.dumps({"kind": kind, "source": source, name: expected, **more}) + "\n")

    def parsed(self, source):
        try:
            document = parse(source)
        except GraphQLSyntaxError as error:
            known = older(source)
            if known != source:
                try:
                    parse(known)
                    self.add("parse", source, "problems", [])
                except GraphQLSyntaxError as error:
                    self.add("parse", source, "problems", [problem(error)])
            # Most mutations break the grammar; one in six is enough.
            elif self.rng.random() < 0.17:
                self.add("parse", source, "problems", [problem(error)])
            return None
        except RecursionError:
            return None
        self.add("print", source, "text", print_ast(document))
        self.add("strip", source, "text", strip_ignored_characters(source))
        return document

    def schema(self, source):
        try:
            document = parse(source)
        except (GraphQLSyntaxError, RecursionError):
            return None
        if self.rng.random() < 0.2:
            self.parsed(source)
        errors = validate_sdl(document)
        if len(errors) > 100:
            return None
        self.add("sdl", source, "problems", problems(errors))
        if errors:
            return None
        try:
            schema = build_ast_schema(document, assume_valid_sdl=True)
        except (GraphQLError, TypeError, KeyError):
            # A value of @deprecated or the like that cannot be used: told in words of Python's own.
            return None
        errors = validate_schema(schema)
        self.add("schema", source, "problems", problems(errors))
        if errors:
            return None
        self.add("printed", source, "text", print_schema(schema))
        result = introspection_from_schema(schema, descriptions=True, specified_by_url=True, input_value_deprecation=True,
                                           schema_description=True, directive_is_repeatable=True, input_object_one_of=True)
        try:
            self.add("introspection", source, "text", print_schema(build_client_schema(result)))
        except TypeError:
            # More lists around a type than the query follows.
            pass
        return schema

    def extension(self, schema_source, schema, source):
        """A document that extends a schema; the schema is not part of it."""
        try:
            document = parse(source)
        except (GraphQLSyntaxError, RecursionError):
            return
        errors = validate_sdl(document, schema)
        if len(errors) > 100:
            return
        self.add("extend", source, "problems", problems(errors), schema=schema_source)
        if errors:
            return
        try:
            extended = build_ast_schema(concat_ast([parse(schema_source), document]), assume_valid_sdl=True)
            if validate_schema(extended):
                return
        except (GraphQLError, TypeError, KeyError):
            return
        self.add("extended", source, "text", print_schema(extended), schema=schema_source)

    def client(self, result):
        """What becomes of an introspection result: a schema, or nothing."""
        if re.search(r'"isOneOf": (?!true|false|null)', json.dumps(result)):
            return
        source = json.dumps(result, sort_keys=True)
        try:
            schema = build_client_schema(tolerated(result))
            errors = validate_schema(schema)
        except Unread:
            self.add("client", source, "refused", True)
            return
        except (GraphQLError, TypeError, KeyError, AttributeError, ValueError) as error:
            # What is told of standard types does not matter, nor does text in Python's own words.
            if LENIENT.search(str(error)):
                return
            self.add("client", source, "refused", True)
            return
        if errors:
            self.add("client", source, "problems", [{"message": e.message, "locations": []} for e in errors])
            return
        try:
            self.add("client", source, "text", print_schema(schema))
        except TypeError:
            # A default value of one type where another is declared: Python prints none.
            pass

    def validated(self, schema_source, schema, source):
        try:
            parsed = parse(source)
        except (GraphQLSyntaxError, RecursionError):
            return
        for kind, rules in (("validate", RULES), ("deprecated", [NoDeprecatedCustomRule]),
                            ("hidden", [NoSchemaIntrospectionCustomRule])):
            try:
                errors = validate(schema, parsed, rules)
            except (GraphQLError, KeyError):
                # graphql-core's rules stumble over undefined variables in OneOf input objects.
                continue
            if kind == "validate" or errors or self.rng.random() < 0.05:
                self.add(kind, source, "problems", problems(errors), schema=schema_source)

    def changes(self, old_source, old, new_source, new):
        if old is None or new is None:
            return
        changes = [{"kind": c.type.name, "description": c.description}
                   for c in find_breaking_changes(old, new) + find_dangerous_changes(old, new)]
        self.add("changes", new_source, "changes", changes, schema=old_source)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=15000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shared", default=os.path.join(os.path.dirname(__file__), "../../../shared"))
    options = parser.parse_args()
    sys.setrecursionlimit(20000)
    rng = random.Random(options.seed)
    mutator = Mutator(rng)
    documents, schemas, pairs = seeds(options.shared)
    cases = Cases(sys.stdout, rng)
    built = {}
    for source in schemas:
        built[source] = cases.schema(source)
    while cases.count < options.count:
        what = rng.random()
        if what < 0.25:
            cases.parsed(mutator.mutate(rng.choice(documents)))
        elif what < 0.58:
            # The hand-written schemas have most to break.
            old = rng.choice(schemas if rng.random() < 0.4 else schemas[:3])
            new = mutator.mutate(old)
            cases.changes(old, built[old], new, cases.schema(new))
        elif what < 0.65:
            schema = rng.choice(schemas[:2])
            cases.extension(schema, built[schema], mutator.mutate(rng.choice(EXTENSIONS)))
        elif what < 0.7:
            result = introspection_from_schema(built[rng.choice(schemas[:3])], input_value_deprecation=True, specified_by_url=True,
                                               directive_is_repeatable=True, schema_description=True, input_object_one_of=True)
            cases.client(mutator.value(result))
        else:
            schema, document = rng.choice(pairs if rng.random() < 0.6 else pairs[:4])
            if built.get(schema) is not None:
                cases.validated(schema, built[schema], mutator.mutate(document))


if __name__ == "__main__":
    main()

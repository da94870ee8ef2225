#!/usr/bin/env python3
"""Measures generated types: lines, generation time, compile time, and decoding.

usage: bench.py PROGRAM SCRATCH [--apollo FOLDER] [--schema FILE]

--apollo is a checkout of github.com/apollographql/apollo-ios-dev: the types that Apollo iOS has generated for its
test schema AnimalKingdom are compared with ours for the same operations. --schema is GitHub's public schema: the
operations of Tests/GeneratorTests/Fixtures/GitHub, repeated to more than 100, are generated from it. Compile times are
user seconds of one whole module with public types, the smallest of three.
"""
import argparse, os, pathlib, re, resource, shutil, statistics, subprocess, sys, time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPED = pathlib.Path(__file__).resolve().parent


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, text=True, **options)


def user_seconds(*command):
    """The user time of a command and its children, the smallest of three."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        run(*command, stdout=subprocess.DEVNULL)
        times.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return min(times)


def lines(paths):
    return sum(len(path.read_text().splitlines()) for path in paths)


def swift_files(folder):
    return sorted(folder.rglob("*.swift"))


class Bench:
    def __init__(self, program, scratch):
        self.program, self.scratch = program.resolve(), scratch.resolve()
        self.work = self.scratch / "typed"
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        run("swift", "build", "-c", "release", "--target", "GQLRunTyped", "--scratch-path", self.scratch, cwd=ROOT,
            env={**os.environ, "GQLRUN_MODULES": "core"}, stdout=subprocess.DEVNULL)
        self.release = self.scratch / "release"
        self.imports = ["-I", self.release / "Modules", "-I", ROOT / "Sources/CYajl"]

    def generate(self, schema, documents, output, *options):
        start = time.monotonic()
        run(self.program, "generate", "--schema", *schema, "--documents", *documents, "--output", output, *options,
            stderr=subprocess.DEVNULL)
        return time.monotonic() - start

    def compile_time(self, sources, level, *imports):
        return user_seconds("swiftc", "-swift-version", "6", level, "-wmo", "-parse-as-library", "-module-name", "AnimalKingdomAPI",
                            "-c", "-o", self.work / "types.o", *imports, *sources)

    def compare(self, apollo):
        """The table of our types and Apollo's for the same operations."""
        animals = apollo / "Sources/AnimalKingdomAPI"
        documents = [path for path in sorted((animals / "animalkingdom-graphql").glob("*.graphql"))
                     if "localCacheMutation" not in path.read_text()]
        defer = self.work / "defer.graphqls"
        defer.write_text("directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT\n")
        schema = [animals / "animalkingdom-graphql/AnimalSchema.graphqls", "--schema", defer]
        ours, internal = self.work / "animals", self.work / "internal"
        self.generate(schema, documents, ours, "--access", "public")
        self.generate(schema, documents, internal)
        theirs = [path for path in swift_files(animals / "AnimalKingdomAPI/Sources") if "LocalCache" not in str(path)]
        module = self.work / "ApolloAPI.swiftmodule"
        run("swiftc", "-swift-version", "6", "-emit-module", "-emit-module-path", module, "-module-name", "ApolloAPI",
            "-parse-as-library", *swift_files(apollo / "apollo-ios/Sources/ApolloAPI"))
        graphql = lines(documents)

        def row(name, default, mine, other, unit=""):
            print(f"{name:44}{default:>10}{mine:>10}{other:>10}  {unit}")

        def one(paths, name):
            return lines([path for path in paths if path.name.startswith(name + ".")])

        def definitions(paths):
            return [path for path in paths if {"Operations", "Fragments"} & set(path.parts)]

        mine, default = swift_files(ours), swift_files(internal)
        row("", "internal", "public", "Apollo")
        row("lines of AllAnimalsQuery", *(one(files, "AllAnimalsQuery") for files in (default, mine, theirs)))
        row("lines of operations and fragments", *(lines(definitions(files)) for files in (default, mine, theirs)))
        row("lines with the types of the schema", *(lines(files) for files in (default, mine, theirs)))
        for name, select in (("lines per line of GraphQL", definitions), ("with the types of the schema", list)):
            row(name, *(f"{lines(select(files)) / graphql:.1f}" for files in (default, mine, theirs)),
                f"{graphql} lines of GraphQL")
        for level, name in (("-Onone", "debug"), ("-O", "release")):
            row(f"compile time, {name}", "", f"{self.compile_time(mine, level, *self.imports):.2f}",
                f"{self.compile_time(theirs, level, '-I', self.work):.2f}", "s")

    def generation(self, schema):
        output, documents = self.work / "large", []
        for file in sorted((ROOT / "Tests/GeneratorTests/Fixtures/GitHub").glob("*.graphql")):
            for copy in range(8):
                # Fragments belong to the first copy, and all operations use them.
                text = file.read_text() if copy == 0 else file.read_text().partition("\nfragment ")[0]
                document = self.work / f"{file.stem}{copy}.graphql"
                document.write_text(re.sub(r"^(query|mutation) (\w+)", rf"\1 \g<2>{copy}", text, flags=re.M))
                documents.append(document)
        seconds = min(self.generate([schema], documents, output) for _ in range(3))
        operations = len(list((output / "Operations").glob("*.swift")))
        print(f"{'generation of ' + str(operations) + ' operations':44}{seconds:>10.2f}{'':10}  s")

    def decoding(self):
        """The time for decoding a response in memory, and that of json_verify for reading it."""
        types, response = self.work / "feed", self.work / "feed.json"
        server = subprocess.Popen([self.program, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
        try:
            url = server.stdout.readline().strip()
            schema = self.work / "schema.graphql"
            run(self.program, "schema", "fetch", "--endpoint", url, "-o", schema, stderr=subprocess.DEVNULL)
            documents = TYPED / "operations/feed.graphql"
            self.generate([schema], [documents], types)
            with response.open("w") as file:
                run(self.program, "run", documents, "--endpoint", url, "--var", "first=20000", stdout=file)
        finally:
            server.kill()
            server.wait()
        objects = [path for name in ("GQLRunTyped", "GQLRunJSON") for path in (self.release / f"{name}.build").glob("*.o")]
        decode = self.work / "decode"
        # The name that SwiftPM gives the package of a folder.
        package = re.sub(r"^\d|\W", "_", ROOT.name.lower())
        run("swiftc", "-swift-version", "6", "-O", "-wmo", "-parse-as-library", "-package-name", package, "-o",
            decode, *self.imports, TYPED / "decode.swift", *swift_files(types), *objects, "-lyajl")
        result = run(decode, response, stdout=subprocess.PIPE).stdout.split()
        times = {name: float(value) for name, value in zip(result[::2], result[1::2])}
        with response.open() as file:
            text = file.read()
        # The kernel counts user time in ticks, so the smallest of several is too small.
        verify = statistics.mean(timed_verify(text) for _ in range(15))
        print(f"\nresponse of {len(text.encode()) / 1e6:.0f} MB with {times['posts']:.0f} posts, in ms")
        for name, value in (("json_verify", verify), ("index of the tokens", times["index"]),
                            ("index and typed values", times["decode"]), ("tree of JSONValue", times["tree"])):
            print(f"{name:44}{value:>10.0f}{value / verify:>10.2f}  × json_verify")


def timed_verify(text):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(["json_verify", "-q"], input=text, text=True, check=True, stdout=subprocess.DEVNULL)
    return (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--apollo", type=pathlib.Path, help="a checkout of apollo-ios-dev")
    parser.add_argument("--schema", type=pathlib.Path, help="GitHub's public schema")
    arguments = parser.parse_args()
    bench = Bench(arguments.program, arguments.scratch)
    if arguments.apollo:
        bench.compare(arguments.apollo)
    else:
        print("not compared with Apollo iOS: set APOLLO to a checkout of github.com/apollographql/apollo-ios-dev")
    if arguments.schema:
        bench.generation(arguments.schema)
    bench.decoding()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Prints the figures of the sources: lines, files, functions, documentation, names, repeated lines.

usage: figures.py [--base REVISION] [--list FIGURE…]

  --base REVISION  adds a column with the figures of this revision of git
  --list FIGURE…   prints what figures count, one `file:line name` per line: unlabelled, long, undocumented,
                   names, limits, repeated

The Swift files of Sources and Tests count, with --base those that git has in the revision. A line of code is one that has more than white space and a comment. A
function is a `func`, `init` or `subscript` with a body; its length is that of its lines from the declaration
to the closing brace. Parameters count as unlabelled if their label is `_`; operators do not count.
"""

import argparse
import collections
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKENS = re.compile(r'//[^\n]*|/\*|"""|#*"|#+/|[\s\S]')
DECLARATION = re.compile(
    r"^[ \t]*((?:@\w+(?:\([^)]*\))?[ \t\n]+|(?:public|package|private|fileprivate|internal|open|final|static|class|mutating|"
    r"nonmutating|override|required|convenience|indirect|nonisolated|isolated|consuming|borrowing|prefix|postfix)"
    r"(?:\(\w+\))?[ \t\n]+)*)(func|init|subscript|struct|enum|class|actor|protocol|typealias|var|let|case)\b",
    re.MULTILINE)
# Files that the program writes: snapshots of generated types and embedded files.
GENERATED = re.compile(r"^Tests/Generated|\+Files\.swift$")


def blanked(text):
    """The text with blanks in place of comments and of the contents of string literals."""
    out = []
    position, size = 0, len(text)

    def blank(end):
        nonlocal position
        out.append(re.sub(r"[^\n]", " ", text[position:end]))
        position = end

    def string():
        nonlocal position
        fence = re.match(r"#*", text[position:]).group()
        quotes = '"""' if text.startswith('"""', position + len(fence)) else '"'
        closing, escape = quotes + fence, "\\" + fence
        out.append(fence + quotes)
        position += len(fence) + len(quotes)
        while position < size:
            if text.startswith(closing, position):
                out.append(closing)
                position += len(closing)
                return
            if text.startswith(escape + "(", position):
                blank(position + len(escape))
                code(True)
            elif text.startswith(escape, position):
                blank(min(size, position + len(escape) + 1))
            elif quotes == '"' and text[position] == "\n":
                return
            else:
                blank(position + 1)

    def code(interpolated):
        nonlocal position
        depth = 0
        while position < size:
            character = text[position]
            if text.startswith("//", position):
                end = text.find("\n", position)
                blank(size if end < 0 else end)
            elif text.startswith("/*", position):
                level, end = 1, position + 2
                while level and end < size:
                    pair = text[end:end + 2]
                    level += (pair == "/*") - (pair == "*/")
                    end += 2 if pair in ("/*", "*/") else 1
                blank(end)
            elif character == '"' or re.match(r'#+"', text[position:position + 8]):
                string()
            elif re.match(r"#+/", text[position:position + 4]):
                fence = re.match(r"#+", text[position:]).group()
                end = text.find("/" + fence, position + len(fence) + 1)
                blank(size if end < 0 else end + 1 + len(fence))
            else:
                out.append(character)
                position += 1
                depth += (character == "(") - (character == ")")
                if interpolated and depth == 0:
                    return

    code(False)
    return "".join(out)


def closing(code, start, brackets):
    """The index of the bracket that closes the one at `start`, or the end."""
    depth = 0
    for index in range(start, len(code)):
        if code[index] == brackets[0]:
            depth += 1
        elif code[index] == brackets[1]:
            depth -= 1
            if depth == 0:
                return index
    return len(code) - 1


def parameters(text):
    """The parameters of a list, split at its own commas."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        if character in "([{<":
            depth += 1
        elif character in ")]}" or character == ">" and text[index - 1] != "-":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


class Figures:
    """What is counted in the files of one revision."""

    def __init__(self, files):
        self.code = collections.Counter()
        self.comments = collections.Counter()
        self.files = collections.defaultdict(list)
        self.functions, self.unlabelled, self.long, self.undocumented = [], [], [], []
        self.limits = []
        self.public = 0
        self.transcripts = 0
        self.types = collections.defaultdict(dict)
        self.windows = collections.defaultdict(list)
        for path, text in files:
            self.read(path, text)
        self.names = [
            (next(iter(places.values())), f"{name} in {', '.join(sorted(places))}")
            for name, places in sorted(self.types.items()) if len(places) > 1]
        self.repeated = self.repetitions()

    def read(self, path, text):
        lines = text.splitlines()
        folder = path.split("/")[0]
        if not path.endswith(".swift"):
            self.transcripts += sum(bool(line.strip()) for line in lines)
            return
        kind = "generated" if GENERATED.search(path) else folder
        self.code[kind] += sum(not re.match(r"^ *(//.*)?$", line) for line in lines)
        self.comments[kind] += sum(bool(re.match(r"^ *//", line)) for line in lines)
        if kind != "Sources":
            return
        self.files[kind].append((path, len(lines)))
        code = blanked(text)
        for match in DECLARATION.finditer(code):
            self.declaration(path, lines, code, match)
        self.remember(path, text.splitlines(), code.splitlines())

    def declaration(self, path, lines, code, match):
        attributes, kind = match.group(1), match.group(2)
        # A pattern such as `case let x` or `if case`, and a local constant, are no declarations of a type.
        line = code.count("\n", 0, match.start(2)) + 1
        place = f"{path}:{line}"
        rest = code[match.end():]
        name = (re.match(r"\s*`?([^\s`(<:{=]+)", rest) or [None, kind])[1]
        depth = code.count("{", 0, match.start()) - code.count("}", 0, match.start())
        if kind in ("let", "var", "func", "case") and re.match(r"(most|maximum)[A-Z]", name):
            self.limits.append((place, name))
        if kind in ("struct", "enum", "class", "actor", "protocol") and depth == 0:
            if not re.search(r"private", attributes):
                self.types[name].setdefault(path.split("/")[1], place)
        if re.search(r"\b(public|open)\b(?!\()", attributes):
            self.public += 1
            above = match.start()
            first = code.count("\n", 0, above) + 1
            # Attributes may be in lines of their own.
            attribute = first - 1
            while attribute > max(0, first - 5) and not lines[attribute - 1].strip().startswith(("@", "///")):
                attribute -= 1
            if attribute > 0 and lines[attribute - 1].strip().startswith("@"):
                first = attribute
            before = lines[first - 2].strip() if first > 1 else ""
            if not before.startswith("///") and "override" not in attributes:
                self.undocumented.append((place, name))
        if kind not in ("func", "init", "subscript"):
            return
        opening = code.find("(", match.end())
        if opening < 0:
            return
        end = closing(code, opening, "()")
        body = end + 1
        # The body begins with the first brace behind the parameters, before the next declaration.
        signature = re.match(r"[^{}]*?(?=\{|\}|\n\s*\n)", code[body:])
        has_body = signature and code[body + signature.end():body + signature.end() + 1] == "{"
        listed = parameters(code[opening + 1:end])
        is_operator = kind == "func" and not re.match(r"\w", name)
        count = sum(bool(re.match(r"(?:@\w+ )*_ ", parameter)) for parameter in listed)
        if kind == "subscript":
            count = 0
        if count >= 3 and not is_operator:
            self.unlabelled.append((place, f"{name} ({count})"))
        if has_body:
            start = body + signature.end()
            length = code.count("\n", match.start(2), closing(code, start, "{}")) + 1
            self.functions.append(length)
            if length > 80:
                self.long.append((place, f"{name} ({length} lines)"))

    def remember(self, path, lines, code):
        """Notes every run of eight lines that are code, to find those that occur twice."""
        kept = [
            (number, " ".join(line.split())) for number, line in enumerate(lines, 1)
            if code[number - 1].strip(" {}()[],;") and not re.match(r"\s*(\w+ )?import ", line)
        ] if len(code) == len(lines) else []
        for index in range(len(kept) - 7):
            self.windows["\n".join(text for _, text in kept[index:index + 8])].append(
                (path, kept[index][0]))

    def repetitions(self):
        """Places that repeat eight lines or more to the letter; neighbours are one place."""
        found, last = [], None
        for places in self.windows.values():
            if len(places) < 2:
                continue
            (path, line), (other, number) = places[0], places[1]
            if last and last[0] == path and last[2] == other and 0 < line - last[1] <= 6:
                last = (path, line, other)
                continue
            found.append((f"{path}:{line}", f"{other}:{number}"))
            last = (path, line, other)
        return found

    def rows(self):
        sizes = sorted(size for _, size in self.files["Sources"])
        lengths = sorted(self.functions)
        names = [path.rsplit("/", 1)[1] for path, _ in self.files["Sources"]]

        def share(part, whole):
            return f"{len(part)} ({100 * len(part) / max(1, whole):.1f} %)"

        def quantiles(values):
            at = lambda q: values[min(len(values) - 1, int(q * len(values)))]
            return f"{int(statistics.median(values))} / {at(0.9)} / {at(0.99)} / {values[-1]}"

        return [
            ("lines of code in `Sources`", f"{self.code['Sources']:,}"),
            ("comment lines in `Sources`", f"{self.comments['Sources']:,}"),
            ("lines of code in `Tests`, without generated files", f"{self.code['Tests']:,}"),
            ("lines of transcripts of commands, in `Tests/Transcripts`", f"{self.transcripts:,}"),
            ("lines of code that are generated", f"{self.code['generated']:,}"),
            ("files in `Sources`", f"{len(sizes)}"),
            ("lines of a file: median / 90 % / 99 % / longest", quantiles(sizes)),
            ("files under 40 lines", f"{sum(size < 40 for size in sizes)}"),
            ("files named `X+Y.swift`", f"{sum('+' in name for name in names)}"),
            ("functions with a body", f"{len(lengths):,}"),
            ("lines of a function: median / 90 % / 99 % / longest", quantiles(lengths)),
            ("functions over 80 lines", f"{len(self.long)}"),
            ("functions with three or more unlabelled parameters",
             share(self.unlabelled, len(self.functions))),
            ("public declarations without documentation", share(self.undocumented, self.public)),
            ("names of types in two modules", f"{len(self.names)}"),
            ("limits that are not named `max…`", f"{len(self.limits)}"),
            ("places that repeat eight lines of code", f"{len(self.repeated)}"),
        ]


def is_read(path):
    """Whether a file counts: Swift, and the transcripts of commands."""
    return path.endswith(".swift") or path.startswith("Tests/Transcripts/")


def tracked(revision):
    """The files of a revision that count, or those on disk: path and text."""
    def git(*arguments):
        return subprocess.run(
            ["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True).stdout

    folders = ["Sources", "Tests"]
    if revision is None:
        for folder in folders:
            for path in sorted((ROOT / folder).rglob("*")):
                # A link is read where its file is.
                if is_read(str(path.relative_to(ROOT))) and not path.is_symlink():
                    yield str(path.relative_to(ROOT)), path.read_text()
        return
    entries = [
        line.split(None, 3) for line in git("ls-tree", "-r", revision, *folders).splitlines()]
    entries = [
        (entry[2], entry[3]) for entry in entries if is_read(entry[3]) and entry[0] != "120000"]
    process = subprocess.run(
        ["git", "-C", str(ROOT), "cat-file", "--batch"], check=True, capture_output=True,
        input="".join(f"{blob}\n" for blob, _ in entries).encode())
    data, position = process.stdout, 0
    for _, path in entries:
        head = data.index(b"\n", position)
        size = int(data[position:head].split()[2])
        yield path, data[head + 1:head + 1 + size].decode()
        position = head + size + 2


def main():
    parser = argparse.ArgumentParser(
        usage="figures.py [--base REVISION] [--list FIGURE…]", add_help=False)
    parser.add_argument("--base")
    parser.add_argument("--list", nargs="+", choices=["unlabelled", "long", "undocumented", "names", "limits", "repeated"])
    parser.add_argument("-h", "--help", action="store_true")
    options = parser.parse_args()
    if options.help:
        print(__doc__.strip())
        return
    figures = Figures(tracked(None))
    if options.list:
        for figure in options.list:
            for place, name in getattr(figures, figure):
                print(place, name)
        return
    base = Figures(tracked(options.base)).rows() if options.base else None
    if base:
        print(f"| figure | {options.base} | now |\n|---|---|---|")
    else:
        print("| figure | now |\n|---|---|")
    for index, (name, value) in enumerate(figures.rows()):
        print(f"| {name} | {base[index][1] + ' | ' if base else ''}{value} |")


sys.setrecursionlimit(10_000)

if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compares the tests of two revisions: none may go away without a note on where its cases are now.

usage: cases.py BASE [REVISION]        default: the files as they are

Prints each test, as `Module/Suite.function`, that BASE has and the other revision lacks, and each with fewer arguments, with the
line of moved.txt about it. The exit code is 1 if a test has no line, or if a line names a place that does not exist.
A line of moved.txt is `Module/Suite.function -> PLACE`, where PLACE is a file of the repository or a test, and
`Module/Suite.*` are all tests of a suite that have no line of their own.
"""

import pathlib
import re
import subprocess
import sys

from figures import ROOT, blanked

SUITE = re.compile(r"^(?:[@\w][^\n]*[ )])?(?:struct|class|actor|enum|extension) (\w+|`[^`]+`)", re.MULTILINE)
TEST = re.compile(r"@Test\b")
FUNCTION = re.compile(r"\s*(?:@\w+\s+)*(?:\w+\s+)*?func (\w+|`[^`]+`)")


def files(revision):
    """The Swift files of the tests, by their paths."""
    if revision is None:
        return {str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / "Tests").rglob("*.swift")}
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "-z", "--name-only", revision, "Tests"], cwd=ROOT, check=True, capture_output=True, text=True)
    names = [name for name in listed.stdout.split("\0") if name.endswith(".swift")]
    batch = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=ROOT, check=True, capture_output=True,
        input="".join(f"{revision}:{name}\n" for name in names).encode()).stdout
    texts, position = {}, 0
    for name in names:
        end = batch.index(b"\n", position)
        size = int(batch[position:end].split()[-1])
        texts[name] = batch[end + 1:end + 1 + size].decode()
        position = end + size + 2
    return texts


def closing(text, position):
    """The position after the bracket that closes the one at a position of a text without comments and strings."""
    depth = 0
    for index in range(position, len(text)):
        depth += (text[index] in "([{") - (text[index] in ")]}")
        if depth == 0:
            return index + 1
    return len(text)


def elements(text):
    """The number of elements of an array literal, without its brackets."""
    count, depth, is_empty = 0, 0, True
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            count, is_empty = count + (not is_empty), True
        elif not character.isspace():
            is_empty = False
    return count + (not is_empty)


def arguments(text, trait):
    """How many cases the arguments of a test are; None if they are not a literal in the same file."""
    match = re.search(r"\barguments:\s*(?:\w+\.)?(\[|\w+)", trait)
    if not match:
        return 1 if "arguments:" not in trait else None
    if match[1] == "[":
        start = match.start(1)
        return elements(trait[start + 1:closing(trait, start) - 1])
    table = re.search(rf"\blet {match[1]}\b[^=\n]*=\s*(\[)", text)
    return table and elements(text[table.start(1) + 1:closing(text, table.start(1)) - 1])


def tests(revision):
    """The tests of a revision, as `Module/Suite.function`, with their numbers of cases."""
    found = {}
    for name, source in files(revision).items():
        text = blanked(source)
        suites = [(match.start(), match[1]) for match in SUITE.finditer(text)]
        for match in TEST.finditer(text):
            end = closing(text, match.end()) if text[match.end():match.end() + 1] == "(" else match.end()
            function = FUNCTION.match(text, end)
            suite = [suite for start, suite in suites if start < match.start()]
            if function and suite:
                found[f"{name.split('/')[1]}/{suite[-1]}.{function[1]}"] = arguments(text, text[match.end():end])
    return found


def moved():
    """The lines of moved.txt: where the cases of tests are now."""
    path = pathlib.Path(__file__).with_name("moved.txt")
    lines = [line.split(" -> ") for line in path.read_text().splitlines() if " -> " in line and not line.startswith("#")]
    return {test.strip(): place.strip() for test, place in lines}


def main(given):
    if not 1 <= len(given) <= 2 or given[0].startswith("-"):
        sys.exit(__doc__)
    old, new = tests(given[0]), tests(given[1] if len(given) > 1 else None)
    places = moved()
    unknown = 0
    for test, count in sorted(old.items()):
        if test in new and (count is None or new[test] is None or new[test] >= count):
            continue
        place = places.get(test) or places.get(test.split(".")[0] + ".*")
        left = f", {new[test]} left" if test in new else ""
        print(f"{test} ({count or 'several'} {'case' if count == 1 else 'cases'}{left}): {place or 'went away'}")
        unknown += place is None
    for test, place in places.items():
        if not (ROOT / place).exists() and place not in new:
            print(f"moved.txt: {test}: there is no {place}")
            unknown += 1
    total = sum(count or 1 for count in new.values())
    print(f"{len(old)} tests before, {len(new)} now with {total} cases; {unknown} without a place")
    sys.exit(1 if unknown else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
